"""Settings of layers that have no critical point: small branches, or whatever changes kernels and gradients least."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product

import sympy as sp

from ...core.symbols import C_W, C_b, xi
from ...numerics.brent import brent
from ...numerics.deferred_numpy import np
from ...results.advice.parts import Origin
from .flow import DepthFlow, Setting

LARGER = 4.0  # the kernel of the largest of many inputs over the one that is meant
TARGET = 2.0  # factor by which kernels and gradients may change by design
_KEPT = 4.0  # factor that is accepted for inputs as they are given
_LOGS = [k * math.log(10) for k in range(-10, 5)]  # of scales
_RTOL, _SCALE_DIGITS = 1e-4, 3  # of a scale that is found: a factor near 2 needs no more
_SMALLEST = 1e-8  # weight of a branch that is a branch
_STARTS = (1.0, 0.01, 100.0)  # first kernels that are tried
_KERNELS = -2.3, 9.0, 8  # logarithms of the first kernel: in smaller ones networks are linear, and slow
_WEIGHTS = -6.0, 9.0, 9  # of C_W
_LARGEST, _LOST = 9.3, 1e3  # of a logarithm; of a range, from which on a search does not look closer
_STEPS, _DIGITS = 80, 4  # of a search, and of the numbers that it finds
_ALIKE = 6  # decimals of a cost, which floats add up over the layers


def small_branches(
    flow: DepthFlow, depth: int, fixed: Mapping[sp.Symbol, float], inputs: float | None
) -> Iterator[Setting]:
    """Settings of layers that are the identity without their branch: its weight, or C_W, is small.

    The weight of the skip is ``fixed``; ``inputs`` is the mean square of the inputs, if it is given.
    """
    free = set(flow.theory.layer.parameters) - set(fixed)
    small = xi if xi in free else C_W
    if small not in free:
        return
    others = {**fixed, **({C_b: 0.0} if C_b in free else {}), **({C_W: 1.0} if small is xi and C_W in free else {})}

    def at(scale: float, start: float | None) -> Setting:
        values = {**others, small: scale}
        first = start if start is not None else values[C_W] * (inputs or 1.0)
        return Setting(Origin.BRANCH, values, first)

    def range_at(start: float | None, scale: float) -> float:
        setting = at(scale, start)
        # inputs differ: where kernels grow faster than in proportion, those of the largest must not run away
        return max(flow.range(setting, depth), flow.range(setting.starting(LARGER * setting.kernel), depth) / LARGER)

    for number, start in enumerate([None, *_STARTS] if inputs is not None and C_W in free else _STARTS):
        scale = where_doubled(partial(range_at, start))
        if scale is not None and scale > _SMALLEST:
            yield replace(at(scale, start), note=float(number))


def least_change(flow: DepthFlow, depth: int, fixed: Mapping[sp.Symbol, float]) -> Iterator[Setting]:
    """The settings without biases whose kernels and gradients change least at infinite width."""
    free = set(flow.theory.layer.parameters) - set(fixed)
    weighted = C_W in free
    values = {**fixed, **({C_b: 0.0} if C_b in free else {}), **({xi: 1.0} if xi in free else {})}

    def setting(x: np.ndarray) -> Setting:
        kernel, weight = (float(f"{math.exp(log):.{_DIGITS}g}") for log in (x[0], x[-1]))
        chosen = {**values, C_W: weight} if weighted else values
        return Setting(Origin.SEARCH if weighted else Origin.GIVEN, chosen, kernel)

    def cost(x: np.ndarray) -> float:
        if np.abs(x).max() > _LARGEST or x[0] < _KERNELS[0]:
            return 1e3
        path = flow.path(setting(x), depth, _LOST)
        lived = sum(map(math.isfinite, path.kernels))
        return math.log(path.range) if math.isfinite(path.range) else 1e2 - lived

    from scipy.optimize import minimize  # here, because it takes longer to import than the rest of symres

    ranges = [np.linspace(*span) for span in (_KERNELS, _WEIGHTS)[: 1 + weighted]]
    grid = [np.array(x) for x in product(*ranges)]
    starts = [np.zeros_like(grid[0]), *grid]
    # of settings that are equally good, as of any C_W behind a norm, the one nearest to kernels and C_W of 1
    best = sorted(starts, key=lambda x: (round(cost(x), _ALIKE), float(x @ x)))[:2]
    for start in best if round(cost(best[0]), _ALIKE) > 0 else best[:1]:  # where nothing changes, nothing is better
        least = minimize(cost, start, method="Nelder-Mead", options={"maxfev": _STEPS, "xatol": 1e-3, "fatol": 1e-3})
        yield setting(least.x)


def largest_kernel(flow: DepthFlow, setting: Setting, depth: int, preferred: float | None = None) -> float:
    """The largest first kernel for which a network at a critical point K* = 0 changes by a factor of 2.

    A kernel that is preferred is taken as long as it changes by less than a factor of 4.
    """
    if preferred is not None and flow.range(setting.starting(preferred), depth) <= _KEPT:
        return preferred
    largest = where_doubled(lambda kernel: flow.range(setting.starting(kernel), depth))
    return min(largest or math.exp(_LOGS[0]), 1.0)


def where_doubled(range_at: Callable[[float], float]) -> float | None:
    """The largest scale up to which a range, 1 at scale 0, stays below ``TARGET``; None if not at the smallest."""

    def excess(log_scale: float) -> float:
        return math.log(min(range_at(math.exp(log_scale)), 1e3) / TARGET)

    above = next((i for i, log_scale in enumerate(_LOGS) if excess(log_scale) > 0), len(_LOGS))
    if above == 0:
        return None
    root = _LOGS[-1]
    if above < len(_LOGS):
        root = brent(excess, _LOGS[above - 1], _LOGS[above], rtol=_RTOL)
    return float(f"{math.exp(root):.{_SCALE_DIGITS}g}")
