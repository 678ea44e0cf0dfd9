"""Derivatives of pair kernels with tails, without poles that cancel where the inputs are parallel.

A closed form of functions with kinks has the shape F = sum_j R_j*exp(E_j)*T_j: each T_j is 1 or a product of tails,
erfc of one variable or Q2 of two, whose arguments, like E_j and R_j, are rational functions of K1, K2, C and of the
roots of K1, K2 and D = K1*K2 - C**2. A derivative is again such a sum. The root of D brings poles, which a library that
differentiates meets as infinities; where both functions are continuous they cancel, as dF/dC is the average of both
slopes (Price's theorem). Different T_j are independent, so the poles cancel in the factor of each of them. Where both
functions jump, one 1/sqrt(D) is left, the density of both jumps. Exponents and arguments of tails may have poles too:
kinks and jumps beside 0 come with exp(-N/(2*D)), N a quadratic form, which is finite or 0 there.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import sympy as sp
from sympy.utilities.iterables import sift

from ...core.symbols import K1, K2, C
from .primitives import determinant
from .rewrites import bottom_up
from .shifted_signs import crossed, squared

_FIRST, _SECOND, _ROOT = sp.symbols("s1 s2 q", positive=True, cls=sp.Dummy)  # the roots of K1, K2 and D
_D = _FIRST**2 * _SECOND**2 - C**2
_WRITTEN_OUT = {_FIRST: sp.sqrt(K1), _SECOND: sp.sqrt(K2), _ROOT: sp.sqrt(K1 * K2 - C**2)}


class _Pole(Exception):
    """A term that is infinite for parallel inputs, other than the density of two jumps."""


@lru_cache(maxsize=64)  # of a module, whose header says where there is none
def tail_slope(formula: sp.Expr, v: sp.Symbol) -> sp.Expr | None:
    """The derivative of a closed form in K1, K2 and C; None if it has poles other than the density of two jumps.

    Args:
        formula: as it is derived, in sympy's functions.
        v: the variable or parameter.
    """
    slope = formula.diff(v).rewrite((sp.sinh, sp.cosh), sp.exp)
    if slope.has(sp.erfc):
        slope = slope.rewrite(sp.erf, sp.erfc)
    slope = slope.subs({K1: _FIRST**2, K2: _SECOND**2}, simultaneous=True)
    factors: dict[tuple[sp.Expr, sp.Expr], sp.Expr] = {}
    try:
        for term in sp.Add.make_args(sp.expand_mul(bottom_up(slope, _rooted))):
            for exponent, tails, factor in _parts(term):
                factors[exponent, tails] = factors.get((exponent, tails), sp.S.Zero) + factor
        finite = [(exponent, _finite(factor) * tails) for (exponent, tails), factor in factors.items()]
    except _Pole:
        return None
    terms = (factor.subs(_WRITTEN_OUT) * sp.exp(_in_squares(exponent)) for exponent, factor in finite)
    return bottom_up(sp.Add(*terms), crossed)


def has_tail_slopes(formula: sp.Expr, symbols: Iterable[sp.Symbol]) -> bool:
    """Whether ``tail_slope`` has a derivative in each symbol."""
    return all(tail_slope(formula, v) is not None for v in symbols if v != determinant)


def _rooted(e: sp.Expr) -> sp.Expr:
    """Powers of the determinant as those of its root."""
    if not (isinstance(e, sp.Pow) and e.exp.is_Rational and e.base.has(C) and (e.exp.q == 2 or e.exp < 0)):
        return e
    unit = sp.cancel(e.base / _D)
    if unit.has(C):  # another root, such as that of (1 + K1)*(1 + K2) - C**2: its poles are seen like others
        return e
    return (sp.sqrt(unit) * _ROOT) ** (2 * e.exp)


def _parts(term: sp.Expr) -> list[tuple[sp.Expr, sp.Expr, sp.Expr]]:
    """A term as sums of factor*exp(exponent)*tails: one for each tail that sympy turns over, erfc(-u) = 2 - erfc(u)."""
    exponent, tails, factor = sp.S.Zero, sp.S.One, sp.S.One
    for part in sp.Mul.make_args(term):
        base, power = part.as_base_exp()
        if isinstance(part, sp.exp):
            exponent += part.args[0]
        elif isinstance(base, sp.Function):
            tails *= base.func(*map(_sorted, base.args)) ** power
        else:
            factor *= part
    exponent = sp.expand(_sorted(exponent))
    sides = (turned.as_coeff_Mul() for turned in sp.Add.make_args(sp.expand_mul(tails)))
    return [(exponent, head, number * factor) for number, head in sides]


def _finite(e: sp.Expr) -> sp.Expr:
    """The factor of a tail, with no poles but that of 1/q, where two jumps meet.

    Raises:
        _Pole: it has others.
    """
    (A, poles), (B, others) = _of_root(e)
    if poles or others > 1:
        raise _Pole
    return A + B * _ROOT ** (1 - 2 * others)


def _sorted(e: sp.Expr) -> sp.Expr:
    """A rational function, so that equal ones look alike; a pole of the first order has a numerator linear in C."""
    (A, poles), (B, others) = _of_root(e)
    finite, over = sp.div(A, _D, C) if poles == 1 else (sp.S.Zero, A)
    return finite + over * _ROOT ** (-2 * poles) + B * _ROOT ** (1 - 2 * others)


def _in_squares(exponent: sp.Expr) -> sp.Expr:
    """An exponent written out, with what is over D as a sum of squares, which do not cancel for parallel inputs."""
    over, finite = sift(sp.Add.make_args(exponent), lambda term: term.has(_ROOT), binary=True)
    form = squared(sp.exp(sp.Add(*over).subs(_WRITTEN_OUT)))
    return form.args[0] + sp.Add(*finite).subs(_WRITTEN_OUT) if over else exponent.subs(_WRITTEN_OUT)


def _of_root(e: sp.Expr) -> tuple[tuple[sp.Expr, int], tuple[sp.Expr, int]]:
    """A, m and B, n of e = A/D**m + (B/D**n)*q; the rational functions A and B have no poles for parallel inputs."""
    if not e.has(C, _ROOT):
        return (e, 0), (sp.S.Zero, 0)
    over, under = (_halves(sp.expand(part)) for part in sp.fraction(sp.together(e)))
    norm = under[0] ** 2 - under[1] ** 2 * _D
    A = (over[0] * under[0] - over[1] * under[1] * _D) / norm
    B = (over[1] * under[0] - over[0] * under[1]) / norm
    return _without_poles(A), _without_poles(B)


def _without_poles(e: sp.Expr) -> tuple[sp.Expr, int]:
    """A rational function times the lowest power of D that leaves it finite for parallel inputs, and that power.

    Raises:
        _Pole: it has one beside roots of other functions of C, with which sympy would take minutes.
    """
    e, power = sp.cancel(e), 0
    while any(sp.fraction(e)[1].subs(C, sign * _FIRST * _SECOND) == 0 for sign in (1, -1)):
        if any(root.exp.q == 2 and root.has(C) for root in e.atoms(sp.Pow) if root.exp.is_Rational):
            raise _Pole
        e, power = sp.cancel(e * _D), power + 1
    return sp.factor(e), power


def _halves(polynomial: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """A and B of a polynomial in q that is A + B*q."""
    halves = [sp.S.Zero, sp.S.Zero]
    for (n,), coefficient in sp.Poly(polynomial, _ROOT).terms():
        halves[n % 2] += coefficient * _D ** (n // 2)
    return halves[0], halves[1]
