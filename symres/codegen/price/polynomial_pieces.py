"""<f(z1) g(z2)> of piecewise polynomials.

Between breakpoints f has derivatives f_n, and at its breakpoints the n-th derivative has delta functions D_n, whose
heights are the jumps of f_(n-1). With Price's theorem, applied n times,

    <f g> = sum_n C**n/n! <f_n> <g_n> + sum_n integral_0^C (C - c)**(n - 1)/(n - 1)! S_n(c) dc,
    S_n = <D_n f D_n g> + <D_n f g_n> + <f_n D_n g>.

The sums end with the degree. S_n is elementary: densities of both inputs at two breakpoints, and averages of a
polynomial under the law of one input given the other.
"""

from __future__ import annotations

from itertools import count

import sympy as sp

from ...core.symbols import C
from ...functions.companions import Expm1
from ..averages.integrands import PiecewiseIntegrand
from ..averages.singular_slopes import Deltas, deltas_of
from ..stable.primitives import AbsNode, Orientation
from .correlation_path import covariance_left, covariance_slope, density_slope, end, roots, side
from .delta_averages import average_at, difference, exponent_of_both
from .fixed_sum import NEVER, ONE_END, FixedSum
from .fixed_sum import node as p
from .piecewise_law import centred_average, is_dead_at_0, vanishing

EASY = sp.Rational(1, 5)  # p of correlations up to 0.92: 20 nodes suffice from there on
NEAREST = 18  # p = distance/18: exp(-distance**2/(8 p**2)) is 3e-18 there, and less below


def polynomial_pair(f: PiecewiseIntegrand, g: PiecewiseIntegrand) -> sp.Expr:
    """The average, in K1, K2, C and the determinant."""
    total = centred_average(f, roots[0]) * centred_average(g, roots[1])
    ease = NEVER if is_dead_at_0(f) or is_dead_at_0(g) else end / EASY  # what is left of the dead needs all nodes
    for n in count(1):
        before = deltas_of(f), deltas_of(g)
        f, g = f.diff(), g.diff()
        if not (_is_zero(f) or _is_zero(g)):
            total += C**n / sp.factorial(n) * centred_average(f, roots[0]) * centred_average(g, roots[1])
        total += _sources(n, f, g, *before, ease)
        if _is_zero(f) or _is_zero(g):
            return total


def _is_zero(f: PiecewiseIntegrand) -> bool:
    return all(part == 0 for part in f.parts)


def _sources(
    n: int, f: PiecewiseIntegrand, g: PiecewiseIntegrand, first: Deltas, second: Deltas, ease: sp.Expr
) -> sp.Expr:
    """What the n-th derivatives add: the integral of S_n with its power of C - c."""
    total = sp.S.Zero
    if first and second:
        total += _densities(n, first, second, ease)
    power = covariance_left ** (n - 1) / sp.factorial(n - 1)
    for deltas, (root, other), function in ((first, roots, g), (second, roots[::-1], f)):
        if not _is_zero(function):
            beside = sp.Add(*(h * average_at(b, root, other, function) for b, h in deltas))
            total += _integral(power * beside * covariance_slope, end, ease) if deltas else 0
    return total


def _integral(integrand: sp.Expr, lower: sp.Expr, ease: sp.Expr) -> sp.Expr:
    """The integral from independent inputs on."""
    return FixedSum(side * integrand, lower, sp.S.One, ONE_END, ease)


def _densities(n: int, first: Deltas, second: Deltas, ease: sp.Expr) -> sp.Expr:
    """The part of <D_n f D_n g>."""
    places = [(b / roots[0], side * c / roots[1], h * k) for b, h in first for c, k in second]
    nearest = sp.Min(*{_distance(u, v) for u, v, _ in places})
    lower = sp.Min(1, sp.Max(end, nearest / NEAREST)) if nearest != 0 else end
    if n == 1:
        return sp.Add(*(h * _jump_density(u, v, lower, ease) for u, v, h in places))
    if all(vanishing([h for _, h in deltas]) for deltas in (first, second)):
        exponential = _differences(first, second)
    else:
        exponential = sp.Add(*(h * sp.exp(-exponent_of_both(u, v)) for u, v, h in places))
    power = covariance_left ** (n - 1) / sp.factorial(n - 1)
    return _integral(power * exponential * density_slope, lower, ease)


def _distance(u: sp.Expr, v: sp.Expr) -> sp.Expr:
    return AbsNode(difference(u, v)) if u != v else sp.S.Zero


def _jump_density(u: sp.Expr, v: sp.Expr, lower: sp.Expr, ease: sp.Expr) -> sp.Expr:
    """The integral of the density; its limit next to p = 0, a constant times exp(-a**2/p**2), is integrated exactly."""
    a = _distance(u, v) / (2 * sp.sqrt(2))
    front = 2 * a**2 + u * v / 2

    def exact(place: sp.Expr) -> sp.Expr:
        return place * sp.exp(-(a**2) / place**2) - a * sp.sqrt(sp.pi) * sp.erfc(a / place)

    constant = sp.exp(-front) * (exact(sp.S.One) - exact(end)) / sp.pi * side
    excess = sp.exp(-exponent_of_both(u, v)) * density_slope - sp.exp(-front - a**2 / p**2) / sp.pi
    return constant + _integral(excess, lower, ease)


def _differences(first: Deltas, second: Deltas) -> sp.Expr:
    """Sum of heights times exponentials where the heights of each side add up to 0, without rounding what is left.

    exp(-a - b + r) = exp(-a - b) (exp(r) - 1) + (exp(-a) - 1)(exp(-b) - 1) + what one side alone adds, which cancels.
    """
    scale = (1 + p**2) ** 2 / (8 * p**2)
    alone = [
        sp.Add(*(h * Expm1(-((b / root) ** 2) * scale) for b, h in deltas))
        for root, deltas in zip(roots, (first, second), strict=True)
    ]
    total = alone[0] * alone[1]
    for b, h in first:
        for c, k in second:
            u, v = b / roots[0], side * c / roots[1]
            if u * v == 0:
                continue
            product, sign = (-u * v, -1) if (u * v).could_extract_minus_sign() else (u * v, 1)
            shared = product * (1 - p**4) / (4 * p**2)
            smaller = sp.Min(exponent_of_both(u, v), (u**2 + v**2) * scale)
            total -= sign * h * k * sp.exp(-smaller) * Expm1(-AbsNode(shared)) * Orientation(product)
    return total
