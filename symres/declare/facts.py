"""Symmetries of a formula, proved symbolically: what cannot be proved is not claimed."""

from __future__ import annotations

import math
from typing import Literal

import mpmath as mp
import sympy as sp

from ..symbols import z
from .pieces import Pieces
from .ranges import samples, sign_of

Parity = Literal["even", "odd"]

_PROBES = (sp.Rational(3, 7), sp.Rational(-11, 5), sp.Rational(23, 4))
_LARGEST = 400  # operations of an expression that is worth an algebraic proof
_WIDE = 6  # polynomials of degree below twice that are seen


def parity(pieces: Pieces) -> Parity | None:
    """Whether ``f(-z) = f(z)`` or ``f(-z) = -f(z)`` for all z, single points aside."""
    mirrored = pieces.mirrored()
    if set(mirrored.breaks) != set(pieces.breaks):  # their order may be unknown
        return None
    if all(map(_is_zero, pieces.map(lambda u, v: u - v, mirrored).parts)):
        return "even"
    if all(map(_is_zero, pieces.map(lambda u, v: u + v, mirrored).parts)):
        return "odd"
    return None


def even_part(pieces: Pieces) -> Pieces:
    """``(f(z) + f(-z))/2`` where that is a polynomial: what is odd cancels; else the function itself."""
    if pieces.breaks or not _may_be_polynomial(pieces.parts[0] + pieces.mirrored().parts[0]):
        return pieces
    return pieces.map(lambda u, v: _polynomial(sp.expand((u + v) / 2)), pieces.mirrored())


def homogeneity(pieces: Pieces) -> sp.Rational | None:
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


def _may_be_polynomial(even: sp.Expr) -> bool:
    """Whether a difference of a high order vanishes, as those of polynomials do: algebra takes much longer."""
    values = next(iter(samples(sorted(even.free_symbols - {z}, key=str))))
    f, terms = sp.lambdify(z, even.xreplace(values), "mpmath"), []
    with mp.workdps(40):
        for place in range(2 * _WIDE + 1):
            try:
                value = mp.mpmathify(f(mp.mpf(place - _WIDE)))
            except (ArithmeticError, ValueError, TypeError, NameError):  # a pole, or what mpmath does not know
                return False
            terms.append((-1) ** place * mp.binomial(2 * _WIDE, place) * value)
        return bool(abs(mp.fsum(terms)) <= mp.mpf(10) ** -30 * mp.fsum(map(abs, terms)))


def _polynomial(even: sp.Expr) -> sp.Expr:
    """The same as ``a + b z**2``, if it is."""
    if even.is_polynomial(z):
        return even
    taylor = sp.expand(sum(even.diff(z, k).subs(z, 0) * z**k / sp.factorial(k) for k in (0, 2)))
    return taylor if not taylor.has(sp.nan, sp.zoo, sp.oo) and _is_zero(even - taylor) else even


def _is_zero(difference: sp.Expr) -> bool:
    """Whether an expression vanishes identically: refuted by numbers, proved by algebra."""
    if difference == 0:
        return True
    for values in samples(sorted(difference.free_symbols - {z}, key=str)):
        if any(sign_of(difference.xreplace(values), probe) for probe in _PROBES):
            return False
    if difference.count_ops() > _LARGEST:
        return False
    if sp.expand(difference) == 0:
        return True
    return sp.cancel(sp.together(_in_one_exponential(difference))) == 0


def _in_one_exponential(expr: sp.Expr) -> sp.Expr:
    """Write hyperbolic functions and exponentials with commensurable exponents as powers of one variable."""
    expr = expr.rewrite((sp.tanh, sp.sinh, sp.cosh), sp.exp)
    exponents = sorted({e.exp for e in expr.atoms(sp.exp)}, key=sp.default_sort_key)
    if not exponents:
        return expr
    ratios = {e: sp.cancel(e / exponents[0]) for e in exponents}
    if not all(ratio.is_Rational for ratio in ratios.values()):
        return expr
    scale = math.lcm(*(int(ratio.q) for ratio in ratios.values()))
    w = sp.Dummy("w", positive=True)
    return expr.xreplace({sp.exp(e): w ** (ratio * scale) for e, ratio in ratios.items()})
