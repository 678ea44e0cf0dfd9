"""Whether steps of the logarithm of a norm, from place to place, contradict criticality, or an exponential."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

_LEAST_UNITS = 3
_CONFIDENCE = 0.99
_LARGEST_EXPONENT = 2.5  # in size, of critical networks; it tends to 1 for tanh and to 2, from above, for elu
_EARLIER = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # layers that a small first kernel acts like


@dataclass(frozen=True)
class JudgedSteps:
    """What steps of log J say about the two laws.

    Args:
        against_critical: root of what the misfit of the best critical law exceeds that of a free fit by, in errors.
        against_exponential: likewise, of a constant step.
        threshold: errors that contradict a law; nan with fewer than three measurements.
        scatter: variance of a step of the average.
        drift: rate that networks of finite width may have at criticality, half the variance of a step of one of them.
        is_one_way: whether the rate has the same sign alone and beside a power law.
    """

    against_critical: float
    against_exponential: float
    threshold: float
    scatter: float
    drift: float
    is_one_way: bool


@dataclass(frozen=True)
class _Fit:
    misfit: float
    rate: float


def judge_steps(units: np.ndarray, positions: np.ndarray, networks: bool) -> JudgedSteps:
    """Compare the steps of an average with both laws.

    Args:
        units: positive numbers, shape (independent measurements, places).
        positions: of the places, ascending.
        networks: whether measurements are of different networks; those of one network share its weights, and then
            only the scatter of steps along the places tells how networks differ.

    Returns:
        The judgement. The variance of a step is the larger one of two estimates: around the free fit, and over
        networks.
    """
    number, steps, spacing = len(units), np.diff(np.log(units.mean(axis=0))), np.diff(positions)
    free = _critical_fit(steps, positions, math.inf)
    freedom = len(steps) - 2
    scatter = free.misfit / freedom
    drift = scatter / 2
    if networks and number >= _LEAST_UNITS:
        without = np.diff(without_each(units), axis=1)
        over_networks = float((number - 1) * without.var(axis=0).mean())
        scatter, drift = max(scatter, over_networks), number * over_networks / 2
        freedom = max(freedom, number - 1)
    rate = float(spacing @ steps / (spacing @ spacing))
    exponential = float(np.square(steps - rate * spacing).sum())
    critical = _critical_fit(steps, positions, drift)
    return JudgedSteps(
        against_critical=_excess(critical.misfit, free.misfit, scatter),
        against_exponential=_excess(exponential, free.misfit, scatter),
        threshold=math.nan if number < _LEAST_UNITS else float(stats.t.ppf((1 + _CONFIDENCE) / 2, freedom)),
        scatter=scatter,
        drift=drift,
        is_one_way=free.rate * rate > 0,
    )


def without_each(units: np.ndarray) -> np.ndarray:
    """Logarithms of the averages without one measurement after the other; shape as given."""
    return np.log((units.sum(axis=0) - units) / (len(units) - 1))


def _excess(misfit: float, least: float, scatter: float) -> float:
    excess = max(misfit - least, 0.0)
    return math.sqrt(excess / scatter) if scatter > 0 else (math.inf if excess > 0 else 0.0)


def _critical_fit(steps: np.ndarray, positions: np.ndarray, most: float) -> _Fit:
    """The best of the laws exp(rate*l)*(l + l0)^-exponent with at most such a rate, and exponents that occur."""
    return min(
        (_bounded_fit(steps, np.diff(positions), -np.diff(np.log(positions + earlier)), most) for earlier in _EARLIER),
        key=lambda fit: fit.misfit,
    )


def _bounded_fit(steps: np.ndarray, spacing: np.ndarray, falling: np.ndarray, most: float) -> _Fit:
    """Least squares for two coefficients in a rectangle: the free minimum if it is inside, else one on an edge."""
    columns = np.stack([spacing, falling], axis=1)
    bounds = np.array([most, _LARGEST_EXPONENT])
    found = [np.linalg.lstsq(columns, steps, rcond=None)[0]]
    if np.any(np.abs(found[0]) > bounds):
        found = []
        for fixed, other in ((0, 1), (1, 0)):
            for value in {-bounds[fixed], bounds[fixed]} if math.isfinite(bounds[fixed]) else ():
                pair = np.empty(2)
                rest = steps - value * columns[:, fixed]
                best = columns[:, other] @ rest / (columns[:, other] @ columns[:, other])
                pair[fixed], pair[other] = value, np.clip(best, -bounds[other], bounds[other])
                found.append(pair)
    fits = [_Fit(float(np.square(steps - columns @ pair).sum()), float(pair[0])) for pair in found]
    return min(fits, key=lambda fit: fit.misfit)
