"""Gaussian averages and Hermite coefficients of functions of one and two variables in double precision.

Of two variables, the panels of the second are divided for each place of the first, so that breakpoints of either are
met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import sympy as sp
from flint import arb, ctx
from numpy.typing import NDArray

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...functions.balls.compiler import compile_ball
from ...functions.function_record import written_out
from ...functions.records.gaussian_signs import NUMBERS
from .hermite_space import hermite_rows, within_degree
from .panel_rule import NODES, POINTS, REACH, WEIGHTS, Array, density, panel_edges, refined, rule

Values = dict[sp.Symbol, float]

_BITS = 128  # of balls, where floating-point numbers overflow
_AT_ONCE = 64  # shifts whose Hermite polynomials are in memory together
_KEPT = 1024  # averages of a function
_NARROW = 0.25  # of what two variables share: the rest is the scale on which averages over it change


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
        return CompiledFormula(self.parameters, list(self.pieces.breaks))

    @cached_property
    def _centres(self) -> Callable[..., Sequence[float]]:
        centres = {place for part in self.pieces.parts for place in _steep_places(part)}
        return CompiledFormula(self.parameters, sorted(centres, key=sp.default_sort_key))

    @cached_property
    def _parts(self) -> list[Callable[..., Array | float]]:
        return [_WithoutOverflow(part, [z, *self.parameters]) for part in self.pieces.parts]

    @cached_property
    def _means(self) -> dict[tuple[float, ...], float]:
        return {}

    def mean(self, variance: float, values: Values) -> float:
        """The average over one variable: of a normalised layer, the same for all kernels."""
        key = (variance, *(values[s] for s in self.parameters))
        if key not in self._means:
            if len(self._means) >= _KEPT:
                self._means.clear()
            self._means[key] = float(coefficients(self, variance, 0, values)[0])
        return self._means[key]

    def breaks(self, values: Values) -> Array:
        """The breakpoints."""
        return np.array(self._breaks(*(values[s] for s in self.parameters)), dtype=float)

    def marks(self, values: Values) -> Array:
        """Where it breaks, or functions in it have the argument 0."""
        centres = np.array(self._centres(*(values[s] for s in self.parameters)), dtype=float)
        return np.unique(np.concatenate([self.breaks(values), centres[np.isfinite(centres)]]))

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

    def marks(self, values: Values) -> Array:
        """Where it breaks, or functions in it have the argument 0."""
        return self.function.marks({**values, **dict(self.bound)})

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

    def marks(self, values: Values) -> Array:
        """Those of all factors."""
        return np.unique(np.concatenate([f.marks(values) / scale for f, scale in self.factors]))

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape."""
        return np.asarray(np.prod([f(scale * w, values) for f, scale in self.factors], axis=0))


class CompiledFormula:
    """A function for arrays; without SciPy where only elementary functions are in it, because that loads slowly.

    It is pickled by its formula, and compiled again where it is loaded.

    Args:
        symbols: the arguments, in their order.
        expressions: what it computes, one or several.
    """

    def __init__(self, symbols: Sequence[sp.Symbol], expressions: sp.Expr | Sequence[sp.Expr]) -> None:
        self._formula = symbols, expressions
        code = written_out(expressions if isinstance(expressions, sp.Expr) else sp.Tuple(*expressions))
        functions = code.atoms(sp.Function)
        special = any(not type(f).__module__.startswith("sympy.functions.elementary.") for f in functions)
        modules = [NUMBERS, "scipy" if special else "numpy"]
        code = code.replace(_is_long, lambda number: sp.Float(number, 17))
        self._function = sp.lambdify(symbols, code, modules=modules, cse=True)

    def __call__(self, *arguments: Array | float) -> Any:
        """The values, each of the shape of the arguments together; a constant is a number."""
        return self._function(*arguments)

    def __reduce__(self) -> tuple[type[CompiledFormula], tuple[Any, ...]]:
        return CompiledFormula, self._formula


def _is_long(e: sp.Basic) -> bool:
    """Whether it is a quotient of integers that NumPy holds as objects, whose functions it does not have."""
    return bool(e.is_Rational and max(abs(e.p), e.q) >= 2**63)


class _WithoutOverflow:
    """A function for arrays, by balls where a part of the formula is no finite number: exp(z)/(1 + exp(z)) at 1000."""

    def __init__(self, part: sp.Expr, arguments: list[sp.Symbol]) -> None:
        self._part, self._arguments, self._fast = part, arguments, CompiledFormula(arguments, part)

    def __call__(self, w: Array, *parameters: float) -> Array | float:
        found: Array | float = self._fast(w, *parameters)
        if np.all(np.isfinite(found)):
            return found
        program = compile_ball(self._part, self._arguments)
        whole = np.array(np.broadcast_to(found, w.shape), dtype=float)
        missing = ~np.isfinite(whole)
        with ctx.workprec(_BITS):
            fixed = [arb(p) for p in parameters]
            balls = [program([arb(place), *fixed]) for place in w[missing].tolist()]
            whole[missing] = [float(b.mid()) if b.is_finite() else np.nan for b in balls]
        return whole


def _steep_places(part: sp.Expr) -> Iterator[sp.Expr]:
    """Where functions and powers of linear functions of z have the argument 0."""
    for e in sp.preorder_traversal(part):
        argument = e.exp if isinstance(e, sp.exp) else e.base if e.is_Pow else e.args[0] if e.is_Function else None
        if argument is not None and argument.is_polynomial(z) and sp.degree(argument, z) == 1:
            yield sp.solve(argument, z)[0]


Function: TypeAlias = FloatFunction | BoundFunction | FloatProduct


def coefficients(function: Function, variance: float, degree: int, values: Values) -> Array:
    """The Hermite coefficients 0 to degree of ``f(sqrt(variance) x)``, shape (degree + 1,)."""
    if variance == 0:
        found = np.zeros(degree + 1)
        found[0] = function(np.zeros(1), values)[0]
        return found
    scale = np.sqrt(variance)
    own = rule(degree, refined(lambda x: function(scale * x, values), degree, function.marks(values) / scale))
    return np.asarray(own.rows @ function(scale * own.places, values))


def pair_coefficients(functions: tuple[Function, Function], root: Array, degree: int, values: Values) -> Array:
    """The Hermite coefficients of ``f(w1) g(w2)`` for ``w = root x``, root lower triangular, up to a total degree.

    Returns:
        Shape (degree + 1, degree + 1), 0 beyond the total degree.
    """
    first, second = functions
    a, b, c = root[0, 0], root[1, 0], root[1, 1]
    if c == 0:
        raise NoClosedForm("Hermite coefficients of two variables", "both are the same variable", "write them as one")
    whole = np.hypot(b, c)
    steps = second.marks(values)
    more = refined(lambda x: second(whole * x, values), degree, steps / whole)
    marks = np.unique([*steps, *(whole * m for m in more)])  # 0 is one for all places of the first
    edges = refined(lambda x: first(a * x, values), degree, first.marks(values) / a)
    if c < _NARROW * abs(b) or len(marks) > len(steps):  # the average over the rest is steep as well
        edges = refined(
            lambda x: _shifted_coefficients(second, b * x.ravel(), c, 0, values, marks).reshape(x.shape),
            degree,
            [*edges, *(steps / b if b else ())],
        )
    outer = rule(degree, edges)
    here = outer.weights * first(a * outer.places, values)
    along = _shifted_coefficients(second, b * outer.places, c, degree, values, marks)
    found = hermite_rows(outer.places, degree) @ (here[:, None] * along)
    return np.where(within_degree(degree), found, 0.0)


def _shifted_coefficients(
    function: Function, shifts: Array, scale: float, degree: int, values: Values, marks: Array
) -> Array:
    """The Hermite coefficients of ``f(shift + scale*x)``, shape (number of shifts, degree + 1).

    Panels are the same for all shifts but for those that a mark falls into; these are divided there.
    """
    base = rule(degree)
    sampled = function(shifts[:, None] + scale * base.places, values)
    if not len(marks):
        return np.asarray(sampled @ base.rows.T)
    edges = panel_edges(degree)
    at = np.clip((marks - shifts[:, None]) / scale, -REACH, REACH)
    panel = _panel(edges, at)
    whole = np.ones((len(shifts), len(edges) - 1))
    np.put_along_axis(whole, panel, 0.0, axis=1)
    found = np.asarray((sampled * np.repeat(whole, POINTS, axis=1)) @ base.rows.T)
    ends = np.sort(np.concatenate([at, edges[panel], edges[panel + 1]], axis=1), axis=1)
    broken = np.take_along_axis(whole, _panel(edges, (ends[:, 1:] + ends[:, :-1]) / 2), axis=1) == 0
    half = np.where(broken, np.diff(ends, axis=1), 0.0)[..., None] / 2
    places = (ends[:, :-1, None] + half * (1 + NODES)).reshape(len(shifts), -1)
    weights = (half * WEIGHTS).reshape(places.shape) * density(places)
    weights *= function(shifts[:, None] + scale * places, values)
    for start in range(0, len(shifts), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        found[rows] += np.einsum("knm,nm->nk", hermite_rows(places[rows], degree), weights[rows])
    return found


def _panel(edges: Array, places: Array) -> NDArray[np.int64]:
    """The number of the panel that each place is in."""
    return np.clip(np.searchsorted(edges, places, side="right") - 1, 0, len(edges) - 2)
