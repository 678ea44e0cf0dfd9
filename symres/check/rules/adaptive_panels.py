"""Gaussian averages by composite Gauss-Legendre rules on panels that adapt to the integrand.

Gauss-Hermite rules are useless here: a kink costs them all digits, and a function with a feature of size 1 under a
Gaussian of width 10 most of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ...core.errors import SymresError
from ...core.work_budget import ARRAY, spend

Function = Callable[..., np.ndarray]

REACH = 38.0  # standard deviations; beyond, the Gaussian weight underflows
_START = np.array([2.0**-k for k in range(10, 0, -2)] + [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 31, REACH])
_PROBES = np.arange(1.0, REACH + 1)  # where the range of doubles is probed
_ROUNDING = 1e-14  # relative; measured deviations from closed forms of order 1 stay below 2e-15
# an average of a smaller size has lost digits below the range of doubles, however exact the rule is
SMALLEST_SIZE = float(np.finfo(float).tiny) / _ROUNDING
TAIL_TOLERANCE = 1e-13  # share of the average of |function| that may lie beyond the ends
_LEVELS = 52  # halvings of a panel: down to rounding
_MAX_REFINED = 500  # panels of one variable that are refined at once


@cache
def legendre(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [-1, 1]."""
    return np.polynomial.legendre.leggauss(points)


@cache
def trapezoidal(points: int, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Equidistant nodes for the average over a standard Gaussian: better than Gauss-Hermite near poles."""
    nodes = np.linspace(-reach, reach, points)
    weights = np.exp(-nodes * nodes / 2)
    return nodes, weights / weights.sum()


@cache
def hermite(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for the average over a standard Gaussian."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    return nodes, weights / weights.sum()


def adapted(
    function: Function,
    sigma: float,
    breaks: Sequence[float],
    points: int,
    tolerance: float,
    floors: np.ndarray | None = None,
) -> np.ndarray:
    """Edges of panels on which the rule with ``points`` nodes averages a function over N(0, sigma^2).

    Args:
        function: takes x of shape (N,), returns (N,) or a stack (k, N) of functions that share the panels.
        sigma: standard deviation.
        breaks: places where the function is not smooth; they become edges.
        points: nodes per panel.
        tolerance: allowed error of a panel, relative to the average of ``|function|``.
        floors: (k, k), for a stack: function i is resolved relative to the largest over j of floors[i, j] times the
            average of function j, where this is more than its own.

    Returns:
        Increasing edges in units of x; panels that contribute nothing are cut off at both ends.

    Raises:
        SymresError: the function varies too fast, or its average has mass where it leaves the range of doubles.
    """
    first, last = -_finite_reach(function, -sigma), _finite_reach(function, sigma)
    cuts = np.array([b / sigma for b in breaks if first < b / sigma < last])
    edges = np.unique(np.clip(np.concatenate([-_START, [0.0], _START, cuts]), first, last))
    # a break a rounding error away from another edge would make an empty panel
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-14])]

    def sums(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nodes, weights = legendre(points)
        half = (right - left)[:, None] / 2
        t = (left + right)[:, None] / 2 + half * nodes
        spend(t.size // ARRAY)
        values = np.atleast_2d(function(sigma * t.ravel())).reshape(-1, *t.shape)
        terms = values * (weights * half * np.exp(-t * t / 2) / np.sqrt(2 * np.pi))
        return terms.sum(axis=-1), np.abs(terms).sum(axis=-1)

    left, right = edges[:-1], edges[1:]
    value, size = sums(left, right)
    scale = np.maximum(size.sum(axis=1, keepdims=True), 1e-300)
    if floors is not None:
        scale = np.maximum(scale, (floors * scale.T).max(axis=1, keepdims=True))
    ends = np.abs(np.atleast_2d(function(sigma * edges[[0, -1]]))) * np.exp(-(edges[[0, -1]] ** 2) / 2)
    if not np.all(np.isfinite(scale)) or np.any(ends > TAIL_TOLERANCE * scale):
        raise out_of_range()
    done: list[np.ndarray] = []
    for _ in range(_LEVELS):
        middle = (left + right) / 2
        low, high = sums(left, middle)[0], sums(middle, right)[0]
        rough = np.any(np.abs(low + high - value) > tolerance * scale, axis=0)
        done.append(left[~rough])
        if not rough.any():
            break
        if np.count_nonzero(rough) > _MAX_REFINED:
            raise too_fast()
        left, right = (np.concatenate([left[rough], middle[rough]]), np.concatenate([middle[rough], right[rough]]))
        value = np.concatenate([low[:, rough], high[:, rough]], axis=1)
    else:
        done.append(left)
    edges = np.append(np.sort(np.concatenate(done)), edges[-1])
    return _merged(edges, cuts, sums, tolerance * scale) * sigma


def _finite_reach(function: Function, sigma: float) -> float:
    """How many standard deviations out, on the side of the sign of sigma, the function stays finite."""
    finite = np.isfinite(np.atleast_2d(function(sigma * _PROBES))).all(axis=0)
    if not finite[0]:
        raise out_of_range()
    return float(_PROBES[-1] if finite.all() else _PROBES[np.argmin(finite) - 1])


def out_of_range() -> SymresError:
    """The mass of an average lies where doubles or the rules do not reach."""
    found = "the integrand exceeds the range of doubles where it contributes most"
    return SymresError("quadrature in double precision", found, "check at a smaller kernel")


def too_fast() -> SymresError:
    """No affordable panels resolve the integrand."""
    found = "the integrand varies too fast, or loses its digits to rounding"
    return SymresError("quadrature", found, "try another seed, which draws other kernels")


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
    is_cut = np.isin(edges, cuts)
    for round_ in range(12):
        first = np.arange(round_ % 2, len(edges) - 2, 2)  # pairs of panels (first, first + 1)
        first = first[~is_cut[first + 1]]
        if first.size == 0:
            continue
        joined, _ = sums(edges[first], edges[first + 2])
        good = np.all(np.abs(joined - value[:, first] - value[:, first + 1]) <= 0.1 * tolerance, axis=0)
        if not good.any() and round_ % 2:
            break
        value[:, first[good]] = joined[:, good]
        kept = np.ones(len(edges), dtype=bool)
        kept[first[good] + 1] = False
        value, edges, is_cut = value[:, kept[:-1]], edges[kept], is_cut[kept]
    return edges


def average1(function: Function, sigma: float, edges: np.ndarray, points: int) -> tuple[float, float]:
    """<f(x)> and <|f(x)|> for x ~ N(0, sigma^2); of the latter at least what rounding below the range makes it."""
    nodes, weights = composite(edges, points)
    density = np.exp(-((nodes / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))
    terms = weights * density * function(nodes)
    size = float(np.sum(np.abs(terms)))
    if not np.isfinite(size):
        raise out_of_range()
    return float(np.sum(terms)), max(size, SMALLEST_SIZE)


def rounding(size: float) -> float:
    """The rounding error of an average of some size: a few units, more where its exponent is large."""
    return _ROUNDING * size * (1 + abs(float(np.log(size))) / 30) if size else 0.0


def average_tensor(
    function: Function, factor: np.ndarray, axes: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[float, float]:
    """<f(x1..xd)> and <|f|> for x = factor @ (standard Gaussians) on a tensor grid: smooth functions only.

    ``f`` takes d arrays that broadcast, the factor is lower triangular, axes are nodes and weights of the average
    over a standard Gaussian.
    """
    dimension = len(axes)
    grids = [nodes.reshape([-1 if j == i else 1 for j in range(dimension)]) for i, (nodes, _) in enumerate(axes)]
    xs = [sum(factor[i, j] * grids[j] for j in range(i + 1)) for i in range(dimension)]
    values = np.broadcast_to(function(*xs), tuple(len(nodes) for nodes, _ in axes))
    sizes = np.abs(values)
    for _, weights in reversed(axes):
        values, sizes = values @ weights, sizes @ weights
    return float(values), max(float(sizes), SMALLEST_SIZE)


def composite(edges: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a Gauss-Legendre rule on every panel."""
    nodes, weights = legendre(points)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()
