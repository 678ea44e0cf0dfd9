"""The scale of the weights at which a network is critical, found by measuring."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from .last_block import Chi, Trial, chi_of_last_block

_STEP = 0.1  # of log sigma_w, for the slope
_FINE = 0.2  # of a standard error: log chi_J is 0


@dataclass(frozen=True)
class CriticalWeight:
    """Where chi_J is 1.

    Args:
        sigma_w: the scale of weights.
        error: its standard error, from that of chi_J and the slope.
        slope: d log chi_J/d log sigma_w there.
        tried: scales in increasing order.
        chis: chi_J of each.
        fresh: chi_J at ``sigma_w``, of networks that the search has not seen.
    """

    sigma_w: float
    error: float
    slope: float
    tried: tuple[float, ...]
    chis: tuple[Chi, ...]
    fresh: Chi


def find_critical(
    build: Callable[[float], nn.Module], trial: Trial, low: float, high: float, rounds: int = 10
) -> CriticalWeight:
    """Turn sigma_w until chi_J of the last block is 1.

    Every scale is tried with the same random numbers, so that chi_J is a smooth function of it.

    Args:
        build: draws a network with weights of this scale.
        trial: how chi_J is measured.
        low: chi_J is on one side of 1 here,
        high: and on the other side here.
        rounds: most scales that are tried between them.

    Raises:
        ValueError: chi_J is on the same side of 1 at both ends, or no positive number; or the range is
            none.
    """
    if not 0 < low < high:
        raise ValueError(f"sigma_w from {low} to {high}: it is no range of scales; take 0 < low < high")
    found: dict[float, Chi] = {}

    def log_chi(sigma_w: float) -> float:
        if sigma_w not in found:
            found[sigma_w] = chi_of_last_block(lambda: build(sigma_w), trial)
        value = found[sigma_w].value
        if not 0 < value < math.inf:
            raise ValueError(f"sigma_w = {sigma_w:g}: chi_J is {value}, no positive number; take another range")
        return math.log(value)

    ends = [[math.log(low), log_chi(low)], [math.log(high), log_chi(high)]]
    if ends[0][1] * ends[1][1] > 0:
        values = f"{found[low].value:.4g} and {found[high].value:.4g}"
        raise ValueError(f"sigma_w from {low} to {high}: chi_J is {values}, on one side of 1; take another range")
    middle, kept = ends[0][0], -1
    for _ in range(rounds):  # false position; an end that stays counts half (Illinois)
        (x0, y0), (x1, y1) = ends
        middle = (x0 * y1 - x1 * y0) / (y1 - y0)
        value = log_chi(math.exp(middle))
        chi = found[math.exp(middle)]
        if abs(value) <= _FINE * chi.error / chi.value:
            break
        side = 0 if value * y0 > 0 else 1
        ends[side] = [middle, value]
        if kept == side:
            ends[1 - side][1] /= 2
        kept = side
    critical = math.exp(middle)
    slope = (log_chi(math.exp(middle + _STEP)) - log_chi(math.exp(middle - _STEP))) / (2 * _STEP)
    chi = found[critical]
    fresh = chi_of_last_block(lambda: build(critical), trial, seed=trial.networks)
    error = critical * math.hypot(math.log(chi.value), chi.error / chi.value) / abs(slope)
    tried = tuple(sorted(found))
    return CriticalWeight(critical, error, slope, tried, tuple(found[s] for s in tried), fresh)
