"""Gaussian averages of a module, or of a formula, by quadrature that knows nothing of how symres derives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...activations.activation import Activation
from ...activations.piecewise import derivative
from ..activations.agreement import evaluate, values_and_gradients
from ..activations.conversion import Conversion

# of arguments: values and slopes
Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

# standard deviations: at K = 1 squares up to exp(10*|z|) are below 1e-15 beyond the first, and a function that nearly
# vanishes nearer than that is averaged up to the second, where densities end in float64
_REACHES = (16.0, 38.0)
_BEYOND = 1e-13  # share of an average near the end of the reach
_ORDERS = (20, 32)  # nodes of a panel: the difference is the error of the lower one
_BEND = 8.0  # farther out an activation is nearly a power
_LARGEST = 1 << 10  # panels, from which on they are not halved
_CONVERGED = 1e-12


@dataclass(frozen=True)
class QuadratureValues:
    """Averages over z ~ N(0, K), each with the difference of two rules as its error.

    Args:
        squared: ``<phi(z)^2>``.
        slope: ``<phi'(z)^2>``, jumps left out.
        growth: ``d<phi(z)^2>/dK = <phi(z)^2 (z^2/K - 1)>/(2K)``, which counts jumps in.
        errors: of the three, in this order.
    """

    squared: float
    slope: float
    growth: float
    errors: tuple[float, float, float]


def module_function(source: Conversion) -> Function:
    """Values and gradients as PyTorch computes them in float64."""

    def function(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns = source.columns
        filled = np.concatenate([points, np.zeros(-len(points) % columns)]).reshape(-1, columns)
        values, slopes = values_and_gradients(source.pointwise, filled)
        found = np.zeros_like(values) if slopes is None else slopes
        return values.reshape(-1)[: len(points)], found.reshape(-1)[: len(points)]

    return function


def formula_function(phi: Activation) -> Function:
    """Values and derivatives of a formula to 30 digits."""
    slopes = type(phi.pieces)(phi.pieces.breaks, tuple(map(derivative, phi.pieces.parts)))
    return lambda points: (evaluate(phi.pieces, points), evaluate(slopes, points))


def average(function: Function, kernel: float, breaks: Sequence[float]) -> QuadratureValues:
    """Average over N(0, kernel) with Gauss-Legendre panels that end at the breakpoints.

    Args:
        function: values and slopes.
        kernel: the variance.
        breaks: where the function or its slope jump.

    Returns:
        Averages with errors; panels are halved until these are below 1e-12 relative, or no longer fall.
    """
    deviation = float(np.sqrt(kernel))
    width = min(1.0, deviation)
    reach = _REACHES[_is_far_out(function, deviation)]
    edges = _edges(reach * deviation, deviation, width, breaks)
    best, errors = _compared_rules(function, edges, deviation)
    while np.any(errors > _CONVERGED * np.abs(best)) and len(edges) <= _LARGEST:
        width /= 2
        edges = _edges(reach * deviation, deviation, width, breaks)
        finer, smaller = _compared_rules(function, edges, deviation)
        if np.all(smaller >= errors):
            break
        best, errors = finer, smaller
    (squared, slope, growth), found = best.tolist(), errors.tolist()
    return QuadratureValues(squared, slope, growth, (found[0], found[1], found[2]))


def _compared_rules(function: Function, edges: np.ndarray, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = (_rule(function, edges, order, deviation) for order in _ORDERS)
    return high, np.abs(high - low)


def _is_far_out(function: Function, deviation: float) -> bool:
    """Whether a function is so small near 0 that its squares are averaged from far out."""
    points = deviation * np.linspace(-_REACHES[0], _REACHES[0], 641)
    values, _ = function(points)
    with np.errstate(over="ignore", invalid="ignore"):
        weighed = values**2 * np.exp(-((points / deviation) ** 2) / 2)
    return bool(max(weighed[0], weighed[-1]) >= _BEYOND * np.max(weighed))


def _edges(reach: float, deviation: float, width: float, breaks: Sequence[float]) -> np.ndarray:
    """Panels of one width where activations bend, wider ones farther out, up to a standard deviation."""
    places = [0.0]
    while places[-1] < reach:
        places.append(places[-1] + width * max(1.0, min(places[-1] / _BEND, deviation)))
    inside = [b for b in breaks if abs(b) < places[-1]]
    return np.unique([*places, *(-place for place in places), *inside])


def _rule(function: Function, edges: np.ndarray, order: int, deviation: float) -> np.ndarray:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half * (1 + nodes)).reshape(-1)
    density = (half * weights).reshape(-1) * np.exp(-((points / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
    values, slopes = function(points)
    with np.errstate(over="ignore", invalid="ignore"):
        change = values**2 * ((points / deviation) ** 2 - 1) / (2 * deviation**2)
        return np.array([np.sum(density * f) for f in (values**2, slopes**2, change)])
