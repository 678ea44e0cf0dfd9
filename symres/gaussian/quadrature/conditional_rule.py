"""The part of <f(z1) g(z2)> where g is smooth on the scale of the conditional standard deviation of z2 given z1.

With w = slope*x + deviation*y the variables x and y are independent, and ``<g(slope*x + deviation*y)>_y`` is as
smooth a function of x as g. So panels for x need not be as short as the deviation, which matters for nearly dependent
variables; at zero deviation the average is one over x alone. The neighbourhoods of the breakpoints of g are left out,
and intervals on which g varies too fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from flint import arb, ctx

from ...functions.balls import Ball
from ...numerics.gauss_rules import normal_pairs
from .bivariate_normal import BivariateNormal
from .panels import (
    LOG2_E,
    BoundedFunction,
    Function,
    Panel,
    PlannedRule,
    Weight,
    log2_sum,
    log2_sup,
    log2_upper,
    plan_panels,
    power_of_two,
)
from .univariate import CompiledPieces, Interval, Segment, clip

_RHO = 2.0  # of the ellipse around the interval of y: nearly the cheapest for a Gaussian weight
_RECTANGLE_MARGIN = 16  # bits: how much larger than needed g may be on the rectangle around that ellipse
_BITS_STEP = 16  # bits: few different rules
_PANEL_MARGIN = 8  # bits: many panels share the error allowed


def conditional_average(
    f: list[Segment], g: CompiledPieces, law: BivariateNormal, ends: Interval, reach: float, log2_tolerance: float
) -> tuple[arb, list[Interval]]:
    """Enclose the average of f(z1) g(z2) over |y| < reach and x between two places, but for some intervals of x.

    Args:
        f: the smooth pieces of f, in x.
        g: the other function.
        law: nearly singular, so that the slope is not 0; its density need not be known.
        ends: where x starts and ends.
        reach: in standard deviations of z2 given z1.
        log2_tolerance: log2 of the error to aim at.

    Returns:
        The enclosure, and the intervals left out, in order.
    """
    weight, norm = Weight(law.k1, law.scale1), (2 * arb.pi() * law.k1).sqrt()
    goal = log2_tolerance + log2_upper(norm) - _PANEL_MARGIN
    slope, deviation = law.slope * law.scale2 / law.scale1, law.conditional_deviation * law.scale2  # from z1 to z2
    smooth = _smooth_intervals(g, law, ends, reach)
    # for a density that is not known one node, the ball of all values of y
    beyond = abs(arb(0, 1) * (arb(-reach) * reach / 2).exp())
    rule = _Rule(((arb(0, reach), 1 - beyond),), reach, 0.0, math.inf)
    if law.is_regular:
        lost_bits = max(
            [0.0, *(_bound(f, part, weight, slope) - goal - ctx.prec for *_, part in smooth if part is not None)]
        )
        rule = _gaussian_rule(reach, ctx.prec + _BITS_STEP * math.ceil(min(lost_bits, ctx.prec) / _BITS_STEP))
    shortest = 2 * float((law.conditional_deviation / law.slope).abs_upper())
    panels: list[Panel] = []
    rule_errors, left_out, (done, end) = [], [], ends
    for a, b, part in smooth:
        left_out.append((done, a))
        done = b
        if part is None:
            continue
        for s in f:
            left, right = clip(s, a, b)
            if left > right:
                continue
            function = _ConditionalIntegrand(s.function, part, slope, deviation, rule, weight, goal)
            for panel in plan_panels(function, weight, left, right, goal, ctx.prec // 2, shortest):
                if panel.nodes:
                    rule_errors.append(function.log2_rule_error(panel.left, panel.right, panel.log2_size))
                elif panel.log2_error > goal:
                    left_out.append((panel.left, panel.right))
                    continue
                panels.append(panel)
    left_out.append((done, end))
    total = PlannedRule.of(panels, weight.scale, ctx.prec)(weight.variance) + arb(
        0, power_of_two(log2_sum(rule_errors))
    )
    return total / norm, _merged(left_out)


def _bound(f: list[Segment], g: Function, weight: Weight, slope: arb) -> float:
    """log2 of a bound on |f g| around 0; too large where terms of f or g cancel, as in z - tanh(z)."""
    width = weight.scale * weight.variance.sqrt()
    other = abs(slope) * width
    sizes = (log2_sup(s.function, -width, width, width / 2) for s in f)
    inner = log2_sup(g, -other, other, other / 2)
    return max((size + inner for size in sizes if math.isfinite(size + inner)), default=-math.inf)


def _smooth_intervals(
    g: CompiledPieces, law: BivariateNormal, ends: Interval, reach: float
) -> list[tuple[arb, arb, Function | None]]:
    """The intervals of x in which a single piece of g is met, in order, each with the piece."""
    margin, smooth = reach * law.conditional_deviation.upper(), []
    breakpoints = [b / law.scale2 for b in g.breakpoints()]
    for start, end, part in zip([None, *breakpoints], [*breakpoints, None], g.parts, strict=True):
        left = None if start is None else (start + margin) / law.slope
        right = None if end is None else (end - margin) / law.slope
        if law.slope < 0:
            left, right = right, left
        a = ends[0] if left is None or left < ends[0] else left.upper()
        b = ends[1] if right is None or right > ends[1] else right.lower()
        if a < b:
            smooth.append((a, b, part))
    return smooth if law.slope > 0 else smooth[::-1]


def _merged(intervals: list[Interval]) -> list[Interval]:
    """Intervals that touch become one; empty ones go."""
    merged: list[Interval] = []
    for a, b in sorted(intervals, key=lambda i: i[0].mid()):
        if b <= a:
            continue
        if merged and not merged[-1][1] < a:
            a, _ = merged.pop()
        merged.append((a, b))
    return merged


@dataclass(frozen=True)
class _Rule:
    """An average over y: the sum of mass*h(y) over the nodes."""

    nodes: tuple[tuple[arb, arb], ...]  # (y, mass)
    wide: float  # of a rectangle around 0
    high: float
    bits: float  # the error is below 2**-bits times the largest |h| on the rectangle, if h is analytic there


@lru_cache(maxsize=64)
def _gaussian_rule(reach: float, bits: int) -> _Rule:
    """Gauss-Legendre for the normal density on |y| < reach."""
    wide, high = reach * (_RHO + 1 / _RHO) / 2, reach * (_RHO - 1 / _RHO) / 2
    # the bound of panels.py: |exp(-y^2/2)| <= exp(high^2/2) on the ellipse
    size = math.log2(reach) + 2.1 - math.log2(1 - _RHO**-2) + high**2 / 2 * LOG2_E
    n = 2 * math.ceil((size + bits + _RECTANGLE_MARGIN) / (4 * math.log2(_RHO)))
    return _Rule(normal_pairs(reach, n, bits), wide * (1 + 1e-12), high * (1 + 1e-12), 2 * n * math.log2(_RHO) - size)


@dataclass(frozen=True)
class _ConditionalIntegrand(BoundedFunction):
    """z1 -> f(z1) <g(slope*z1 + deviation*y)>, the average by a rule."""

    f: Function  # smooth pieces, as g
    g: Function
    slope: arb  # the mean of z2 is slope*z1
    deviation: arb  # the standard deviation of z2
    rule: _Rule  # for y
    weight: Weight  # of z1
    goal: float  # log2 of the error that the integral over z1 can bear

    def __call__(self, values: list[Ball], analytic: bool) -> Ball:
        """Evaluate at one real z1, but for the error of the rule."""
        mean = self.slope * values[0]
        total = arb(0)
        for y, mass in self.rule.nodes:
            total += mass * self.g([mean + self.deviation * y], False)
        return self.f(values, False) * total

    def log2_sup(self, left: arb, right: arb, height: float | arb) -> float:
        """Upper bound of log2 |f g| for z1 and y in rectangles; infinite where the rule for y is not good enough."""
        size = log2_sup(self.f, left, right, height)
        if math.isinf(size):
            return size
        deviation, mean = self.deviation.abs_upper(), self.slope * left.union(right)
        around = deviation * self.rule.wide
        size += log2_sup(self.g, mean - around, mean + around, abs(self.slope) * height + deviation * self.rule.high)
        rule_error = self.log2_rule_error(left / self.weight.scale, right / self.weight.scale, size)
        return size if rule_error <= self.goal else math.inf

    def log2_rule_error(self, left: arb, right: arb, size: float) -> float:
        """log2 of a bound on the error of the rule for y on an interval of x; ``size`` is from ``log2_sup``."""
        a, b = float(left.lower()), float(right.upper())
        return size + self.weight.log2_sup(a, b, 0.0) + math.log2(b - a + 1e-300) + 1e-6 - self.rule.bits
