"""Symmetries of a formula, proved symbolically: what cannot be proved is not claimed."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain
from typing import Literal

import sympy as sp
from flint import arb, ctx

from ..core.errors import DeclarationError
from ..core.symbols import z
from ..functions.balls import compile_ball
from ..functions.function_record import written_out
from ..functions.ranges import samples, sign_of
from .piecewise import PiecewiseFunction

Parity = Literal["even", "odd"]

_PROBES = (sp.Rational(3, 7), sp.Rational(-11, 5), sp.Rational(23, 4))
_MAX_OPERATIONS = 400  # operations of an expression that is worth an algebraic proof
_MAX_DEGREE = 1000  # of a polynomial in exponentials: a constant of 1e20 inside of one would never end
_ORDER = 12  # of a difference that vanishes for polynomials of a lower degree
_DIGITS = 300  # to which it does, of an analytic function that is no polynomial it does not


def is_odd(factors: tuple[PiecewiseFunction, ...]) -> bool:
    """Whether a product of functions, one of each variable, changes its sign with all variables.

    Then its average under a centred law vanishes.
    """
    parities = [_known_parity(f) for f in factors]
    return None not in parities and parities.count("odd") % 2 == 1


@lru_cache(maxsize=512)
def _known_parity(function: PiecewiseFunction) -> Parity | None:
    """Cached: a pure function of a frozen argument, asked for by the exact engine and by every number."""
    try:
        return parity(function)
    except DeclarationError:  # a breakpoint and its mirror image whose order depends on a mean: no symmetry
        return None


def parity(pieces: PiecewiseFunction) -> Parity | None:
    """Whether ``f(-z) = f(z)`` or ``f(-z) = -f(z)`` for all z, single points aside."""
    mirrored = pieces.mirrored()
    if set(mirrored.breaks) != set(pieces.breaks):  # their order may be unknown
        return None
    if all(map(_is_zero, pieces.map(lambda u, v: u - v, mirrored).parts)):
        return "even"
    if all(map(_is_zero, pieces.map(lambda u, v: u + v, mirrored).parts)):
        return "odd"
    return None


@lru_cache(maxsize=256)  # series, tails and closed forms of all layers ask for the same few
def even_part(pieces: PiecewiseFunction) -> PiecewiseFunction:
    """``(f(z) + f(-z))/2`` where it is a polynomial times even factors, so that odd terms cancel; else f itself."""
    if pieces.breaks:
        return pieces
    factors = sp.Mul.make_args(pieces.parts[0])
    even = [f for f in factors if not f.is_polynomial(z) and f.xreplace({z: -z}) == f]
    factor = PiecewiseFunction((), (sp.Mul(*(f for f in factors if f not in even)),))
    if not factor.parts[0].has(z):
        even, factor = [], pieces
    polynomial = _polynomial((factor.parts[0] + factor.mirrored().parts[0]) / 2)
    return pieces if polynomial is None else PiecewiseFunction((), (sp.expand(sp.Mul(polynomial, *even)),))


def homogeneity(pieces: PiecewiseFunction) -> sp.Rational | None:
    """The degree p of ``f(a z) = a**p f(z)`` for all a > 0: then f is ``c*|z|**p`` on each side of 0."""
    if len(pieces.breaks) > 1 or any(not b.is_zero for b in pieces.breaks):
        return None
    t = sp.Dummy("t", positive=True)
    degrees = set()
    for side in (pieces.parts[0].xreplace({z: -t}), pieces.parts[-1].xreplace({z: t})):
        if side.is_zero:
            continue
        if any(f.has(t) for f in side.atoms(sp.Function)):
            return None
        _, power = sp.collect(sp.expand(side), t).as_independent(t, as_Add=False)
        base, degree = (t, sp.Integer(0)) if power == 1 else power.as_base_exp()
        if base != t or not degree.is_Rational:
            return None
        degrees.add(degree)
    return degrees.pop() if len(degrees) == 1 else None


def _polynomial(even: sp.Expr) -> sp.Expr | None:
    """An even function as a polynomial in z; None where it is not shown to be one of low degree."""
    if not _may_be_polynomial(even):
        return None
    even = sp.expand(even)
    if even.is_polynomial(z) or even.count_ops() > _MAX_OPERATIONS:
        return even if even.is_polynomial(z) else None
    quotient, names = _rational(even)
    polynomial = sp.expand(quotient.xreplace({s: value for s, value in names.items() if not value.has(z)}))
    return polynomial if polynomial.is_polynomial(z) and not polynomial.has(*names) else None


def _may_be_polynomial(even: sp.Expr) -> bool:
    """Whether a difference of its values, of a high order, vanishes to 300 digits: algebra takes longer."""
    values = next(iter(samples(sorted(even.free_symbols - {z}, key=str))))
    try:
        f = compile_ball(even.xreplace(values), [z])
    except DeclarationError:  # a function that has no ball
        return False
    with ctx.workdps(_DIGITS):
        terms = [(-1) ** k * math.comb(_ORDER, k) * f([arb(k - _ORDER // 2)]) for k in range(_ORDER + 1)]
        return bool(sum(terms, arb(0)).contains(0))


def _is_zero(difference: sp.Expr) -> bool:
    """Whether an expression vanishes identically: refuted by numbers, proved by algebra."""
    if difference == 0:
        return True
    for values in samples(sorted(difference.free_symbols - {z}, key=str)):
        if any(sign_of(difference.xreplace(values), probe) for probe in _PROBES):
            return False
    if difference.count_ops() > _MAX_OPERATIONS:
        return False
    return sp.expand(difference) == 0 or _rational(difference)[0] == 0


def _rational(expr: sp.Expr) -> tuple[sp.Expr, dict[sp.Symbol, sp.Expr]]:
    """An expression as a quotient of polynomials in symbols for exponentials and logarithms, and the symbols' values.

    Exponents that are rational multiples of each other have one symbol; logarithms are those of irreducible factors,
    of their absolute values where these are negative.
    """
    expr = written_out(expr).rewrite((sp.tanh, sp.sinh, sp.cosh), sp.exp)
    exponentials = expr.atoms(sp.exp, type(sp.E))
    terms = {e: [t.as_coeff_Mul() for t in sp.Add.make_args(sp.expand(e.as_base_exp()[1]))] for e in exponentials}
    scales: dict[sp.Expr, int] = {}
    for coefficient, direction in chain(*terms.values()):
        if not coefficient.is_Rational:
            return expr, {}
        scales[direction] = math.lcm(scales.get(direction, 1), int(coefficient.q))
    if any(abs(c * scales[d]) > _MAX_DEGREE for c, d in chain(*terms.values())):
        return expr, {}
    symbols = {d: sp.Dummy("w", positive=True) for d in sorted(scales, key=sp.default_sort_key)}
    exponents = {w: d / scales[d] for d, w in symbols.items()}
    expr = expr.xreplace({e: sp.Mul(*(symbols[d] ** (c * scales[d]) for c, d in parts)) for e, parts in terms.items()})
    logarithms: dict[sp.Expr, sp.Expr] = {}
    for log in sorted(expr.atoms(sp.log), key=sp.default_sort_key):
        argument = sp.together(log.args[0])
        if argument.is_rational_function(*argument.free_symbols):
            total = sp.Integer(0)
            for part, side in zip(argument.as_numer_denom(), (1, -1), strict=True):
                constant, factors = sp.factor_list(part)
                total += side * sp.expand_log(sp.log(abs(constant)), factor=True)
                for factor, power in factors:
                    symbol = exponents.get(factor)
                    if symbol is None:
                        symbol = logarithms.setdefault(factor, sp.Dummy("l", real=True))
                    total += side * power * symbol
            expr = expr.xreplace({log: total})
    names = {w: sp.exp(exponent) for w, exponent in exponents.items()}
    names |= {symbol: sp.log(abs(factor.xreplace(names))) for factor, symbol in logarithms.items()}
    return sp.cancel(sp.together(expr)), names
