"""Averages over one normal variable of functions whose pieces are polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp

from ...core.symbols import z
from ..averages.integrands import PiecewiseIntegrand
from .fixed_sum import NEVER, ONE_END, FixedSum
from .fixed_sum import node as p

REACH, DECAY = 10, 45  # exp(-p**2/2) and exp(-t*p) beyond which nothing of an integral is left: 2e-22, 3e-20


def tail_moments(t: sp.Expr, degree: int) -> list[sp.Expr]:
    """<(x - t)**j> over x > t, x standard normal, for j = 0 .. degree."""
    moments = [sp.erfc(t / sp.sqrt(2)) / 2]
    before = density(t)
    for j in range(1, degree + 1):
        moments.append(max(j - 1, 1) * before - t * moments[-1])
        before = moments[-2]
    return moments


def uncancelled_tail_moments(t: sp.Expr, degree: int) -> list[sp.Expr]:
    """The same for t > 0 as integrals of positive functions: the recursion loses t**(2 j) digits."""
    reach = sp.Min(REACH, DECAY / t)
    sums = (FixedSum(p**j * sp.exp(-t * p - p**2 / 2), sp.S.Zero, reach, ONE_END, NEVER) for j in range(1, degree + 1))
    return [sp.erfc(t / sp.sqrt(2)) / 2, *(density(t) * total for total in sums)]


def _base(f: PiecewiseIntegrand) -> int:
    """The number of the piece around 0."""
    return sum(1 for b in f.breaks if b.is_negative)


def density(t: sp.Expr) -> sp.Expr:
    """The standard normal density."""
    return sp.exp(-(t**2) / 2) / sp.sqrt(2 * sp.pi)


def piecewise_average(
    f: PiecewiseIntegrand,
    mean: sp.Expr,
    deviation: sp.Expr,
    standard: Callable[[sp.Expr], sp.Expr],
    tail_moments: Callable[[sp.Expr, int], list[sp.Expr]] = tail_moments,
) -> sp.Expr:
    """The average of a piecewise polynomial.

    The polynomial that holds around 0 has an average in powers of the mean; each breakpoint adds what the function is
    more than the polynomial before it.

    Args:
        f: the function.
        mean: of the normal law.
        deviation: its standard deviation.
        standard: of a breakpoint b, (b - mean)/deviation.
        tail_moments: the moments behind a standardised breakpoint, up to a degree.
    """
    base = _base(f)
    total = _polynomial_average(f.parts[base], mean, deviation)
    for k, b in enumerate(f.breaks):
        sign = 1 if k >= base else -1  # behind the breakpoint, away from 0
        difference = sp.expand(sign * (f.parts[k + 1] - f.parts[k]).subs(z, b + sign * z))
        coefficients = sp.Poly(difference, z).all_coeffs()[::-1]
        moments = tail_moments(sign * standard(b), len(coefficients) - 1)
        total += sp.Add(*(c * deviation**j * h for j, (c, h) in enumerate(zip(coefficients, moments, strict=True))))
    if f.parts[0] == f.parts[-1] == 0 and all(part.is_number for part in f.parts):
        # steps up and down: their complements would nearly cancel under wide laws
        total = total.xreplace({tail: 1 - sp.erf(*tail.args) for tail in total.atoms(sp.erfc)})
    return total


def is_dead_at_0(f: PiecewiseIntegrand) -> bool:
    """Whether a function is 0 around 0, so that under narrow laws little is left of it."""
    return f.parts[_base(f)] == 0 and all(b.is_nonzero for b in f.breaks)


def centred_average(f: PiecewiseIntegrand, deviation: sp.Expr) -> sp.Expr:
    """The average of a piecewise polynomial over a normal variable of mean 0, with the digits of what is dead at 0."""
    moments = uncancelled_tail_moments if is_dead_at_0(f) else tail_moments
    return piecewise_average(f, sp.S.Zero, deviation, lambda b: b / deviation, moments)


def _polynomial_average(part: sp.Expr, mean: sp.Expr, deviation: sp.Expr) -> sp.Expr:
    total, term, j = sp.S.Zero, sp.expand(part), 0
    while term != 0:
        total += term.subs(z, mean) * (deviation**2 / 2) ** j / sp.factorial(j)
        term, j = term.diff(z, 2), j + 1
    return total


def vanishing(heights: Sequence[sp.Expr]) -> bool:
    """Whether numbers add up to 0."""
    return sp.expand(sp.Add(*heights)) == 0
