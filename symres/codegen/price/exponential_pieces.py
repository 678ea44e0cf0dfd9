"""<f(z1) g(z2)> of functions that break at 0 and are polynomials plus decaying exponentials on each side.

An exponential e_l = exp(l z) on the side where it decays has the derivative l e_l and a delta function at 0, so the
average A of two of them obeys dA/dC = k A + s(C), k = l m, with an elementary s. Behind the degree N of the polynomials
nothing else is left, and with the derivatives F_n = <f_n g_n> at a covariance c_0,

    <f g> = sum_n<N (C - c_0)**n/n! F_n(c_0) + sum_n<=N integral (C - c)**(n - 1)/(n - 1)! S_n(c) dc
            + sum_lm (T_N(k (C - c_0)) A(c_0) + integral T_N(k (C - c)) s(c) dc),

integrals from c_0 to C, S_n as for polynomials, T_N(x) = exp(x) less the first N terms of its series. The exponents are
kept below 1: c_0 is the covariance of parallel inputs where k c grows, and 0 otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ...functions.companions import Expm1
from ..stable.primitives import Orientation
from .correlation_path import (
    covariance_beyond,
    covariance_left,
    covariance_slope,
    density_slope,
    end,
    largest,
    roots,
    side,
    sine,
)
from .exponential_law import ExponentialPieces, half_moment
from .fixed_sum import BOTH_ENDS, FixedSum
from .piecewise_law import density

EASY = 10  # the largest variance of an exponent for which 20 nodes suffice
FAR = 40  # exp(-40) is 4e-18
HIGHEST = 2  # T_N of small arguments would lose digits


def parallel_average(f: ExponentialPieces, g: ExponentialPieces, sign: int) -> sp.Expr:
    """The average for parallel inputs, or opposite ones for the sign -1."""
    total = sp.S.Zero
    for one, height, j, rate in f.terms:
        for two, other, k, second in g.terms:
            if two == sign * one:
                both = half_moment(j + k, rate * roots[0] + second * roots[1])
                total += height * other * roots[0] ** j * roots[1] ** k * both
    return total


def exponential_pair(f: ExponentialPieces, g: ExponentialPieces) -> sp.Expr | None:
    """The average, in K1, K2, C and the determinant; None if there is no such sum without cancellation."""
    signs = {int(sp.sign(r * s)) for r, _ in f.exponentials for s, _ in g.exponentials}
    orders = f.order, g.order
    order = max(orders) if signs else min(n for n, h in zip(orders, (f, g), strict=True) if not h.exponentials)
    if order > HIGHEST or (len(signs) > 1 and order):
        return None
    return sp.Add(*(_of_sign(f, g, sign, order) for sign in sorted(signs or {1})))


def _of_sign(f: ExponentialPieces, g: ExponentialPieces, sign: int, order: int) -> sp.Expr:
    """The part of the exponentials whose rates have a product of a sign, and of all else."""
    pairs = [(r, s, h * k) for r, h in f.exponentials for s, k in g.exponentials if sp.sign(r * s) == sign]
    fastest = sp.Max(0, *(sp.Abs(r * s) for r, s, _ in pairs))
    # 1 where the way begins at parallel inputs
    parallel = (1 + sign * side) * (1 + Orientation(largest * fastest - 1)) / 4 if pairs else sp.S.Zero

    def at_start(of_parallel: sp.Expr, of_independent: sp.Expr) -> sp.Expr:
        return parallel * of_parallel + (1 - parallel) * of_independent

    whole, total, integrand = covariance_beyond(1 - parallel), sp.S.Zero, sp.S.Zero
    one, two = f, g
    for n in range(order):
        both = at_start(
            parallel_average(one, two, sign), one.uncancelled_average(roots[0]) * two.uncancelled_average(roots[1])
        )
        total += whole**n / sp.factorial(n) * both
        jumps = one.jump, two.jump
        one, two = one.diff(), two.diff()
        integrand += covariance_left**n / sp.factorial(n) * _source(jumps, (one, two))
    for r, s, height in pairs:
        rates = sp.Abs(r) * roots[0], sp.Abs(s) * roots[1]
        both = at_start(half_moment(0, rates[0] + rates[1]), half_moment(0, rates[0]) * half_moment(0, rates[1]))
        total += height * _remainder(order, r * s * whole) * both
        integrand += height * _remainder(order, r * s * covariance_left) * _driving(r, s)
    start = 1 - parallel
    if order == 0:  # far from C nothing is left of the exponentials
        slowest = sp.Min(*(sp.Abs(r * s) for r, s, _ in pairs))
        start = parallel * _place_before(slowest, -1) + (1 - parallel) * _place_before(slowest, 1)
    variances = ((r * root) ** 2 for h, root in zip((f, g), roots, strict=True) for r, _ in h.exponentials)
    ease = EASY / sp.Max(*variances)
    return total + FixedSum(side * integrand, end, start, BOTH_ENDS, ease)


def _place_before(rate: sp.Expr, direction: int) -> sp.Expr:
    """The place where exp(-rate*abs(C - c)) is exp(-FAR), towards independent inputs (1) or parallel ones (-1)."""
    share = FAR * (1 + end**2) / (2 * rate * largest)
    if direction < 0:
        share = sp.Min(1, share)  # from there on all of the way counts
        return sp.sqrt(sp.Max(0, (end**2 - share) / (1 + share)))
    share = sp.Min(sp.Rational(1, 2), share)  # likewise
    return sp.sqrt(sp.Min(1, (end**2 + share) / (1 - share)))


def _source(jumps: Sequence[sp.Expr], functions: Sequence[ExponentialPieces]) -> sp.Expr:
    """S_n times the step of the covariance."""
    total = jumps[0] * jumps[1] * density_slope
    for jump, root, other, function in zip(jumps, roots, roots[::-1], functions[::-1], strict=True):
        total += jump * density(sp.S.Zero) / root * function.average(other * sine) * covariance_slope
    return total


def _driving(r: sp.Expr, s: sp.Expr) -> sp.Expr:
    """s(c) times the step of the covariance."""
    first, second = (sp.Abs(rate) * root * sine for rate, root in zip((r, s), roots, strict=True))
    signs = sp.sign(r) * sp.sign(s)
    alone = -sp.Abs(r) * half_moment(0, first) / roots[1] - sp.Abs(s) * half_moment(0, second) / roots[0]
    return signs * (density_slope + density(sp.S.Zero) * alone * covariance_slope)


def _remainder(order: int, x: sp.Expr) -> sp.Expr:
    """exp(x) less the first terms of its series."""
    if order == 0:
        return sp.exp(x)
    return Expm1(x) - sp.Add(*(x**n / sp.factorial(n) for n in range(1, order)))
