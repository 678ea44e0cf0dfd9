"""From the samples of networks, inputs and probes to averages with standard errors."""

from __future__ import annotations

import math

import numpy as np

from ...results.annotated_numbers import EstimatedNumber


def average(samples: np.ndarray) -> EstimatedNumber:
    """The average over networks, inputs and probes with its standard error.

    Args:
        samples: shape (networks, inputs) or (networks, inputs, probes).

    Returns:
        The error is the standard error over networks if there are several, else over inputs, else over probes; but
        never less than the scatter of the probes alone allows. nan where a single number has been measured.
    """
    values = samples.astype(float).reshape(*samples.shape[:2], -1)
    networks, inputs, probes = values.shape
    if not np.all(np.isfinite(values)):
        return EstimatedNumber(float(values.mean()) if not np.any(np.isnan(values)) else math.nan, math.nan)
    errors = []
    if networks > 1:
        errors.append(_standard_error(values.mean(axis=(1, 2))))
    elif inputs > 1:
        errors.append(_standard_error(values.mean(axis=2)[0]))
    if probes > 1:
        errors.append(error_of_directions(values))
    return EstimatedNumber(float(values.mean()), max(errors, default=math.nan))


def error_of_directions(samples: np.ndarray) -> float:
    """The part of the error of an average that random directions have in it; nan where there was one for each input.

    Args:
        samples: shape (networks, inputs, probes).
    """
    if samples.shape[2] < 2:
        return math.nan
    return float(np.sqrt(samples.astype(float).var(axis=2, ddof=1).mean() / samples.size))


def average_of_pairs(samples: np.ndarray) -> EstimatedNumber:
    """The average over networks and over pairs of different inputs.

    Args:
        samples: shape (networks, inputs, inputs); nan for pairs that were not compared.

    Returns:
        The error is that over networks, or else that of leaving out one input after the other (jackknife), because
        pairs that share an input are not independent. nan where there are fewer than three inputs.
    """
    values = samples.astype(float).copy()
    networks, inputs, _ = values.shape
    values[:, np.arange(inputs), np.arange(inputs)] = np.nan
    known = ~np.isnan(values)
    if not known.any():
        return EstimatedNumber(math.nan, math.nan)
    values = np.where(known, values, 0.0)
    sums, counts = values.sum(axis=(1, 2)), known.sum(axis=(1, 2))
    if not counts.all():
        return EstimatedNumber(math.nan, math.nan)
    means = sums / counts
    if networks > 1:
        return EstimatedNumber(float(means.mean()), _standard_error(means))
    left = counts[0] - 2 * known[0].sum(axis=1)
    if inputs < 3 or not left.all():
        return EstimatedNumber(float(means[0]), math.nan)
    without = (sums[0] - 2 * values[0].sum(axis=1)) / left
    return EstimatedNumber(float(means[0]), jackknife_error(without))


def root_of_sums(samples: np.ndarray) -> EstimatedNumber:
    """The norm whose square is the sum over the inputs, averaged over networks.

    Args:
        samples: squares, shape (networks, inputs).

    Returns:
        The error over networks, or else what the scatter of the inputs makes of it; nan with a single number.
    """
    networks, inputs = samples.shape
    norms = np.sqrt(samples.sum(axis=1))
    if networks > 1:
        return EstimatedNumber(float(norms.mean()), _standard_error(norms))
    if inputs < 2 or not norms[0] > 0:
        return EstimatedNumber(float(norms[0]), math.nan)
    return EstimatedNumber(float(norms[0]), float(inputs * _standard_error(samples[0]) / (2 * norms[0])))


def units_of(samples: np.ndarray) -> np.ndarray:
    """Independent measurements of the same: of networks if there are several, else of inputs, else of probes."""
    values = samples.reshape(*samples.shape[:2], -1)
    if values.shape[0] > 1:
        return values.mean(axis=(1, 2))
    return values[0].mean(axis=1) if values.shape[1] > 1 else values[0, 0]


def jackknife_error(without: np.ndarray) -> float:
    """The standard error of an average from its values without one unit after the other (first axis)."""
    count = len(without)
    return float(np.sqrt((count - 1) / count * np.square(without - without.mean()).sum()))


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values)))
