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
_HALVED, _HALVINGS = 6, 4  # intervals of the line between nodes, those that lose most, and how often
_PLANE = np.linspace(-8.0, 8.0, 20)


def of_square(function: NumericFunction, centre: float, sigma: float) -> float:
    """Estimate the relative error of <f(x)^2>, x ~ N(centre, sigma^2), that comes from evaluating f in doubles."""

    def losses_and_squares(offsets: np.ndarray) -> np.ndarray:
        nodes = centre + sigma * offsets
        errors, sizes = _errors_and_sizes(function(nodes), lambda i: function.precise(mp.mpf(nodes[i])))
        return np.array([2 * errors * sizes, sizes * sizes]) * np.exp(-(offsets**2) / 2)

    offsets = _LINE
    terms = losses_and_squares(offsets)
    for _ in range(_HALVINGS):  # acos(tanh(pi^(3*z))) loses its digits within 0.1, and keeps them elsewhere
        losses = np.maximum(terms[0, 1:], terms[0, :-1]) * np.diff(offsets)
        worst = np.argsort(losses)[-_HALVED:]
        middles = (offsets[worst] + offsets[worst + 1]) / 2
        order = np.argsort(np.append(offsets, middles))
        terms = np.concatenate([terms, losses_and_squares(middles)], axis=1)[:, order]
        offsets = np.append(offsets, middles)[order]
    return _share(*(terms @ np.gradient(offsets)))


def of_average(function: Callable[..., np.ndarray], precise: Callable[..., mp.mpf], factor: np.ndarray) -> float:
    """Estimate the relative error of <|f(x1, x2)|> that comes from evaluating f in doubles.

    For x = factor @ (standard Gaussians) with a lower triangular factor; ``precise`` is f in mpmath.
    """
    s, t = (grid.ravel() for grid in np.meshgrid(_PLANE, _PLANE))
    x, y = factor[0, 0] * s, factor[1, 0] * s + factor[1, 1] * t
    weights = np.exp(-(s * s + t * t) / 2)
    errors, sizes = _errors_and_sizes(function(x, y), lambda i: precise(mp.mpf(x[i]), mp.mpf(y[i])))
    return _share(errors @ weights, sizes @ weights)


def _errors_and_sizes(values: np.ndarray, precise: Callable[[int], mp.mpf]) -> tuple[np.ndarray, np.ndarray]:
    """The errors of values and the moduli of the true ones, in mpmath; 0 where either is not a finite number."""
    errors, sizes = (np.array([mp.mpf(0)] * len(values)) for _ in range(2))
    with mp.workdps(_DIGITS):
        for i in np.flatnonzero(np.isfinite(values)):
            true = precise(int(i))
            if isinstance(true, mp.mpf | int | float) and mp.isfinite(true):
                errors[i], sizes[i] = abs(mp.mpf(values[i]) - true), abs(true)
    return errors, sizes


def _share(lost: mp.mpf, total: mp.mpf) -> float:
    return float(min(lost / total, mp.mpf(1))) if total else 0.0
