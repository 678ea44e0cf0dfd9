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

_REACH = 16.0  # standard deviations; at K = 1 squares up to exp(10*|z|) are below 1e-15 beyond
_ORDERS = (20, 32)  # nodes of a panel: the difference is the error of the lower one
_LARGEST = 1 << 12  # panels
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
    width, best = min(1.0, deviation), None
    while 2 * _REACH * deviation / width <= _LARGEST:
        edges = _edges(_REACH * deviation, width, breaks)
        low, high = (_rule(function, edges, order, deviation) for order in _ORDERS)
        error = np.abs(high - low)
        if best is not None and np.all(error >= best[1]):
            break
        best = high, error
        if np.all(error <= _CONVERGED * np.abs(high)):
            break
        width /= 2
    assert best is not None
    (squared, slope, growth), errors = (row.tolist() for row in best)
    return QuadratureValues(squared, slope, growth, (errors[0], errors[1], errors[2]))


def _edges(reach: float, width: float, breaks: Sequence[float]) -> np.ndarray:
    count = max(2, int(np.ceil(2 * reach / width)))
    inside = [b for b in breaks if abs(b) < reach]
    return np.unique(np.concatenate([np.linspace(-reach, reach, count + 1), inside]))


def _rule(function: Function, edges: np.ndarray, order: int, deviation: float) -> np.ndarray:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half * (1 + nodes)).reshape(-1)
    density = (half * weights).reshape(-1) * np.exp(-((points / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
    values, slopes = function(points)
    with np.errstate(over="ignore", invalid="ignore"):
        change = values**2 * ((points / deviation) ** 2 - 1) / (2 * deviation**2)
        return np.array([np.sum(density * f) for f in (values**2, slopes**2, change)])
