"""Averages over two correlated Gaussian variables by nested panel rules, and what is kept of averages.

The integrand may carry its mass far from the origin: an exponential shifts it by its slope times the covariance. A
scan finds the mass first; the panels then adapt to slices through it, along the conditional laws.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.work_budget import ARRAY, spend
from .adaptive_panels import (
    REACH,
    SMALLEST_SIZE,
    TAIL_TOLERANCE,
    Function,
    adapted,
    average1,
    composite,
    legendre,
    out_of_range,
    too_fast,
)

_GRID = np.arange(-REACH, REACH) + 0.5  # standard deviations; 0, where formulas like 0*log(0) fail, is no node
_NEGLIGIBLE = 1e-19  # of the mass: less than rounding
_NARROW = 9.0  # standard deviations that are always covered
_QUANTILES = (1e-6, 0.02, 0.2, 0.5, 0.8, 0.98, 1 - 1e-6)  # of the mass: where the slices lie
_WIDE = 0.3  # of the standard deviation: in a narrower law, a difference of x1 and x2 has lost its digits
_FIXED = np.array([-1.0, -0.3, 0.3, 1.0])  # its slices then, in standard deviations
_FLOOR = 0.01  # of the largest average on the fixed slices: a much smaller one is made of rounding errors
_SMEAR = np.array([-8, -5, -3, -2, -1, 0, 1, 2, 3, 5, 8])  # conditional widths around a kink in x2
_MAX_NODES = 16 * 10**6
_CHUNK = 10**6  # of them: arrays of a few megabytes


@dataclass(frozen=True)
class _Mass:
    """Where the weighted modulus of an integrand lies, in independent standard coordinates."""

    outer: tuple[float, float]  # interval of the first variable, in standard deviations
    inner: tuple[float, float]  # interval of the second variable given the first, in conditional widths
    quantiles: np.ndarray  # of the inner coordinate


@dataclass(frozen=True)
class Plane:
    """Panels for <f(x1, x2)> as nested integrals: x1, then x2 given x1."""

    function: Function  # takes two arrays that broadcast
    sigma: float  # standard deviation of x1
    slope: float  # <x2> at x1 = 1
    width: float  # standard deviation of x2 given x1
    edges1: np.ndarray  # panels that resolve the function in x1
    edges2: np.ndarray  # panels that resolve it in x2
    knots: np.ndarray  # edges of the inner panels in conditional widths, around <x2> at x1

    def average(self, points: int) -> tuple[float, float]:
        """<f> and <|f|>, with so many points per panel.

        Raises:
            SymresError: the panels are too many, or mass lies beyond their ends.
        """
        x, weight = composite(self.edges1, points)
        density = np.exp(-((x / self.sigma) ** 2) / 2) / (self.sigma * np.sqrt(2 * np.pi))
        weight = weight * density

        centre = self.slope * x
        local = centre[:, None] + self.width * self.knots
        low, high = local[:, :1], local[:, -1:]
        bounds = np.sort(np.concatenate([local, np.clip(self.edges2, low, high)], axis=1), axis=1)
        left, right = bounds[:, :-1], bounds[:, 1:]
        row, column = np.nonzero(right - left > 1e-13 * self.width)  # clipped panels are empty
        left, right = left[row, column], right[row, column]
        if len(left) * points > _MAX_NODES:
            raise too_fast()

        nodes, weights = legendre(points)
        norm = self.width * np.sqrt(2 * np.pi)
        means, sizes = np.zeros(len(x)), np.zeros(len(x))
        step = max(_CHUNK // points, 1)
        for first in range(0, len(left), step):
            here = slice(first, first + step)
            place = row[here]
            half = (right[here] - left[here])[:, None] / 2
            y = (left[here] + right[here])[:, None] / 2 + half * nodes
            t = (y - centre[place, None]) / self.width
            spend(y.size // ARRAY)
            terms = self.function(x[place, None], y) * np.exp(-t * t / 2) * weights * half
            means += np.bincount(place, terms.sum(axis=1), len(x)) / norm
            sizes += np.bincount(place, np.abs(terms).sum(axis=1), len(x)) / norm
        value, size = float(means @ weight), float(sizes @ weight)
        if not np.isfinite(size) or (sizes * density)[[0, -1]].max() * self.sigma > TAIL_TOLERANCE * size:
            raise out_of_range()
        return value, max(size, SMALLEST_SIZE)


def plane(
    function: Function,
    covariance: np.ndarray,
    width: float,
    breaks: Sequence[Sequence[float]],
    points: int,
    tolerance: float,
    is_symmetric: bool = False,
) -> Plane:
    """Panels on which the nested rule with ``points`` nodes averages a function of two variables.

    Args:
        function: takes two arrays that broadcast.
        covariance: 2 x 2, regular.
        width: standard deviation of x2 given x1 (given apart: the covariance may have lost its digits).
        breaks: for each variable, the places where the function is not smooth.
        points: nodes per panel.
        tolerance: allowed error of a panel, relative to the average of ``|function|`` on a slice.
        is_symmetric: whether function, breaks and covariance stay the same where the variables change places.

    Raises:
        SymresError: the function varies too fast, or the average has mass that doubles do not reach.
    """
    sigma1, sigma2 = np.sqrt(np.diag(covariance))
    slope, back = covariance[0, 1] / covariance[0, 0], covariance[0, 1] / covariance[1, 1]
    narrow = width * sigma1 / sigma2  # of x1 given x2
    mass = _scanned(function, sigma1, slope, width)
    at2, floors2 = _slices(mass, width, sigma2)
    edges1 = edges2 = adapted(lambda x: function(x, slope * x + at2), sigma1, breaks[0], points, tolerance, floors2)
    if not is_symmetric:
        at1, floors1 = _slices(_scanned(lambda y, x: function(x, y), sigma2, back, narrow), narrow, sigma1)
        edges2 = adapted(lambda y: function(back * y + at1, y), sigma2, breaks[1], points, tolerance, floors1)
    low, high = mass.outer
    steps = sigma1 * _between(low, high)
    edges1 = np.concatenate([steps[steps < edges1[0]], edges1, steps[steps > edges1[-1]]])
    if slope and len(breaks[1]):  # the inner integral smears kinks and jumps in x2 over the conditional width
        extra = ((np.asarray(breaks[1])[:, None] + _SMEAR * width) / slope).ravel()
        edges1 = np.unique(np.concatenate([edges1, extra[(extra > edges1[0]) & (extra < edges1[-1])]]))
    return Plane(function, sigma1, slope, width, edges1, edges2, _between(*mass.inner))


class SharedPanels:
    """What is known of integrands that have names: equal names are equal functions with equal breaks.

    The same integrand is averaged under the same law at two resolutions and in many nets: a sequence of nearby inputs
    has one kernel, and planning panels costs many times what averaging on them does.

    Args:
        points: nodes per panel, in one and in two dimensions, that panels are planned for.
        tolerance: allowed error of a panel, in one and in two dimensions.
    """

    def __init__(self, points: tuple[int, int], tolerance: tuple[float, float]) -> None:
        self._points, self._tolerance = points, tolerance
        self._edges: dict[tuple[Hashable, float], np.ndarray] = {}
        self._averages: dict[tuple[Hashable, float, int], tuple[float, float]] = {}
        self._planes: dict[tuple[Hashable, bytes, float], Plane] = {}

    def average1(
        self, name: Hashable, function: Function, sigma: float, breaks: Sequence[float], points: int
    ) -> tuple[float, float]:
        """<f(x)> and <|f(x)|> for x ~ N(0, sigma^2), with so many nodes per panel.

        Raises:
            SymresError: the function varies too fast, or the average has mass that doubles do not reach.
        """
        if (name, sigma) not in self._edges:
            self._edges[name, sigma] = adapted(function, sigma, breaks, self._points[0], self._tolerance[0])
        if (name, sigma, points) not in self._averages:
            self._averages[name, sigma, points] = average1(function, sigma, self._edges[name, sigma], points)
        return self._averages[name, sigma, points]

    def plane(
        self,
        name: Hashable,
        function: Function,
        covariance: np.ndarray,
        width: float,
        breaks: Sequence[Sequence[float]],
        is_symmetric: bool = False,
    ) -> Plane:
        """Panels for <f(x1, x2)>, as the function ``plane`` makes them, which also says what it refuses."""
        law = name, covariance.tobytes(), width
        if law not in self._planes:
            accuracy = self._points[1], self._tolerance[1]
            self._planes[law] = plane(function, covariance, width, breaks, *accuracy, is_symmetric)
        return self._planes[law]


def _scanned(function: Function, sigma: float, slope: float, width: float) -> _Mass:
    """Find the mass on a coarse grid; what happens between its nodes is left to the panels."""
    x = sigma * _GRID[:, None]
    with np.errstate(all="ignore"):
        size = np.abs(function(x, slope * x + width * _GRID))
        finite = np.isfinite(size)
        density = np.where(finite, size, 0.0) * np.exp(-(_GRID[:, None] ** 2) / 2) * np.exp(-(_GRID**2) / 2)
    largest = density.max()
    if largest == 0:
        return _Mass((-_NARROW, _NARROW), (-_NARROW, _NARROW), np.array([]))
    density /= largest
    total = density.sum()
    lost = np.pad(~finite, 1, constant_values=True)  # beyond the grid nothing is known either
    lost = lost[:-2, 1:-1] | lost[2:, 1:-1] | lost[1:-1, :-2] | lost[1:-1, 2:]
    if density[lost].max(initial=0.0) > TAIL_TOLERANCE * total:
        raise out_of_range()
    inner = density.sum(axis=0)
    shares = (np.cumsum(inner) - inner / 2) / total
    return _Mass(_interval(density.sum(axis=1)), _interval(inner), np.interp(_QUANTILES, shares, _GRID))


def _interval(mass: np.ndarray) -> tuple[float, float]:
    there = _GRID[mass > _NEGLIGIBLE * mass.sum()]
    return min(-_NARROW, max(there[0] - 1, -REACH)), max(_NARROW, min(there[-1] + 1, REACH))


def _slices(mass: _Mass, width: float, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Distances of slices from the conditional mean, and what is small on one of them (see ``adapted``).

    On slices through the mass an error counts relative to all of the mass: a slice on its fringe, where a function
    may have lost its digits, needs few of them.
    """
    if width < _WIDE * sigma or not mass.quantiles.size:
        return _FIXED[:, None] * sigma, np.full((len(_FIXED), len(_FIXED)), _FLOOR)
    exponents = mass.quantiles**2 / 2
    return (width * mass.quantiles)[:, None], np.exp(np.minimum(exponents[:, None] - exponents, 600.0))


def _between(low: float, high: float) -> np.ndarray:
    """An interval in panels of two standard deviations."""
    even = np.arange(-REACH, REACH + 1, 2)
    return np.concatenate([[low], even[(even > low) & (even < high)], [high]])
