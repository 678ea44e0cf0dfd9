"""Gauss-Legendre panels in ball arithmetic, with the error bounded by the size of the integrand in the complex plane.

For f analytic with ``|f| <= M`` in the ellipse with foci at the ends of a panel of half-width h and sum of half-axes
``h*rho``, the n-point rule is off by at most ``h*(64/15)*M*rho**(-2n)/(1 - rho**-2)``: Chebyshev coefficients of f are
below ``2*M*rho**-k``, and the rule errs by at most 32/15 on each ``T_k``, k even and >= 2n. M comes from one ball
evaluation on a rectangle around the ellipse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from flint import acb, arb, ctx

from ..balls import Ball

Function = Callable[[list[Ball], bool], Ball]

LOW = 32  # bits: enough for bounds
_RHO = (4.0, 8.0, 16.0, 2.2)  # ellipses tried, in this order; below 2.2 halving the panel is cheaper
_SIZES = (4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256, 384, 512)
_MAX_PANELS = 4000  # beyond, the rest is enclosed crudely: slow decay of the radius instead of no answer


@dataclass(frozen=True)
class Weight:
    """The Gaussian density of variance v, up to its constant, in the coordinate x = z/scale.

    Args:
        variance: ball of v, of order one by the choice of scale.
        scale: a power of two.
    """

    variance: arb
    scale: arb

    @property
    def bounds(self) -> tuple[float, float]:
        """Floats below and above the variance."""
        return float(self.variance.lower()) * (1 - 1e-12), float(self.variance.upper()) * (1 + 1e-12)

    def log2_sup(self, left: float, right: float, height: float) -> float:
        """Upper bound of log2 |exp(-x**2/2v)| on the rectangle left..right, -height..height."""
        low, high = self.bounds
        nearest = 0.0 if left <= 0 <= right else min(abs(left), abs(right))
        square = nearest**2 * (1 - 1e-9) - height**2 * (1 + 1e-9)
        return -square / (2 * (high if square > 0 else low)) * 1.4426950408889634 + 1e-6 * (1 + abs(square))


@lru_cache(maxsize=256)
def gauss_legendre(n: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    """The (node, weight) pairs of the n-point rule on (-1, 1); n is even.

    Only the positive nodes: the others are their mirror images.
    """
    with ctx.workprec(bits):
        return tuple(arb.legendre_p_root(n, k, weight=True) for k in range(n // 2))


def log2_upper(value: Ball) -> float:
    """An upper bound of log2 |value|, less than two bits above it."""
    if not value.is_finite():
        return math.inf
    mantissa, exponent = value.abs_upper().man_exp()
    return int(mantissa).bit_length() + int(exponent) if mantissa else -math.inf


def sup(function: Function, left: arb, right: arb, height: float = 0.0) -> float:
    """Upper bound of log2 |function| on a real interval, or on the rectangle of that height on both sides of it.

    On a rectangle the bound is infinite unless the function is analytic there.
    """
    precision = ctx.prec
    ctx.prec = LOW
    try:
        interval = left.union(right)
        if not height:
            return log2_upper(function([interval], False))
        return log2_upper(function([acb(interval, arb(0, height))], True))
    finally:
        ctx.prec = precision


def sup_refined(function: Function, left: arb, right: arb, pieces: int = 2048) -> float:
    """Upper bound of log2 |function| on an interval that is halved where the ball evaluation overflows."""
    worst, stack, used = -math.inf, [(left, right)], 0
    while stack:
        a, b = stack.pop()
        bound = sup(function, a, b)
        used += 1
        if bound < math.inf or used + len(stack) >= pieces:
            worst = max(worst, bound)
            if worst == math.inf:
                return worst
            continue
        middle = ((a + b) / 2).mid()
        stack += [(a, middle), (middle, b)]
    return worst


@dataclass(frozen=True)
class Panel:
    """One interval with its rule: n nodes (0: left out) and a bound on what that misses (log2)."""

    function: Function
    left: arb
    right: arb
    nodes: int
    log2_error: float


def plan(function: Function, weight: Weight, left: arb, right: arb, log2_tolerance: float) -> list[Panel]:
    """Cut an interval into panels whose bounded errors stay below a tolerance each.

    Args:
        function: smooth function of z on the interval (in x: z = scale*x).
        weight: the Gaussian weight.
        left: where the interval starts, in x.
        right: where it ends.
        log2_tolerance: log2 of the error allowed per panel, for the integral over x.
    """
    panels: list[Panel] = []
    stack = [(left, right)]
    while stack:
        a, b = stack.pop()
        panel = _rule(function, weight, a, b, log2_tolerance, last=len(panels) + len(stack) > _MAX_PANELS)
        if panel is not None:
            panels.append(panel)
        else:
            middle = ((a + b) / 2).mid()
            stack += [(a, middle), (middle, b)]
    return panels


def _rule(function: Function, weight: Weight, a: arb, b: arb, log2_tolerance: float, last: bool) -> Panel | None:
    half, centre = float((b - a).upper()) / 2, float((a + b).mid()) / 2
    left, right = float(a.lower()), float(b.upper())
    if not half > abs(centre) * 1e-13 and half <= 1e-290:
        last = True
    best: tuple[int, float] | None = None
    cap = max(32, -log2_tolerance)
    for rho in _RHO:
        wide, high = half * (rho + 1 / rho) / 2 * (1 + 1e-9), half * (rho - 1 / rho) / 2 * (1 + 1e-9)
        box_left, box_right = min(centre - wide, left), max(centre + wide, right)
        bound = sup(function, weight.scale * box_left, weight.scale * box_right, float(weight.scale) * high)
        bound += weight.log2_sup(box_left, box_right, high)
        if bound + math.log2(half) + 1.1 <= log2_tolerance:
            return Panel(function, a, b, 0, bound + math.log2(half) + 1.1)
        if bound == math.inf:
            if rho == 4.0:
                continue
            break
        error = bound + math.log2(half) + 2.1 - math.log2(1 - rho**-2)
        needed = (error - log2_tolerance) / (2 * math.log2(rho))
        n = next((s for s in _SIZES if s >= needed), None)
        if n is not None and n <= cap and (best is None or n < best[0]):
            best = n, error - 2 * n * math.log2(rho)
        elif best is not None:
            break
        if rho == 2.2:
            break
    return None
