"""How a function behaves far out: as which power and at which exponential rate it grows, how fast its waves are.

Rates and wave numbers may contain parameters; then they are bounds, read off the formula as it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from ...core.symbols import z
from ...functions.balls import enclose
from ...functions.companions import Erfc, ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, ScaledTail, Sigmoid, Softplus
from ..stable.rewrites import stabilise
from .integrands import PiecewiseIntegrand

FAR = 4000  # where the rate of exponential growth is read off
LEAST_RATE, GREATEST_RATE = 0.02, 1000.0  # powers are below, what is above grows in another way
HARMONICS = 8  # of a wave inside of another function that count
LARGEST, CAREFUL = 700, 170  # exponents: the largest of a float, and of one with powers of it in quotients

_BOUNDED = sp.tanh, sp.erf, Sigmoid


def polynomial_degree(factor: PiecewiseIntegrand) -> int:
    """A power of z as which a function grows at most; functions of exponential growth have none and get one."""
    degrees = [1]
    for part in factor.parts:
        shown = part.replace(lambda e: isinstance(e, sp.Function | sp.exp), lambda e: sp.Dummy())
        if shown.is_polynomial(z) and shown != 0:
            degrees.append(_degree(shown))
    return max(degrees)


def _degree(polynomial: sp.Expr) -> int:
    """The degree in z, not multiplied out: more where the highest powers cancel."""
    if polynomial == z or not polynomial.has(z):
        return int(polynomial == z)
    if isinstance(polynomial, sp.Pow):
        return int(polynomial.exp) * _degree(polynomial.base)
    degrees = map(_degree, polynomial.args)
    return max(degrees) if isinstance(polynomial, sp.Add) else sum(degrees)


def rate(factor: PiecewiseIntegrand) -> sp.Expr:
    """The rate r for which a function grows like exp(r*abs(z)) at most, 0 where it does not grow exponentially.

    Without parameters it is read off between two places so far out that powers do not count.
    """
    outer = ((-1, factor.parts[0]), (1, factor.parts[-1]))
    if factor.free_symbols:
        return sp.Max(0, *(_exponent(stabilise(part), side) for side, part in outer))
    rates = [0.0]
    for side, part in outer:
        near, far = (abs(enclose(part, {z: side * place}, 64)) for place in (FAR, 2 * FAR))
        if near > 0 and far.is_finite():
            rates.append(float(((far / near).log() / FAR).mid()))
    return sp.Float(round(max(rates), 3)) if LEAST_RATE < max(rates) < GREATEST_RATE else sp.Integer(0)


def load(factor: PiecewiseIntegrand) -> sp.Expr:
    """The largest rate of the exponentials in a function, more where they stand in quotients.

    Times the distance it is at most ``LARGEST`` where none of them is cut off.
    """
    found = [sp.Integer(0)]
    for part in map(stabilise, factor.parts):
        more = sp.Rational(LARGEST, largest_exponent(part))
        found += [more * abs(_slope(e.args[0], 1)) for e in part.atoms(sp.exp) if e.has(z)]
    return sp.Max(*(r for r in found if r.is_finite is not False))


def largest_exponent(part: sp.Expr) -> int:
    """The exponent from which on exponentials are cut off: no infinity over infinity."""
    divides = any(p.exp.is_negative and p.base.has(sp.exp) for p in part.atoms(sp.Pow))
    return CAREFUL if divides else LARGEST


def wave(factor: PiecewiseIntegrand) -> sp.Expr:
    """The largest wave number of a function, its sines and cosines multiplied out."""
    return sp.Max(0, *(_frequency(stabilise(part)) for part in factor.parts))


def _exponent(e: sp.Expr, side: int) -> sp.Expr:
    """The rate r for which abs(e) is of the order exp(r*abs(z)) on a side; minus infinity for decay like a Gaussian."""
    if not e.has(z):
        return sp.Integer(0)
    if isinstance(e, sp.exp):
        return _slope(e.args[0], side)
    if isinstance(e, sp.Mul):
        return _added(_exponent(f, side) for f in e.args)
    if isinstance(e, sp.Add):
        return sp.Max(*(_exponent(f, side) for f in e.args))
    if isinstance(e, sp.Pow):
        inner = _slope(e.exp * sp.log(e.base), side) if e.exp.has(z) else e.exp * _exponent(e.base, side)
        return inner if inner.is_finite is not False or e.exp.is_positive else sp.Integer(0)
    if isinstance(e, sp.sinh | sp.cosh):
        return abs(_slope(e.args[0], side))
    if isinstance(e, ExpSinh | ExpCosh | ExpCoshm1):
        return _added((_slope(e.args[0], side), abs(_slope(e.args[1], side))))
    if isinstance(e, Expm1):
        return sp.Max(0, _slope(e.args[0], side))
    if isinstance(e, Sigmoid | Softplus):
        return sp.Min(0, _slope(e.args[0], side))
    if isinstance(e, sp.erfc | Erfc):
        return -sp.oo if _slope(e.args[0], side).is_positive else sp.Integer(0)
    if isinstance(e, ScaledTail):
        return _added((_slope(e.args[0], side), _exponent(Erfc(e.args[2]), side)))
    inner = e.args if isinstance(e, sp.Max | sp.Min | sp.Abs) else ()
    return sp.Max(0, *(_exponent(f, side) for f in inner))


def _slope(u: sp.Expr, side: int) -> sp.Expr:
    """The slope s for which u is at most s*abs(z), far out on a side; minus infinity where it decreases faster."""
    if u.is_polynomial(z):
        leading, *rest = sp.Poly(u, z).all_coeffs()
        if len(rest) > 1:
            return -sp.oo if (leading * side ** len(rest)).is_negative else sp.Integer(0)
        return leading * side if rest else sp.Integer(0)
    if isinstance(u, sp.Add):
        falling = [_plunge(f, side) for f in u.args]
        slope = _added(_slope(f, side) for f, rate in zip(u.args, falling, strict=True) if rate == 0)
        if not any(falling) or slope == -sp.oo:
            return slope
        # where exp(s*z - exp(t*z)) turns, at log(s/t)/t, is beside the place of the other changes unless s >> t
        excess = slope - 2 * sp.Max(*falling)
        return -sp.oo if excess.is_nonpositive else slope * (1 + sp.sign(excess)) / 2
    if isinstance(u, sp.Mul):
        constant, rest = u.as_independent(z, as_Add=False)
        if _plunge(u, side):
            return -sp.oo
        others = [f for f in sp.Mul.make_args(rest) if not isinstance(f, _BOUNDED)]
        if len(others) == len(sp.Mul.make_args(rest)):
            return constant * _slope(rest, side) if constant != 1 else sp.Integer(0)
        return abs(constant * _slope(sp.Mul(*others), side))
    if isinstance(u, sp.Pow) and u.exp.is_number and u.base.is_polynomial(z):
        degree = sp.degree(u.base, z)
        return sp.LC(u.base * side**degree, z) ** u.exp if degree * u.exp == 1 else sp.Integer(0)
    if isinstance(u, sp.log):
        return _exponent(u.args[0], side)
    if isinstance(u, Log1p):
        return sp.Max(0, _exponent(u.args[0], side))
    if isinstance(u, Softplus):
        return sp.Max(0, _slope(u.args[0], side))
    if isinstance(u, sp.Max | sp.Min):
        return u.func(*(_slope(a, side) for a in u.args))
    return abs(_slope(u.args[0], side)) if isinstance(u, sp.Abs) else sp.Integer(0)


def _plunge(u: sp.Expr, side: int) -> sp.Expr:
    """The rate r for which u falls like -exp(r*abs(z)), far out on a side; 0 where it is not known to."""
    constant, rest = u.as_independent(z, as_Add=False)
    rate = _exponent(rest, side) if constant.is_negative and isinstance(rest, sp.exp | sp.cosh) else sp.Integer(0)
    return rate if rate.is_positive else sp.Integer(0)


def _added(rates: Iterable[sp.Expr]) -> sp.Expr:
    found = list(rates)
    return -sp.oo if -sp.oo in found else sp.Add(*found)


def _frequency(e: sp.Expr) -> sp.Expr:
    """The largest wave number of a formula."""
    if not e.has(z) or not e.has(sp.sin, sp.cos):
        return sp.Integer(0)
    if isinstance(e, sp.sin | sp.cos):
        return sp.Max(*(abs(_slope(e.args[0], side)) for side in (1, -1)))
    inner = [_frequency(f) for f in e.args]
    if isinstance(e, sp.Mul):
        return sp.Add(*inner)
    if isinstance(e, sp.Add):
        return sp.Max(*inner)
    if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp > 0:
        return e.exp * inner[0]
    return HARMONICS * sp.Max(*inner)
