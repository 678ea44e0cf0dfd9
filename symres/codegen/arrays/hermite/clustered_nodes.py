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

from ..runtime.array_types import Floats, Places

Function: TypeAlias = Callable[..., Floats]
Rule: TypeAlias = tuple[Floats, Floats, Floats]
Expansion: TypeAlias = tuple[Floats, Floats, Any]

_FARTHEST = 20.0  # standard deviations: room for what grows like exp(5*x), whose square has its mass around 10
_TERMS = (64, 128, 256, 512, 1024)  # numbers of terms that are tried: kernels of order 1 need the first or second
_SOUGHT = 8.0  # roundings: what is left out of the root of <f**2> <g**2>
_ENOUGH = 16.0  # the same as it is known, with the rounding of sums
_HIDDEN = 4.0  # roundings of <f**2> that hide what a series leaves of it


def _eps(a: Floats) -> float:
    """The rounding of an array's type."""
    return float(xp.finfo(a.dtype).eps)


def _correlations(K1: Floats, K2: Floats, C: Floats) -> Floats:
    """C/sqrt(K1*K2), cut off at 1; 0 where a kernel vanishes."""
    one, two = (1.0 / xp.sqrt(xp.where(K == 0.0, xp.inf, K)) for K in (K1, K2))
    return xp.clip(C * one * two, -1.0, 1.0)


def _parallel(C: Floats) -> float:
    """The correlation from which on no series is asked: rounding makes it 1 or less."""
    return 1.0 - 4.0 * _eps(C)


def _step(terms: int) -> float:
    """From node to node: the last of so many polynomials is a wave of the length 2*pi/sqrt(terms)."""
    return min(0.125, 1.6 / math.sqrt(terms))


def _side_nodes(scale: Floats, step: float) -> int:
    """The number of nodes on each side of 0 for the smallest scale."""
    return math.ceil(math.asinh(math.sinh(_FARTHEST) / float(scale.min())) / step)


def _integers(count: int, like: Floats) -> Places:
    """0, 1, 2, ..., where another array is."""
    return xp.arange(count)


def _clustered(scale: Floats, middle: Floats, count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the normal law along a last axis: scale*step apart at the middle, a step elsewhere.

    Args:
        scale: at most 1.
        middle: where nodes are close together, inside of the law.
        count: of the nodes, odd.
    """
    low, high = (xp.arcsinh(xp.sinh(end - middle) / scale) for end in (-_FARTHEST, _FARTHEST))
    step = (high - low) / (count - 1)
    t = (0.5 * (low + high))[..., None] + step[..., None] * (_integers(count, scale) - count // 2)
    near = scale[..., None] * xp.sinh(t)
    x = middle[..., None] + xp.arcsinh(near)
    slope = (scale * step)[..., None] * xp.cosh(t) / xp.sqrt(1.0 + near * near)
    return x, slope * xp.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _side_rule(scale: Floats, side: int) -> tuple[Floats, Floats]:
    """Nodes from 0 on, and weights of the sum of what is even there and at their negatives."""
    x, weight = (a[side:] for a in _clustered(scale, 0.0 * scale, 2 * side + 1))
    return x, xp.where(_integers(side + 1, scale) > 0, 1.0, 0.5) * weight


def _polynomials(before: tuple[Floats, Floats], x: Floats, first: Any, count: int) -> tuple[Any, Floats]:
    """Normalised Hermite polynomials times weights: rows of even order, and behind them those of odd order.

    Args:
        before: the last one before them, and the first of them.
        x: nodes.
        first: its order, even.
        count: of the polynomials.

    Returns:
        what the following ones begin with; the polynomials.
    """
    n = (2 * _integers(count // 2, x) + first) * xp.ones_like(x[:1])
    factors = xp.sqrt(xp.stack([n / (n + 1.0), 1.0 / (n + 1.0), (n + 1.0) / (n + 2.0), 1.0 / (n + 2.0)], 1))

    def following(polynomials: tuple[Floats, Floats], row: Floats) -> tuple[tuple[Floats, Floats], Floats]:
        last, even = polynomials
        odd = row[1] * x * even - row[0] * last
        return (odd, row[3] * x * odd - row[2] * even), xp.stack([even, odd])

    before, found = _scan(following, before, factors)
    return before, xp.swapaxes(found, 0, 1)


def _scan(step: Callable[..., tuple[Any, Any]], state: Any, rows: Floats) -> tuple[Any, Floats]:
    """The last state and the results of all steps, which take the state and a row."""
    found = []
    for row in rows:
        state, result = step(state, row)
        found.append(result)
    return state, xp.stack(found)


def _at_nodes(f: Function, K: Floats, parameters: Sequence[Floats], x: Floats) -> Floats:
    """f(z) and f(-z) with z = sqrt(K)*x, a row for each kernel; parameters are numbers, or one for each."""
    columns, z = [p[:, None] if p.shape else p for p in parameters], xp.sqrt(K)[:, None] * x
    return xp.stack([f(side, *columns) + 0.0 * z for side in (z, -z)])


def _parts_of_one(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Even and odd parts, which even and odd polynomials see, in units of the root of <f**2>, and that.

    It is nan where nodes end too soon.

    Args:
        values: at the nodes, a row for each function of one kernel, and at their negatives.
        weight: of the nodes.
    """
    unit = xp.amax(xp.abs(values), (0, 2))
    right, left = values / xp.where(unit > 0.0, unit, 1.0)[:, None]  # squares are floats then
    parts = xp.stack([right + left, right - left])
    total, edge = (0.5 * parts * parts @ weight).sum(0), (parts[..., -1] ** 2).sum(0) * weight[-1]
    root = xp.sqrt(
        xp.where(edge <= _eps(weight) * total, total, math.nan)
    )  # growth may carry the mass beyond all nodes
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
    rest = xp.where(shares == 0.0, 0.0, 1.0 - shares).clip(_HIDDEN * eps)
    return xp.sqrt(xp.where(off <= 2.0 * math.sqrt(eps), rest, math.inf))


def _hermite_expansion(values: Floats, rule: Rule) -> Expansion:
    """Hermite coefficients of functions of one kernel each.

    Args:
        values: at the nodes, a row for each, and at their negatives.
        rule: the nodes, their weights, and polynomials.

    Returns:
        a_n along a last axis; the root of 1 - sum a_n**2/<f**2>, infinite where nodes are too far apart; for each
        number of terms the largest such root of all rows.
    """
    _, weight, table = rule
    parts, size = _parts_of_one(values, weight)
    a, off = _coefficients_of(parts, table)
    shares = xp.flip(xp.cumsum(xp.flip(a * a, (1,)), 1), (1,))
    rest = _root_of_rest(shares[:, 0], off)
    shares = xp.concatenate([shares, 0.0 * shares[:, :1]], 1)
    worst = xp.amax(xp.where(xp.isfinite(rest)[:, None], rest[:, None] ** 2 + shares, 0.0), 0)
    return a * size[:, None], rest, xp.sqrt(worst)
