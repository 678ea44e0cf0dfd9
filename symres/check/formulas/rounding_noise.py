"""The error of a formula that is evaluated in double precision: asin(tanh(20)) has half of its digits.

Two resolutions of a rule share this error, so it must be measured apart: on a few nodes, against 30 digits.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np

from .numeric_formula import NumericFunction

ORDINARY = 1e-15  # relative error of every evaluation, for which the rules account
_DIGITS = 30
_LINE = np.linspace(-12.0, 12.0, 96)  # standard deviations: growing functions have their mass far out
_PLANE = np.linspace(-8.0, 8.0, 20)


def of_square(function: NumericFunction, centre: float, sigma: float) -> float:
    """Estimate the relative error of <f(x)^2>, x ~ N(centre, sigma^2), that comes from evaluating f in doubles."""
    weights = np.exp(-(_LINE**2) / 2)
    nodes = centre + sigma * _LINE
    return 2 * _relative(function(nodes), lambda i: function.precise(mp.mpf(nodes[i])), weights, square=True)


def of_average(function: Callable[..., np.ndarray], precise: Callable[..., mp.mpf], factor: np.ndarray) -> float:
    """Estimate the relative error of <|f(x1, x2)|> that comes from evaluating f in doubles.

    Args:
        function: takes two arrays.
        precise: takes two numbers of mpmath.
        factor: lower triangular; x = factor @ (standard Gaussians).
    """
    s, t = (grid.ravel() for grid in np.meshgrid(_PLANE, _PLANE))
    x, y = factor[0, 0] * s, factor[1, 0] * s + factor[1, 1] * t
    weights = np.exp(-(s * s + t * t) / 2)
    return _relative(function(x, y), lambda i: precise(mp.mpf(x[i]), mp.mpf(y[i])), weights, square=False)


def _relative(values: np.ndarray, precise: Callable[[int], mp.mpf], weights: np.ndarray, square: bool) -> float:
    """Average of the errors (times the modulus, for a square) over the average of the modulus (or square)."""
    lost, total = mp.mpf(0), mp.mpf(0)
    with mp.workdps(_DIGITS):
        for i in np.flatnonzero(np.isfinite(values)):
            true = precise(int(i))
            if not isinstance(true, mp.mpf | int | float) or not mp.isfinite(true):
                continue
            size = abs(true)
            lost += weights[i] * abs(mp.mpf(values[i]) - true) * (size if square else 1)
            total += weights[i] * size * (size if square else 1)
        return float(min(lost / total, mp.mpf(1))) if total else 0.0
