"""Gaussian averages and Hermite coefficients of functions of one and two variables in double precision.

Gauss-Legendre panels that meet at the breakpoints; they are narrow near 0, where functions of a small part of the range
live, and narrow enough for the waves of the highest Hermite polynomial. Of two variables, the panels of the second are
divided for each place of the first, so that breakpoints of either are met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import sympy as sp
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm
from ...core.symbols import z
from .hermite_space import hermite_rows, within_degree

Array = NDArray[np.float64]
Values = dict[sp.Symbol, float]

_REACH = 14.0  # standard deviations; the density is 1e-43 there
_POINTS = 20  # of each panel
_AT_ONCE = 64  # shifts whose Hermite polynomials are in memory together
_SMALL = [2.0**k for k in range(-5, 4)]


@dataclass(frozen=True)
class FloatFunction:
    """A function between its breakpoints, for arrays.

    Args:
        pieces: the function of ``z``, with parameters.
    """

    pieces: PiecewiseFunction

    @cached_property
    def parameters(self) -> list[sp.Symbol]:
        """The symbols that need a number."""
        return sorted(self.pieces.free_symbols, key=str)

    @cached_property
    def _breaks(self) -> Callable[..., Sequence[float]]:
        return sp.lambdify(self.parameters, list(self.pieces.breaks), modules="scipy")

    @cached_property
    def _parts(self) -> list[Callable[..., Array | float]]:
        return [sp.lambdify([z, *self.parameters], part, modules="scipy", cse=True) for part in self.pieces.parts]

    def breaks(self, values: Values) -> Array:
        """The breakpoints."""
        return np.array(self._breaks(*(values[s] for s in self.parameters)), dtype=float)

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape, none of which is a breakpoint.

        Raises:
            NoClosedForm: floating-point numbers overflow.
        """
        parameters = [values[s] for s in self.parameters]
        breaks = self.breaks(values)
        side = np.searchsorted(breaks, w) if len(breaks) else np.zeros(w.shape, dtype=int)
        found = np.empty(w.shape)
        with np.errstate(all="ignore"):
            for k, part in enumerate(self._parts):
                here = side == k
                if len(self._parts) == 1:
                    found[...] = part(w, *parameters)
                elif here.any():
                    found[here] = part(w[here], *parameters)
        if not np.isfinite(found).all():
            raise NoClosedForm(
                f"values of {self.pieces.as_expr()} between {w.min():.3g} and {w.max():.3g}",
                "they overflow double precision",
                "write the formula so that no part of it overflows, or take smaller kernels",
            )
        return found


@dataclass(frozen=True)
class BoundFunction:
    """A function some of whose parameters have numbers, such as the averages of a layer.

    Args:
        function: with parameters.
        bound: their numbers.
    """

    function: FloatFunction
    bound: tuple[tuple[sp.Symbol, float], ...]

    def breaks(self, values: Values) -> Array:
        """The breakpoints."""
        return self.function.breaks({**values, **dict(self.bound)})

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape."""
        return self.function(w, {**values, **dict(self.bound)})


@dataclass(frozen=True)
class FloatProduct:
    """A product of functions of multiples of one variable.

    Args:
        factors: functions, each with what the variable is multiplied by.
    """

    factors: tuple[tuple[FloatFunction | BoundFunction, float], ...]

    def breaks(self, values: Values) -> Array:
        """The breakpoints of all factors."""
        return np.unique(np.concatenate([f.breaks(values) / scale for f, scale in self.factors]))

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape."""
        return np.asarray(np.prod([f(scale * w, values) for f, scale in self.factors], axis=0))


Function: TypeAlias = FloatFunction | BoundFunction | FloatProduct


@dataclass(frozen=True)
class PanelRule:
    """Places and weights of one standard Gaussian variable.

    Args:
        places: shape (N,).
        weights: shape (N,); their sum is 1.
        degree: of the Hermite polynomials that are resolved.
    """

    places: Array
    weights: Array
    degree: int

    @cached_property
    def rows(self) -> Array:
        """The Hermite polynomials times the weights, shape (degree + 1, N)."""
        return hermite_rows(self.places, self.degree) * self.weights


def _edges(degree: int) -> Array:
    """Panels for Hermite polynomials up to a degree, whose waves are 2 pi/sqrt(degree) long."""
    widest = 8.0 / np.sqrt(max(degree, 16))
    edges = [0.0]
    for mark in [*_SMALL, _REACH]:
        count = int(np.ceil((mark - edges[-1]) / widest))
        edges += list(np.linspace(edges[-1], mark, count + 1)[1:])
    return np.array([*(-e for e in reversed(edges[1:])), *edges])


@lru_cache(maxsize=64)
def rule(degree: int, breaks: tuple[float, ...] = ()) -> PanelRule:
    """The rule that has these breakpoints, in standard deviations, between its panels."""
    edges = np.unique([*_edges(degree), *(b for b in breaks if abs(b) < _REACH)])
    edges = edges[np.append(True, np.diff(edges) > 1e-300)]
    nodes, weights = leggauss(_POINTS)
    half = np.diff(edges)[:, None] / 2
    places = (edges[:-1, None] + half * (1 + nodes)).ravel()
    density = np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)
    return PanelRule(places, (half * weights).ravel() * density, degree)


def coefficients(function: Function, variance: float, degree: int, values: Values) -> Array:
    """The Hermite coefficients 0 to degree of ``f(sqrt(variance) x)``, shape (degree + 1,)."""
    if variance == 0:
        found = np.zeros(degree + 1)
        found[0] = function(np.zeros(1), values)[0]
        return found
    scale = np.sqrt(variance)
    own = rule(degree, tuple(b / scale for b in function.breaks(values) if b != 0))
    return np.asarray(own.rows @ function(scale * own.places, values))


def pair_coefficients(functions: tuple[Function, Function], root: Array, degree: int, values: Values) -> Array:
    """The Hermite coefficients of ``f(w1) g(w2)`` for ``w = root x``, root lower triangular, up to a total degree.

    Returns:
        Shape (degree + 1, degree + 1), 0 beyond the total degree.
    """
    first, second = functions
    a, b, c = root[0, 0], root[1, 0], root[1, 1]
    if c == 0:
        raise NoClosedForm("Hermite coefficients of two variables", "they are one variable", "write them as one")
    outer = rule(degree, _scaled(first.breaks(values), a))
    here = outer.weights * first(a * outer.places, values)
    along = _shifted_coefficients(second, b * outer.places, c, degree, values)
    found = hermite_rows(outer.places, degree) @ (here[:, None] * along)
    return np.where(within_degree(degree), found, 0.0)


def _shifted_coefficients(function: Function, shifts: Array, scale: float, degree: int, values: Values) -> Array:
    """The Hermite coefficients of ``f(shift + scale*x)``, shape (number of shifts, degree + 1).

    Panels are the same for all shifts but for those that a breakpoint falls into; these are divided there.
    """
    base = rule(degree)
    sampled = function(shifts[:, None] + scale * base.places, values)
    breaks = function.breaks(values)
    if not len(breaks):
        return np.asarray(sampled @ base.rows.T)
    edges = _edges(degree)
    at = np.clip((breaks - shifts[:, None]) / scale, -_REACH, _REACH)
    panel = _panel(edges, at)
    whole = np.ones((len(shifts), len(edges) - 1))
    np.put_along_axis(whole, panel, 0.0, axis=1)
    found = np.asarray((sampled * np.repeat(whole, _POINTS, axis=1)) @ base.rows.T)
    marks = np.sort(np.concatenate([at, edges[panel], edges[panel + 1]], axis=1), axis=1)
    broken = np.take_along_axis(whole, _panel(edges, (marks[:, 1:] + marks[:, :-1]) / 2), axis=1) == 0
    half = np.where(broken, np.diff(marks, axis=1), 0.0)[..., None] / 2
    nodes, weights = leggauss(_POINTS)
    places = (marks[:, :-1, None] + half * (1 + nodes)).reshape(len(shifts), -1)
    density = (half * weights).reshape(places.shape) * np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)
    density *= function(shifts[:, None] + scale * places, values)
    for start in range(0, len(shifts), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        found[rows] += np.einsum("knm,nm->nk", hermite_rows(places[rows], degree), density[rows])
    return found


def _panel(edges: Array, places: Array) -> NDArray[np.int64]:
    """The number of the panel that each place is in."""
    return np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(edges) - 2)


def _scaled(breaks: Array, scale: float) -> tuple[float, ...]:
    return tuple(b / scale for b in breaks if b != 0) if scale else ()
