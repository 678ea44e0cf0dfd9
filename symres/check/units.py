"""Natural units of a layer: the kernels at which its activations do something, and the size of what comes out.

A comparison says nothing where the formula does not matter: at K = 0.001 a dead zone of width 1 leaves 10^-217 of any
branch, and tanh(z/1000) is a straight line up to K = 10^4. The forward equation itself is walked on a fixed set of
neurons, quantiles of a Gaussian, at kernels of all magnitudes; what enters its dense layers shows where it changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from scipy import special

from .compare import FAILURES
from .forward import Forward
from .settings import ORDINARY, Units, Values, parameters, stream

_NEURONS = 1201  # they reach 3.3 standard deviations: what lies farther out counts as absent
_GRID = np.arange(-10.0, 10.25, 0.25)  # log10 of the kernel
_STEEP = 8.0  # by how much the exponent of a spread, as a power of the kernel, may exceed its least value
_MILD = 3.0  # by how much it does so where a unit is looked for
_FALL = -1.0  # no spread falls faster for long (a bump leaves K^-1/2): the neurons are too few to see the rest
_CONSTANT = 1e-26  # spread over mean square: rounding
_LARGE = 1e150  # mean squares beyond it, or below its inverse, are left out
_SHAPELESS = 1e-4  # change of the exponent: less is a power law, which has no scale
_NOISE = 4  # power of the changes in their median: the few neurons see noise where a function oscillates
_STEP = 3  # units are powers of 1000: ordinary activations have the unit 1


class _Ruler:
    """A network of fixed neurons that notes what enters its dense layers."""

    def __init__(self) -> None:
        self.entered: list[Any] = []

    def stream(self, K: float) -> np.ndarray:
        return np.sqrt(K) * _quantiles()[None, :, None]

    def mean(self, u: Any) -> Any:
        return np.mean(u, axis=1, keepdims=True)

    def dense(self, u: Any, C_W: float, C_b: float, width: float = 1.0) -> np.ndarray:
        shuffle = np.random.default_rng(len(self.entered)).permutation(_NEURONS)
        self.entered.append(u)
        second = np.mean(np.square(u)) if np.ndim(u) else u * u
        return np.sqrt(C_b + C_W * second) * _quantiles()[None, shuffle, None]


@cache
def _quantiles() -> np.ndarray:
    """Not quite regular, or an oscillation faster than their distance would look like a slow one."""
    shift = np.random.default_rng(0).uniform(0.25, 0.75, _NEURONS)
    return special.ndtri((np.arange(_NEURONS) + shift) / _NEURONS)


def natural_units(forward: sp.Expr, free: Iterable[sp.Symbol], seed: int, given: Mapping[str, sp.Expr]) -> Units:
    """The units of a layer at generic values of its parameters.

    Args:
        forward: its forward equation.
        free: the symbols that need numbers.
        seed: of those numbers.
        given: those that the user has fixed, by name.

    Returns:
        The units; ordinary ones for a layer that cannot be walked.
    """

    def again(units: Units) -> Units:
        return measured(forward, parameters(free, stream(seed, "units"), given, units))

    try:
        found = again(ORDINARY)
        if {found.kernel, found.weight, found.bias} == {1} or again(found) == found:
            return found
    except FAILURES:
        return ORDINARY
    # where a dense layer lies before an activation, units of weights would change those of the kernel
    return replace(found, weight=sp.S.One, bias=sp.S.One)


def measured(forward: sp.Expr, values: Values) -> Units:
    """The units of a layer with numbers for its symbols."""
    spreads, squares = _walked(Forward(forward, values))
    if len(spreads) < 3:
        return ORDINARY
    exponents = np.diff(np.log10(spreads), axis=0) / np.diff(_GRID[: len(spreads)])[:, None]
    known = exponents >= _FALL
    if not known.any():
        return ORDINARY
    excess = np.max(exponents - np.min(np.where(known, exponents, np.inf), axis=0), axis=1)
    first, last = _longest(np.all(known, axis=1) & (excess <= _STEEP))
    if last - first < 2:
        return ORDINARY
    changes = np.abs(np.diff(exponents[first:last], axis=0)).max(axis=1)
    changes[np.maximum(excess[first : last - 1], excess[first + 1 : last]) > _MILD] = 0.0
    centre = float(np.clip(0.0, _GRID[first], _GRID[last]))
    if changes.max() > _SHAPELESS:
        shares = np.cumsum(changes**_NOISE)
        centre = float(np.interp(shares[-1] / 2, shares, _GRID[first + 1 : last]))
    kernel = _unit(centre)
    place = np.clip(math.log10(kernel), _GRID[first], _GRID[last])
    with np.errstate(divide="ignore"):
        square = float(np.interp(place, _GRID[: len(squares)], np.log10(squares)))
    ends = (-np.inf if first == 0 else _GRID[first], np.inf if last == len(_GRID) - 1 else _GRID[last])
    return Units(kernel, kernel / _unit(square), kernel, float(ends[0]), float(ends[1]), centre)


def _walked(forward: Forward) -> tuple[np.ndarray, np.ndarray]:
    """For each kernel, the spread of what enters each dense layer, and the mean square of what enters the last."""
    spreads, squares = [], []
    for exponent in _GRID:
        net = _Ruler()
        with np.errstate(all="ignore"):
            result = forward(net, net.stream(10.0**exponent))
            entered = [np.asarray(u, dtype=float) for u in net.entered or [result]]
            second = np.array([np.mean(u * u) for u in entered])
            spread = np.array([np.var(u) for u in entered])
        if not np.all(second < _LARGE):
            break
        # what is constant, or underflows, has no spread to speak of; if it does at every kernel, it has no say
        spreads.append(np.where((spread > _CONSTANT * second) & (second > 1 / _LARGE), spread, np.nan))
        squares.append(second[-1])
    table = np.array(spreads)
    return table[:, ~np.all(np.isnan(table), axis=0)] if len(table) else table, np.array(squares)


def _longest(good: np.ndarray) -> tuple[int, int]:
    """First and last grid point of the longest run of good intervals."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    runs = list(zip(edges[::2], edges[1::2], strict=True))
    return max(runs, key=lambda run: run[1] - run[0], default=(0, 0))


def _unit(exponent: float) -> sp.Rational:
    return sp.Integer(1000) ** round(exponent / _STEP) if np.isfinite(exponent) else sp.S.One
