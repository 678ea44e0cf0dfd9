"""Gaussian averages by composite Gauss-Legendre rules on panels that adapt to the integrand.

Gauss-Hermite rules are useless here: a kink costs them all digits, and a function with a feature of size 1 under a
Gaussian of width 10 most of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ..errors import SymresError

Function = Callable[..., np.ndarray]

_REACH = 38.0  # standard deviations; beyond, the Gaussian weight underflows
_START = np.array([2.0**-k for k in range(10, 0, -2)] + [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 31, _REACH])
_LEVELS = 52  # halvings of a panel: down to rounding
_MOST = 500  # panels of one variable that are refined at once
_MOST_PLACES = 4 * 10**6  # of a plane integral


@cache
def legendre(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [-1, 1]."""
    return np.polynomial.legendre.leggauss(points)


@cache
def trapezoidal(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Equidistant nodes for the average over a standard Gaussian: better than Gauss-Hermite near poles."""
    nodes = np.linspace(-8.2, 8.2, points)
    weights = np.exp(-nodes * nodes / 2)
    return nodes, weights / weights.sum()


@cache
def hermite(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for the average over a standard Gaussian."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    return nodes, weights / weights.sum()


def adapted(function: Function, sigma: float, breaks: Sequence[float], points: int, tolerance: float) -> np.ndarray:
    """Edges of panels on which the rule with ``points`` nodes averages a function over N(0, sigma^2).

    Args:
        function: takes x of shape (N,), returns (N,) or a stack (k, N) of functions that share the panels.
        sigma: standard deviation.
        breaks: places where the function is not smooth; they become edges.
        points: nodes per panel.
        tolerance: allowed error of a panel, relative to the average of ``|function|``.

    Returns:
        Increasing edges in units of x; panels that contribute nothing are cut off at both ends.

    Raises:
        SymresError: the function varies too fast.
    """
    cuts = np.array([b / sigma for b in breaks if abs(b) < _REACH * sigma])
    edges = np.unique(np.concatenate([-_START, [0.0], _START, cuts]))
    # a break a rounding error away from another edge would make an empty panel
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-14])]

    def sums(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nodes, weights = legendre(points)
        half = (right - left)[:, None] / 2
        t = (left + right)[:, None] / 2 + half * nodes
        values = np.atleast_2d(function(sigma * t.ravel())).reshape(-1, *t.shape)
        terms = values * (weights * half * np.exp(-t * t / 2) / np.sqrt(2 * np.pi))
        return terms.sum(axis=-1), np.abs(terms).sum(axis=-1)

    left, right = edges[:-1], edges[1:]
    value, size = sums(left, right)
    scale = np.maximum(size.sum(axis=1, keepdims=True), 1e-300)
    done: list[np.ndarray] = []
    for _ in range(_LEVELS):
        middle = (left + right) / 2
        low, high = sums(left, middle)[0], sums(middle, right)[0]
        rough = np.any(np.abs(low + high - value) > tolerance * scale, axis=0)
        done.append(left[~rough])
        if not rough.any():
            break
        if np.count_nonzero(rough) > _MOST:
            raise _too_fast()
        left, right = (
            np.concatenate([left[rough], middle[rough]]),
            np.concatenate([middle[rough], right[rough]]),
        )
        value = np.concatenate([low[:, rough], high[:, rough]], axis=1)
    else:
        done.append(left)
    edges = np.append(np.sort(np.concatenate(done)), edges[-1])
    return _merged(edges, cuts, sums, tolerance * scale) * sigma


def _too_fast() -> SymresError:
    return SymresError("quadrature", "the integrand varies too fast to be resolved", "check at a smaller kernel")


def _merged(
    edges: np.ndarray, cuts: np.ndarray, sums: Callable[..., tuple[np.ndarray, np.ndarray]], tolerance: np.ndarray
) -> np.ndarray:
    """Drop edges that are not needed: two-dimensional rules pay for every panel twice."""
    value, size = sums(edges[:-1], edges[1:])
    needed = np.flatnonzero(np.any(size > 0.01 * tolerance, axis=0))
    if needed.size == 0:
        return edges[[0, -1]]
    edges = edges[needed[0] : needed[-1] + 2]
    value = value[:, needed[0] : needed[-1] + 1]
    for round_ in range(12):
        first = np.arange(round_ % 2, len(edges) - 2, 2)  # pairs of panels (first, first + 1)
        first = first[~np.isin(edges[first + 1], cuts)]
        if first.size == 0:
            continue
        joined, _ = sums(edges[first], edges[first + 2])
        good = np.all(np.abs(joined - value[:, first] - value[:, first + 1]) <= 0.1 * tolerance, axis=0)
        if not good.any() and round_ % 2:
            break
        value[:, first[good]] = joined[:, good]
        value = np.delete(value, first[good] + 1, axis=1)
        edges = np.delete(edges, first[good] + 1)
    return edges


def resolved(function: Function, sigma: float, breaks: Sequence[float], points: int, tolerance: float) -> np.ndarray:
    """Edges for one variable of a plane integral, from slices of the integrand.

    The other variable brings factors of its own along the diagonal: the square stands for them.
    """

    def both(x: np.ndarray) -> np.ndarray:
        values = np.atleast_2d(function(x))
        with np.errstate(all="ignore"):
            return np.concatenate([values, values * values])

    return adapted(both, sigma, breaks, points, tolerance)


def average1(function: Function, sigma: float, edges: np.ndarray, points: int) -> float:
    """<f(x)> for x ~ N(0, sigma^2)."""
    nodes, weights = _composite(edges, points)
    density = np.exp(-((nodes / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))
    return float(np.sum(weights * density * function(nodes)))


def average2(
    function: Function,
    covariance: np.ndarray,
    width: float,
    edges1: np.ndarray,
    edges2: np.ndarray,
    breaks2: Sequence[float],
    points: int,
) -> float:
    """<f(x1, x2)> as nested integrals: x1, then x2 given x1.

    Args:
        function: takes two arrays that broadcast.
        covariance: 2 x 2, regular.
        width: standard deviation of x2 given x1 (given apart: the covariance may have lost its digits).
        edges1: panels that resolve the function in x1.
        edges2: panels that resolve it in x2.
        breaks2: kinks and jumps in x2, which the inner integral smears over the conditional width.
        points: nodes per panel.

    Raises:
        SymresError: the panels are too many.
    """
    sigma = np.sqrt(covariance[0, 0])
    slope = covariance[0, 1] / covariance[0, 0]
    reach = max(9.0, min(_REACH, np.abs(edges2).max() / np.sqrt(covariance[1, 1])))
    if slope and breaks2:
        smear = np.array([-8, -5, -3, -2, -1, 0, 1, 2, 3, 5, 8]) * width
        extra = ((np.asarray(breaks2)[:, None] + smear) / slope).ravel()
        edges1 = np.unique(np.concatenate([edges1, extra[(extra > edges1[0]) & (extra < edges1[-1])]]))
    x, weight = _composite(edges1, points)
    weight = weight * np.exp(-((x / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))

    centre = slope * x
    knots = np.concatenate([np.arange(-8, 9, 2.0), [-reach, reach]])
    local = centre[:, None] + width * knots
    low, high = local.min(axis=1, keepdims=True), local.max(axis=1, keepdims=True)
    bounds = np.sort(np.concatenate([local, np.clip(edges2, low, high)], axis=1), axis=1)
    left, right = bounds[:, :-1], bounds[:, 1:]
    row, column = np.nonzero(right - left > 1e-13 * width)  # clipped panels are empty
    left, right = left[row, column], right[row, column]
    if len(left) * points > _MOST_PLACES:
        raise _too_fast()

    nodes, weights = legendre(points)
    half = (right - left)[:, None] / 2
    y = (left + right)[:, None] / 2 + half * nodes
    t = (y - centre[row, None]) / width
    terms = function(x[row, None], y) * np.exp(-t * t / 2) * weights * half
    return float(np.sum(terms.sum(axis=1) * weight[row]) / (width * np.sqrt(2 * np.pi)))


def average_tensor(function: Function, factor: np.ndarray, axes: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """<f(x1..xd)> for x = factor @ (standard Gaussians) on a tensor grid: smooth functions only.

    Args:
        function: takes d arrays that broadcast.
        factor: lower triangular.
        axes: nodes and weights for the average over a standard Gaussian, for every axis.
    """
    dimension = len(axes)
    grids = [nodes.reshape([-1 if j == i else 1 for j in range(dimension)]) for i, (nodes, _) in enumerate(axes)]
    xs = [sum(factor[i, j] * grids[j] for j in range(i + 1)) for i in range(dimension)]
    values = np.broadcast_to(function(*xs), tuple(len(nodes) for nodes, _ in axes))
    for _, weights in reversed(axes):
        values = values @ weights
    return float(values)


def _composite(edges: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = legendre(points)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()
