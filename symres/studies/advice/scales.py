"""The scale of one number for which networks change by a wanted factor over their depth."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...numerics.brent import brent
from .flow import DepthFlow, Setting

LARGER = 4.0  # the kernel of the largest of many inputs over the one that is meant
TARGET = 2.0  # factor by which kernels and gradients may change by design
_KEPT = 4.0  # factor that is accepted for inputs as they are given
_LOGS = [k * math.log(10) for k in range(-10, 5)]  # of scales
_RTOL, _DIGITS = 1e-4, 3  # of a scale that is found: a factor near 2 needs no more


def largest_kernel(flow: DepthFlow, setting: Setting, depth: int, given: float | None = None) -> float:
    """The largest first kernel for which a network at a critical point K* = 0 changes by a factor of 2.

    Args:
        flow: of the layer.
        setting: its variances.
        depth: number of layers.
        given: a first kernel that is preferred as long as it changes by less than a factor of 4.
    """
    if given is not None and flow.range(setting.starting(given), depth) <= _KEPT:
        return given
    found = where_doubled(lambda kernel: flow.range(setting.starting(kernel), depth))
    return min(found or math.exp(_LOGS[0]), 1.0)


def where_doubled(range_at: Callable[[float], float]) -> float | None:
    """The largest scale up to which a range stays below ``TARGET``; None if it does not at the smallest.

    Args:
        range_at: the range as a function of the scale, 1 where that vanishes.
    """

    def excess(log_scale: float) -> float:
        found = range_at(math.exp(log_scale))
        return math.log(min(found, 1e3) / TARGET)

    above = next((i for i, log_scale in enumerate(_LOGS) if excess(log_scale) > 0), len(_LOGS))
    if above == 0:
        return None
    root = _LOGS[-1]
    if above < len(_LOGS):
        root = brent(excess, _LOGS[above - 1], _LOGS[above], rtol=_RTOL)
    return float(f"{math.exp(root):.{_DIGITS}g}")
