"""Natural units of a layer: the kernels at which its activations do something, and the size of what comes out.

A comparison says nothing where the formula does not matter: at K = 0.001 a dead zone of width 1 leaves 10^-217 of any
branch, and tanh(z/1000) is a straight line up to K = 10^4. The forward equation itself is walked on a fixed set of
neurons, quantiles of a Gaussian, at kernels of all magnitudes; what enters its dense layers shows where it changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

from ..formulas.numeric_formula import Elementwise, NumericFunction
from ..nets.forward_walk import Forward
from ..nets.gram_net import GramNet, Neurons
from ..nets.one_position import OnePosition
from ..sampling.random_points import ORDINARY, Units, parameters, stream
from .comparison import FAILURES

_NEURONS = 1201  # they reach 3.3 standard deviations: what lies farther out counts as absent
_RULERS = 4  # sets of neurons; an oscillation faster than their distance changes each in its own way
_COMMON = 20  # neurons on either side that all sets share: where a function grows, few of them make up the average
_GRID = np.arange(-10.0, 10.25, 0.25)  # log10 of the kernel
_STEEP = 8.0  # by how much the exponent of a spread, as a power of the kernel, may exceed its least value
_MILD = 3.0  # by how much it does so where a unit is looked for
_FALL = -1.0  # no spread falls faster for long (a bump leaves K^-1/2): the neurons are too few to see the rest
_APART = 1.0  # by how much the rulers' exponents may differ
_CONSTANT = 1e-26  # spread over mean square: rounding
_LARGE = 1e150  # mean squares beyond it, or below its inverse, are left out
_SHAPELESS = 1e-4  # change of the exponent: less is a power law, which has no scale
_WATCHED = slice(60, None, 180)  # neurons at which the functions are also evaluated precisely
_DIGITS = 40
_ROUNDED = 0.01  # of a function's root mean square spread may be rounding
_COMPARABLE = 0.5  # of the largest change: of such places the one nearest to K = 1 counts
_ABOUT = 1.5  # decades around it that are one change
_NOISE = 4  # power of the changes in their median: single steps of the grid see noise
_ORDINARY = {"kernel": 2.0, "weight": 1.0}  # decades around 1 that are no reason for another unit


class _Watched(np.ndarray, Elementwise):
    """Neurons that notice where a function of them is lost in its own rounding errors."""

    lost: list[bool]

    def __array_finalize__(self, other: np.ndarray | None) -> None:
        self.lost = other.lost if isinstance(other, _Watched) else []

    def apply(self, function: NumericFunction) -> _Watched:
        values = function(np.asarray(self))
        seen = values[0, _WATCHED, 0]
        with mp.workdps(_DIGITS):
            precise = [function.precise(mp.mpf(u)) for u in np.asarray(self)[0, _WATCHED, 0]]
            errors = [float(v - p) if isinstance(p, mp.mpf) else np.nan for v, p in zip(seen, precise, strict=True)]
        size = np.sqrt(np.var(values))
        self.lost.append(bool(np.nanmax(np.abs(errors), initial=0.0) > _ROUNDED * size))
        watched = values.view(_Watched)
        watched.lost = self.lost
        return watched


class _Ruler(OnePosition[Any]):
    """A network of fixed neurons that notes what enters its dense layers.

    Args:
        number: of the set of neurons.
        watched: whether functions are compared with precise ones.
    """

    def __init__(self, number: int, watched: bool = False) -> None:
        self.entered: list[np.ndarray | float] = []
        self._number = number
        self.lost: list[bool] | None = [] if watched else None

    def stream(self, K: float) -> np.ndarray:
        return self._neurons(np.sqrt(K) * _quantiles(self._number)[None, :, None])

    def _neurons(self, u: np.ndarray) -> np.ndarray:
        if self.lost is None:
            return u
        watched = u.view(_Watched)
        watched.lost = self.lost
        return watched

    def mean(self, u: np.ndarray | float) -> np.ndarray:
        return np.mean(u, axis=1, keepdims=True)

    def batch(self, u: np.ndarray | float) -> np.ndarray:
        # inputs that share nothing: their neurons at one place are like all neurons of one of them
        return self.mean(u)

    def dense(self, u: np.ndarray | float, C_W: float, C_b: float, width: float = 1.0) -> np.ndarray:
        shuffle = np.random.default_rng(len(self.entered)).permutation(_NEURONS)
        self.entered.append(u)
        second = np.mean(np.square(u)) if np.ndim(u) else u * u
        return self._neurons(np.sqrt(C_b + C_W * np.asarray(second)) * _quantiles(self._number)[None, shuffle, None])


@cache
def _quantiles(number: int) -> np.ndarray:
    """Not regular, or an oscillation faster than their distance would look like a slow one."""
    shift = np.random.default_rng(0).uniform(0.25, 0.75, _NEURONS)
    inner = slice(_COMMON, -_COMMON)
    shift[inner] = np.random.default_rng(number).uniform(0.0, 1.0, _NEURONS)[inner]
    return np.array(list(map(NormalDist().inv_cdf, (np.arange(_NEURONS) + shift) / _NEURONS)))


def natural_units(forward: sp.Expr, free: Iterable[sp.Symbol], seed: int, fixed: Mapping[str, sp.Expr]) -> Units:
    """The units of a layer at generic values of its parameters. They are ordinary for a layer that cannot be walked.

    ``free`` are the symbols that need numbers, ``fixed`` the numbers of those that the user has fixed, by name.
    """

    def again(units: Units) -> Units:
        return measured(forward, tuple(parameters(free, stream(seed, "units"), fixed, units).items()))

    try:
        natural = again(ORDINARY)
        if {natural.kernel, natural.weight, natural.bias} == {1} or again(natural) == natural:
            return natural
    except FAILURES:
        return ORDINARY
    # where a dense layer lies before an activation, units of weights would change those of the kernel
    return replace(natural, weight=sp.S.One, bias=sp.S.One)


@lru_cache(maxsize=512)
def measured(forward: sp.Expr, values: tuple[tuple[sp.Symbol, sp.Expr], ...]) -> Units:
    """The units of a layer with numbers for its symbols."""
    spreads, squares = _walked(Forward(forward, dict(values)))
    if len(squares) < 3:
        return ORDINARY
    # (rulers, steps of the grid, dense layers)
    exponents = np.diff(np.log10(spreads), axis=1) / np.diff(_GRID[: len(squares)])[:, None]
    usable = (exponents.min(axis=0) >= _FALL) & (np.ptp(exponents, axis=0) <= _APART)
    if not usable.any():
        return ORDINARY
    least = np.min(np.where(usable, exponents[0], np.inf), axis=0)
    excess = np.max(exponents[0] - least, axis=1)
    # the longest run of good intervals of the grid
    good = np.all(usable, axis=1) & (excess <= _STEEP)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    first, last = max(zip(edges[::2], edges[1::2], strict=True), key=lambda run: run[1] - run[0], default=(0, 0))
    if last - first < 2:
        return ORDINARY
    # by how much the exponents change from one step of the grid to the next, as far as all rulers agree
    steps = np.diff(exponents[:, first:last], axis=1)
    agreed = np.abs(steps).min(axis=0) * np.all(np.sign(steps) == np.sign(steps[:1]), axis=0)
    changes = np.asarray(agreed.max(axis=1))
    changes[np.maximum(excess[first : last - 1], excess[first + 1 : last]) > _MILD] = 0.0
    low, high = _GRID[first], _GRID[last]
    centre = _centre(changes, _GRID[first + 1 : last], float(np.clip(0.0, low, high)))
    kernel = _unit(centre, _ORDINARY["kernel"])
    ends = (-math.inf if first == 0 else float(low), math.inf if last == len(_GRID) - 1 else float(high))
    units = Units(kernel, sp.S.One, kernel, *ends, centre)
    with np.errstate(divide="ignore"):
        square = float(np.interp(units.typical, _GRID[: len(squares)], np.log10(squares)))
    return replace(units, weight=_unit(units.typical - square, _ORDINARY["weight"]))


def _centre(changes: np.ndarray, places: np.ndarray, nothing: float) -> float:
    """Where the branch changes most, log10 of the kernel; of comparable changes the one nearest to K = 1."""
    if changes.max() <= _SHAPELESS:
        return nothing
    strong = places[changes >= _COMPARABLE * changes.max()]
    near = np.abs(places - strong[np.argmin(np.abs(strong))]) <= _ABOUT
    shares = np.cumsum(changes[near] ** _NOISE)
    return float(np.interp(shares[-1] / 2, shares, places[near]))


def _walked(forward: Forward) -> tuple[np.ndarray, np.ndarray]:
    """What enters the dense layers, for each kernel.

    Returns:
        The spread for each ruler, kernel and layer, and the mean square of what enters the last layer.
    """
    rows, squares = [], []
    for exponent in _GRID:
        with np.errstate(all="ignore"):
            nets = [_Ruler(number, watched=number == 0) for number in range(_RULERS)]
            results = [forward(net, net.stream(10.0**exponent)) for net in nets]
            runs = [
                [np.asarray(u, dtype=float) for u in net.entered or [result]]
                for net, result in zip(nets, results, strict=True)
            ]
            second = np.array([[np.mean(u * u) for u in run] for run in runs])
            spread = np.array([[np.var(u) for u in run] for run in runs])
        if not np.all(second < _LARGE):
            break
        # what is constant, or rounding, or underflows, has no spread to speak of; if at every kernel, it has no say
        seen = (spread > _CONSTANT * second) & (second > 1 / _LARGE) & (not any(nets[0].lost or ()))
        rows.append(np.where(seen, spread, np.nan))
        squares.append(second[0, -1])
    table = np.array(rows).reshape(len(rows), _RULERS, -1).swapaxes(0, 1)
    return table[:, :, ~np.all(np.isnan(table), axis=(0, 1))], np.array(squares)


def _unit(exponent: float, ordinary: float) -> sp.Rational:
    """1 within so many decades, else a power of 10."""
    return sp.Integer(10) ** round(exponent) if np.isfinite(exponent) and abs(exponent) > ordinary else sp.S.One


_WIDTH, _INPUTS = 4, 2


class _Listening(GramNet):
    """A small network that notes whether an average over the inputs is asked for."""

    asked = False

    def batch(self, u: Neurons) -> Neurons:
        self.asked = True
        return super().batch(u)


def needs_batch(forward: sp.Expr, free: Iterable[sp.Symbol], seed: int, fixed: Mapping[str, sp.Expr]) -> bool:
    """Whether a node of a forward equation asks a network for an average over the inputs: read off a walk.

    Then the theory of the layer is that of a batch, with one kernel and one covariance. False also for a layer that
    cannot be walked: each comparison says why. Arguments are those of ``natural_units``.
    """
    net = _Listening(_WIDTH, stream(seed, "batch"))
    try:
        Forward(forward, parameters(free, net.rng, fixed))(net, net.stream(1, np.eye(_INPUTS)))
    except FAILURES:
        return False
    return net.asked
