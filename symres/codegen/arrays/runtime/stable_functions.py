"""Functions without overflow and without cancellation, and fits."""

from __future__ import annotations

import numpy as xp
from scipy import special

from .array_types import Floats


def _scaled_tail(u: Floats, v: Floats, w: Floats) -> Floats:
    """exp(u)*erfc(w) from v = u - w*w too: the tail is scaled where it is small."""
    small = w > 0.0
    return xp.exp(xp.where(small, v, u)) * xp.where(small, special.erfcx(xp.clip(w, 0.0, None)), special.erfc(w))


def _expsinh(a: Floats, b: Floats) -> Floats:
    """exp(a)*sinh(b), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    size = xp.abs(b)
    return -xp.copysign(0.5, b) * xp.exp(a + size) * xp.expm1(-2.0 * size)


def _expcosh(a: Floats, b: Floats) -> Floats:
    """exp(a)*cosh(b), without overflow where a + abs(b) <= 0."""
    size = xp.abs(b)
    return 0.5 * xp.exp(a + size) * (1.0 + xp.exp(-2.0 * size))


def _expcoshm1(a: Floats, b: Floats) -> Floats:
    """exp(a)*(cosh(b) - 1), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    size = xp.abs(b)
    half = xp.expm1(-size)
    return 0.5 * xp.exp(a + size) * half * half


def _sigmoid(u: Floats) -> Floats:
    """1/(1 + exp(-u)), without overflow."""
    small = xp.exp(-xp.abs(u))
    return xp.where(u >= 0.0, 1.0, small) / (1.0 + small)


def _piecewise(u: Floats, edges: Floats, table: Floats) -> Floats:
    """The piecewise Chebyshev polynomial of u with the given inner and outer edges (Clenshaw's recursion)."""
    u = xp.minimum(u, edges[-1])
    piece = xp.searchsorted(edges[1:-1], u, side="right")
    left, right = edges[piece], edges[piece + 1]
    t = (2.0 * u - (left + right)) / (right - left)
    high, low = xp.zeros_like(t), xp.zeros_like(t)
    for row in table[:0:-1]:
        high, low = row[piece] + 2.0 * t * high - low, high
    return table[0][piece] + t * high - low
