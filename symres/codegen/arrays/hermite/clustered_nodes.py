"""Averages of smooth functions over one variable: the trapezoidal rule, which is exponentially accurate.

Nodes are x = asinh(scale*sinh(t)) at equal distances of t: a function of sqrt(K)*x that changes around 0 needs them
close together there, as far as 1/sqrt(K), and nowhere else. Every second node tells whether they are close enough: the
error of all of them is the square of what both differ by, and largest for polynomials of high order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as xp

from ..runtime.array_types import Floats
from ..runtime.entries import _integers

Function: TypeAlias = Callable[..., Floats]
Rule: TypeAlias = tuple[Floats, Floats, Floats]

_FARTHEST = 20.0  # standard deviations: room for what grows like exp(5*x), whose square has its mass around 10
_SOUGHT = 8.0  # roundings: what is left out of the root of <f**2> <g**2>
_ENOUGH = 16.0  # the same as it is computed, with the rounding of sums
_HIDDEN = 4.0  # roundings of <f**2> that hide what a series leaves of it


def _eps(a: Floats) -> float:
    """The rounding of an array's type."""
    return float(xp.finfo(a.dtype).eps)


def _side_nodes(scale: Floats, step: float) -> int:
    """The number of nodes on each side of 0 for the smallest scale."""
    return math.ceil(math.asinh(math.sinh(_FARTHEST) / float(scale.min())) / step)


def _clustered(scale: Floats, middle: Floats, step: float) -> tuple[Floats, Floats]:
    """An odd number of nodes and weights of the normal law along a last axis.

    They are a step apart, but scale*step, of a scale of at most 1, around a middle that is inside of the law.
    """
    side = _side_nodes(scale, step)
    low, high = (xp.arcsinh(xp.sinh(end - middle) / scale) for end in (-_FARTHEST, _FARTHEST))
    distance = 0.5 * (high - low) / side
    t = (0.5 * (low + high))[..., None] + distance[..., None] * (_integers(2 * side + 1, scale) - side)
    near = scale[..., None] * xp.sinh(t)
    x = middle[..., None] + xp.arcsinh(near)
    slope = (scale * distance)[..., None] * xp.cosh(t) / xp.sqrt(1.0 + near * near)
    return x, slope * xp.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _side_rule(scale: Floats, step: float) -> tuple[Floats, Floats]:
    """Nodes from 0 on, and weights of the sum of what is even there and at their negatives."""
    x, weight = _clustered(scale, 0.0 * scale, step)
    middle = x.shape[0] // 2
    return x[middle:], xp.concatenate([0.5 * weight[middle : middle + 1], weight[middle + 1 :]])


def _polynomials(before: tuple[Floats, Floats], x: Floats, first: Any, count: int) -> tuple[Any, Floats]:
    """Normalised Hermite polynomials at nodes x times weights, from an even order on: even orders, then odd ones.

    Args:
        before: the one before the first of them, and that.
        x: nodes.
        first: its order.
        count: of the polynomials.

    Returns:
        what the following ones begin with; the polynomials.
    """
    rows = list(before)
    for n in range(count):
        rows.append((x * rows[-1] - (first + n) ** 0.5 * rows[-2]) / (first + n + 1) ** 0.5)
    return (rows[-2], rows[-1]), xp.stack([xp.stack(rows[1:-1:2]), xp.stack(rows[2:-1:2])])


def _at_nodes(f: Function, K: Floats, parameters: Sequence[Floats], x: Floats) -> Floats:
    """f(z) and f(-z) with z = sqrt(K)*x, a row for each kernel; parameters are numbers, or one for each."""
    columns, z = [p[:, None] if p.shape else p for p in parameters], xp.sqrt(K)[:, None] * x
    return xp.stack([f(side, *columns) + 0.0 * z for side in (z, -z)])


def _parts_of_one(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Even and odd parts of functions in units of the root of <f**2>, and that root: nan where nodes end too soon.

    Values are at the nodes, a row for each function of one kernel, and at their negatives.
    """
    unit = xp.amax(xp.abs(values), (0, 2))
    right, left = values / xp.where(unit > 0.0, unit, 1.0)[:, None]  # squares are floats then
    parts = xp.stack([right + left, right - left])
    total, edge = (0.5 * parts * parts @ weight).sum(0), (parts[..., -1] ** 2).sum(0) * weight[-1]
    root = xp.sqrt(xp.where(edge <= _eps(weight) * total, total, math.nan))  # growth may carry mass beyond all nodes
    return parts / xp.where(root == 0.0, 1.0, root)[:, None], root * unit


def _coefficients_of(parts: Floats, table: Floats) -> tuple[Floats, Floats]:
    """Hermite coefficients along a last axis, and how much every second node changes the last ones, at most."""
    a = parts @ xp.swapaxes(table, 1, 2)
    last = 2.0 * parts[..., ::2] @ xp.swapaxes(table[:, -2:, ::2], 1, 2)
    off = xp.amax(xp.abs(last - a[..., -2:]), (0, 2))
    return xp.stack([*a], -1).reshape((parts.shape[1], -1)), off


def _root_of_rest(shares: Floats, off: Floats) -> Floats:
    """The root of what coefficients leave of 1, by the sum of their squares; infinite where nodes are too far apart."""
    eps = _eps(shares)
    remainder = xp.where(shares == 0.0, 0.0, 1.0 - shares).clip(_HIDDEN * eps)
    return xp.sqrt(xp.where(off <= 2.0 * math.sqrt(eps), remainder, math.inf))
