"""Gaussian averages of a module, or of a formula, by quadrature that knows nothing of how symres derives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...activations.activation import Activation
from ...activations.piecewise import derivative
from ...check.rules.adaptive_panels import adapted, composite
from ..activations.agreement import evaluate, values_and_gradients
from ..activations.conversion import Conversion

# of arguments: values and slopes
Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_ORDERS = (20, 32)  # nodes of a panel: the difference is the error of the lower one
_CONVERGED = 1e-13  # error of a panel, as a share of the average of the absolute value


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


def average(function: Function, kernel: float, breaks: Sequence[float]) -> list[tuple[float, float]]:
    """Averages over N(0, kernel) with Gauss-Legendre panels that end at the breakpoints and adapt to the function.

    Args:
        function: values and slopes.
        kernel: the variance.
        breaks: where the function or its slope jump.

    Returns:
        ``<phi(z)^2>``, its derivative ``<phi(z)^2 (z^2/K - 1)>/(2K)`` in K, which counts jumps in, ``<phi'(z)^2>``,
        jumps left out, ``<phi(z)>`` and its derivative; each with the difference of two rules as its error.

    Raises:
        SymresError: the averages come from where the function leaves the range of doubles, or it varies too fast.
    """
    deviation = float(np.sqrt(kernel))

    def integrands(points: np.ndarray) -> np.ndarray:
        values, slopes = function(points)
        with np.errstate(over="ignore", invalid="ignore"):
            squared = values**2
            in_kernel = ((points / deviation) ** 2 - 1) / (2 * kernel)  # turns an average into its derivative
            return np.array([squared, squared * in_kernel, slopes**2, values, values * in_kernel])

    edges = adapted(integrands, deviation, breaks, _ORDERS[0], _CONVERGED)
    low, high = (_rule(integrands, edges, order, deviation) for order in _ORDERS)
    return list(zip(high.tolist(), np.abs(high - low).tolist(), strict=True))


def _rule(
    integrands: Callable[[np.ndarray], np.ndarray], edges: np.ndarray, order: int, deviation: float
) -> np.ndarray:
    points, weights = composite(edges, order)
    density = weights * np.exp(-((points / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
    return np.sum(density * integrands(points), axis=1)
