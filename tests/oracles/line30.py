"""Averages over one normal variable to 30 digits, by Gauss-Legendre panels of the formula itself."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp
from flint import arb

from .panels30 import LEFT_OUT, RULES, Measured, Panel, ball, fraction, legendre, panels, ruler, settle
from .sections import Sections, compiled

_HALVINGS = 8  # oscillations over thousands of periods: sin(z) at a variance of 10**6 takes 7


def average(f: Sections, variance: sp.Rational) -> Measured:
    """``<f(z)>`` for z normal with mean 0 and this variance, to 30 digits.

    Raises:
        Unsettled: two rules never agree.
    """
    step = ruler(variance)

    def attempt(reach: int, share: Fraction) -> tuple[arb, arb, arb, bool]:
        cut = panels(f.breaks, reach * step, min(Fraction(1), step) * share, 2 * step * share)
        rough, number = (_sums(f, variance, cut, count) for count in RULES)
        total, size = sum(number, arb(0)), sum(map(abs, number), arb(0))
        short = any(abs(end) > LEFT_OUT * size for end in (number[0], number[-1]))
        return total, total - sum(rough, arb(0)), size, short

    return settle(attempt, _HALVINGS)


def _sums(f: Sections, variance: sp.Rational, cut: list[Panel], count: int) -> list[arb]:
    """The integral over each panel."""
    k = ball(fraction(variance))
    scale, norm = -1 / (2 * k), (2 * arb.pi() * k).sqrt()
    parts = [compiled(part) for part in f.parts]
    result = []
    for panel in cut:
        part = parts[panel.piece]
        pairs = zip(panel.nodes(count), legendre(count), strict=True)
        total = sum((w * part(t) * (scale * t * t).exp() for t, (_, w) in pairs), arb(0))
        result.append(total * ball(panel.half) / norm)
    return result
