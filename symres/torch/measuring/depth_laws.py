"""Whether steps of the logarithm of a norm, from place to place, contradict criticality, or an exponential."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

_LEAST_UNITS = 3
_CONFIDENCE = 0.99
_LARGEST_EXPONENT = 2.5  # in size, of critical networks; it tends to 1 for tanh and to 2, from above, for elu
_NO_RATE = float(np.finfo(float).tiny)  # in the place of 0: SciPy wants an interval
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
    free, free_rate = _critical_fit(steps, positions, math.inf)
    freedom = len(steps) - 2
    scatter = free / freedom
    drift = scatter / 2
    if networks and number >= _LEAST_UNITS:
        without = np.diff(without_each(units), axis=1)
        over_networks = float((number - 1) * without.var(axis=0).mean())
        scatter, drift = max(scatter, over_networks), number * over_networks / 2
        freedom = max(freedom, number - 1)
    rate = float(spacing @ steps / (spacing @ spacing))
    exponential = float(np.square(steps - rate * spacing).sum())
    critical, _ = _critical_fit(steps, positions, drift)
    return JudgedSteps(
        against_critical=_excess(critical, free, scatter),
        against_exponential=_excess(exponential, free, scatter),
        threshold=math.nan if number < _LEAST_UNITS else float(stats.t.ppf((1 + _CONFIDENCE) / 2, freedom)),
        scatter=scatter,
        drift=drift,
        is_one_way=free_rate * rate > 0,
    )


def without_each(units: np.ndarray) -> np.ndarray:
    """Logarithms of the averages without one measurement after the other; shape as given."""
    return np.log((units.sum(axis=0) - units) / (len(units) - 1))


def _excess(misfit: float, least: float, scatter: float) -> float:
    excess = max(misfit - least, 0.0)
    return math.sqrt(excess / scatter) if scatter > 0 else (math.inf if excess > 0 else 0.0)


def _critical_fit(steps: np.ndarray, positions: np.ndarray, most: float) -> tuple[float, float]:
    """Misfit and rate of the best of the laws exp(rate*l)*(l + l0)^-exponent with at most such a rate.

    Exponents are those that occur.
    """
    bounds = np.array([most or _NO_RATE, _LARGEST_EXPONENT])
    fits = []
    for earlier in _EARLIER:
        columns = np.stack([np.diff(positions), -np.diff(np.log(positions + earlier))], axis=1)
        found = optimize.lsq_linear(columns, steps, (-bounds, bounds), method="bvls")
        fits.append((2 * float(found.cost), float(found.x[0])))
    return min(fits)
