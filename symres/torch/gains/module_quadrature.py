"""Gaussian averages of a module, or of a formula, by quadrature that knows nothing of how symres derives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...activations.activation import Activation
from ...activations.piecewise import derivative
from ...core.errors import SymresError
from ...numerics.gauss_rules import averages
from ..activations.agreement import evaluate, values_and_gradients
from ..activations.conversion import Conversion

# of arguments: values and slopes
Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_OTHER_PANELS = (-2.9, -1.7, -0.6, 0.7, 1.4, 2.7)  # where panels are divided for another value, with other errors


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
    """Averages over N(0, kernel).

    Args:
        function: values and slopes.
        kernel: the variance.
        breaks: where the function or its slope jump.

    Returns:
        ``<phi(z)^2>``, its derivative ``<phi(z)^2 (z^2/K - 1)>/(2K)`` in K, which counts jumps in, ``<phi'(z)^2>``,
        jumps left out, ``<phi(z)>`` and its derivative; each with its difference on other panels as its error.

    Raises:
        SymresError: the averages come from where the function leaves the range of doubles, or it varies too fast.
    """
    deviation = float(np.sqrt(kernel))
    marks = np.array(breaks, dtype=float) / deviation

    def means(power: int, has_slope: bool, is_moved: bool = False) -> list[tuple[float, float]]:
        """The average of a power of the values, or slopes; and its derivative in the kernel."""

        def integrand(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(deviation * places.ravel())[has_slope].reshape(places.shape) ** power

        moments = [lambda x: (x * x - 1) / (2 * kernel)] if is_moved else []
        found = averages(integrand, [marks, [*marks, *_OTHER_PANELS]], moments)
        return [(float(one), float(abs(one - other))) for one, other in found]

    found = [*means(2, False, True), *means(2, True), *means(1, False, True)]
    if not np.isfinite(found).all():
        why = "the integrand exceeds the range of doubles where it contributes most, or varies too fast"
        raise SymresError("quadrature in double precision", why, "take a smaller kernel")
    return found
