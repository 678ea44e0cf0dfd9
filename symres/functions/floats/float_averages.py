"""Piecewise functions for arrays of doubles, their Gaussian averages and Hermite coefficients, in one or two variables.

A function knows the places where it breaks or is steep. Averages over one variable are taken at many variances at once.
Of two variables, the panels of the second are divided for each place of the first, so that breakpoints of either are
met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol, TypeAlias

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...numerics import gauss_rules as gauss
from ...numerics.deferred_numpy import Array, NDArray, np
from ...numerics.gauss_rules import hermite_rows, refined
from .float_compiler import CompiledFormula, WithoutOverflow, by_balls

Values: TypeAlias = dict[sp.Symbol, float]
_AT_ONCE = 64  # shifts whose Hermite polynomials are in memory together
_KEPT = 2048  # averages
_NARROW = 0.25  # of what two variables share: the rest is the scale on which averages over it change
_CHUNK = 128  # variances at once
_MOST = 500  # panels of each of many averages: where a function oscillates that much, it is left to others


class Pieces(Hashable, Protocol):
    """A function of ``z``, a formula between its breakpoints."""

    @property
    def breaks(self) -> tuple[sp.Expr, ...]:
        """The breakpoints, increasing."""

    @property
    def parts(self) -> tuple[sp.Expr, ...]:
        """The formulas, from left to right."""

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The parameters."""

    def as_expr(self) -> sp.Expr:
        """As one expression."""


@dataclass(frozen=True)
class FloatFunction:
    """A function between its breakpoints, for arrays.

    Args:
        pieces: the function of ``z``, with parameters.
        bound: numbers of some parameters, such as the averages of a layer.
    """

    pieces: Pieces
    bound: tuple[tuple[sp.Symbol, float], ...] = ()

    @cached_property
    def parameters(self) -> list[sp.Symbol]:
        """The symbols that need a number."""
        return [s for s in self._compiled.parameters if s not in dict(self.bound)]

    @cached_property
    def _compiled(self) -> _Compiled:
        return _compiled(self.pieces)

    def _numbers(self, values: Values) -> list[float]:
        numbers = {**values, **dict(self.bound)}
        return [numbers[s] for s in self._compiled.parameters]

    def breaks(self, values: Values) -> Array:
        """The breakpoints."""
        return np.array(self._compiled.breaks(*self._numbers(values)), dtype=float)

    def marks(self, values: Values) -> Array:
        """Where it breaks, or functions in it have the argument 0."""
        centres = np.array(self._compiled.centres(*self._numbers(values)), dtype=float)
        return np.unique(np.concatenate([self.breaks(values), centres[np.isfinite(centres)]]))

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape, none of which is a breakpoint.

        Raises:
            NoClosedForm: floating-point numbers overflow.
        """
        result = self.unchecked(w, values)
        if not np.isfinite(result).all():
            raise NoClosedForm(
                f"values of {self.pieces.as_expr()} between {w.min():.3g} and {w.max():.3g}",
                "they overflow double precision",
                "write the formula so that no part of it overflows, or take smaller kernels",
            )
        return result

    def unchecked(self, w: Array, values: Values) -> Array:
        """The values, which are not finite where floating-point numbers overflow."""
        parameters, parts = self._numbers(values), self._compiled.parts
        result = np.empty(w.shape)
        if len(parts) == 1:
            result[...] = parts[0](w, *parameters)
            return result
        piece = np.searchsorted(self.breaks(values), w)
        for k, part in enumerate(parts):
            if (inside := piece == k).any():
                result[inside] = part(w[inside], *parameters)
        return result


class _Compiled(NamedTuple):
    """The formulas of a function, with its parameters in the order in which they are taken."""

    parameters: list[sp.Symbol]
    breaks: CompiledFormula
    centres: CompiledFormula
    parts: list[WithoutOverflow]


@lru_cache(maxsize=512)
def _compiled(pieces: Pieces) -> _Compiled:
    parameters = sorted(pieces.free_symbols, key=str)
    steep = {place for part in pieces.parts for place in _steep_places(part)}
    centres = CompiledFormula(parameters, sorted(steep, key=sp.default_sort_key))
    parts = [WithoutOverflow(part, [z, *parameters]) for part in pieces.parts]
    return _Compiled(parameters, CompiledFormula(parameters, list(pieces.breaks)), centres, parts)


@dataclass(frozen=True)
class FloatProduct:
    """A product of functions of multiples of one variable.

    Args:
        factors: functions, each with what the variable is multiplied by.
    """

    factors: tuple[tuple[FloatFunction, float], ...]

    def marks(self, values: Values) -> Array:
        """Those of all factors."""
        return np.unique(np.concatenate([f.marks(values) / scale for f, scale in self.factors]))

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape."""
        return np.asarray(np.prod([f(scale * w, values) for f, scale in self.factors], axis=0))


Function: TypeAlias = FloatFunction | FloatProduct


def _steep_places(part: sp.Expr) -> Iterator[sp.Expr]:
    """Where functions and powers of linear functions of z have the argument 0."""
    for e in sp.preorder_traversal(part):
        argument = e.exp if isinstance(e, sp.exp) else e.base if e.is_Pow else e.args[0] if e.is_Function else None
        if argument is not None and argument.is_polynomial(z) and sp.degree(argument, z) == 1:
            yield sp.solve(argument, z)[0]


def average(functions: tuple[Function, ...], covariance: Sequence[float], values: Values) -> float:
    """``<f(w)>`` or ``<f(w1) g(w2)>``; the covariance matrix as its upper triangle, row by row.

    Raises:
        NoClosedForm: floating-point numbers overflow, the function oscillates, or both variables are nearly the same.
    """
    if len(functions) == 1:
        (function,), variance = functions, float(covariance[0])
        if isinstance(function, FloatFunction):
            return _mean(function, variance, tuple(values[s] for s in function.parameters))
        return float(coefficients(function, variance, 0, values)[0])
    one, both, other = map(float, covariance)
    if one == both == other != 0 and all(isinstance(f, FloatFunction) for f in functions):
        same = FloatProduct(tuple((f, 1.0) for f in functions if isinstance(f, FloatFunction)))
        return float(coefficients(same, one, 0, values)[0])
    conditional = other - both**2 / one if one else other
    if one == 0 or conditional <= 1e-14 * other:
        raise NoClosedForm(
            "an average of two variables in double precision", "both are the same variable", "pass inputs that differ"
        )
    root = np.array([[np.sqrt(one), 0.0], [both / np.sqrt(one), np.sqrt(conditional)]])
    return float(pair_coefficients((functions[0], functions[1]), root, 0, values)[0, 0])


@lru_cache(maxsize=_KEPT)
def _mean(function: FloatFunction, variance: float, parameters: tuple[float, ...]) -> float:
    """The average over one variable: of a normalised layer, the same for all kernels."""
    values = dict(zip(function.parameters, parameters, strict=True))
    results = float(means(function, np.array([variance]), values)[0]) if variance > 0 else math.nan
    return results if math.isfinite(results) else float(coefficients(function, variance, 0, values)[0])


def means(function: FloatFunction, variances: Array, values: Values) -> Array:
    """``<f(w)>`` at several variances, all positive; nan where floating-point numbers overflow or f oscillates."""
    different, place = np.unique(variances, return_inverse=True)
    marks = function.marks(values)

    def of_part(scales: Array) -> Array:
        return gauss.averages(
            lambda rows, x: function.unchecked(scales[rows] * x, values), [marks / s for s in scales], most=_MOST
        )[0]

    scales = np.sqrt(different)
    results = [of_part(scales[start : start + _CHUNK]) for start in range(0, len(scales), _CHUNK)]
    return np.asarray(np.concatenate(results)[place])


def coefficients(function: Function, variance: float, degree: int, values: Values) -> Array:
    """The Hermite coefficients 0 to degree of ``f(sqrt(variance) x)``, shape (degree + 1,)."""
    return expansion(function, variance, degree, values)[0]


def expansion(function: Function, variance: float, degree: int, values: Values) -> tuple[Array, float]:
    """The same, and the mean square of the function."""
    if variance == 0:
        results = np.zeros(degree + 1)
        results[0] = function(np.zeros(1), values)[0]
        return results, float(results[0] ** 2)
    scale = np.sqrt(variance)
    marks = refined(lambda x: function(scale * x, values), degree, function.marks(values) / scale)
    places, rows = gauss.weighted_rows(degree, marks)
    heights = function(scale * places, values)
    return np.asarray(rows @ heights), float(rows[0] @ heights**2)


def pair_coefficients(functions: tuple[Function, Function], root: Array, degree: int, values: Values) -> Array:
    """The Hermite coefficients of ``f(w1) g(w2)`` for ``w = root x``, root lower triangular, up to a total degree.

    Returns:
        Shape (degree + 1, degree + 1), 0 beyond the total degree.
    """
    first, second = functions
    a, b, c = root[0, 0], root[1, 0], root[1, 1]
    if c == 0:
        raise NoClosedForm("Hermite coefficients of two variables", "both are the same variable", "write them as one")
    scale = np.hypot(b, c)  # of the second variable
    steps = second.marks(values)
    ends = refined(lambda x: second(scale * x, values), degree, steps / scale)
    is_far = any(abs(end) > gauss.REACH for end in ends)
    marks = np.unique([*steps, *(scale * end for end in ends)])  # 0 is one for all places of the first
    edges = refined(lambda x: first(a * x, values), degree, first.marks(values) / a)
    if c < _NARROW * abs(b) or len(marks) > len(steps):  # the average over the rest is steep as well
        edges = refined(
            lambda x: _shifted_coefficients(second, b * x.ravel(), c, 0, values, marks, is_far).reshape(x.shape),
            degree,
            [*edges, *(steps / b if b else ())],
        )
    for outside in ((), gauss.far_marks(degree)):
        places, shares = gauss.rule(degree, (*edges, *outside))
        along = _shifted_coefficients(second, b * places, c, degree, values, marks, is_far)
        mass = first(a * places, values)[:, None] * along
        if not gauss.is_cut_off(mass[:, 0], places):
            break
    else:
        lost = "it comes from too many standard deviations"
        raise NoClosedForm("an average of two variables in double precision", lost, "take smaller kernels")
    results = hermite_rows(places, degree) @ (shares[:, None] * mass)
    powers = np.arange(degree + 1)
    return np.where(powers[:, None] + powers <= degree, results, 0.0)


def _shifted_coefficients(
    function: Function, shifts: Array, scale: float, degree: int, values: Values, marks: Array, is_far: bool
) -> Array:
    """The Hermite coefficients of ``f(shift + scale*x)``, shape (number of shifts, degree + 1).

    Panels are the same for all shifts but for those that a mark falls into; these are divided there. They reach
    further out for functions that grow fast.
    """
    far = gauss.far_marks(degree) if is_far else ()
    base, rows = gauss.weighted_rows(degree, far)
    sampled = function(shifts[:, None] + scale * base, values)
    if not len(marks):
        return np.asarray(sampled @ rows.T)
    edges = gauss.panel_edges(degree, far)
    at = np.clip((marks - shifts[:, None]) / scale, edges[0], edges[-1])
    panel = _panel(edges, at)
    whole = np.ones((len(shifts), len(edges) - 1))
    np.put_along_axis(whole, panel, 0.0, axis=1)
    results = np.asarray((sampled * np.repeat(whole, len(base) // whole.shape[1], axis=1)) @ rows.T)
    ends = np.sort(np.concatenate([at, edges[panel], edges[panel + 1]], axis=1), axis=1)
    broken = np.take_along_axis(whole, _panel(edges, (ends[:, 1:] + ends[:, :-1]) / 2), axis=1) == 0
    right = np.where(broken, ends[:, 1:], ends[:, :-1])
    places, shares = (part.reshape(len(shifts), -1) for part in gauss.on_panels(ends[:, :-1], right))
    shares = shares * function(shifts[:, None] + scale * places, values)
    for start in range(0, len(shifts), _AT_ONCE):
        chunk = slice(start, start + _AT_ONCE)
        results[chunk] += np.einsum("knm,nm->nk", hermite_rows(places[chunk], degree), shares[chunk])
    return results


def _panel(edges: Array, places: Array) -> NDArray[np.int64]:
    """The number of the panel that each place is in."""
    return np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(edges) - 2)


class CompiledExpressions:
    """Several expressions as one function of the numbers of their symbols.

    Args:
        expressions: in averages and symbols.
    """

    def __init__(self, expressions: Sequence[sp.Expr]) -> None:
        self._symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=sp.default_sort_key)
        self._function = CompiledFormula(self._symbols, list(expressions))

    def __call__(self, values: Values) -> Array:
        """The numbers, shape (number of expressions,).

        Raises:
            NoClosedForm: floating-point numbers overflow.
        """
        try:
            results = np.array(self._function(*(values[s] for s in self._symbols)))
        except OverflowError:  # of an integer that a parameter has made, gamma = 1e300 for instance
            results = np.array(np.inf)
        # Python's powers of negative numbers are complex
        if np.iscomplexobj(results) or not np.isfinite(results).all():
            shown = ", ".join(f"{s} = {float(values[s]):.3g}" for s in self._symbols if s in values)
            lost = "they overflow, or rounding makes the argument of a root negative"
            raise NoClosedForm(f"the numbers of a layer at {shown}", lost, "take smaller kernels, or fewer layers")
        return results.astype(float, copy=False)


def number_at(expression: sp.Expr, symbols: Sequence[sp.Symbol], bits: int) -> Callable[..., float]:
    """A function of numbers: in double precision, and from balls of so many bits where that has no number."""
    compiled, exact = CompiledFormula(symbols, expression), by_balls(expression, tuple(symbols), bits)

    def value(*place: float) -> float:
        try:
            number = compiled(*place)
            if isinstance(number, int | float) and math.isfinite(number):
                return float(number)
        except (NoClosedForm, ArithmeticError):
            pass
        return exact(*place)

    return value
