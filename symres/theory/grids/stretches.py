"""A layer as formulas of one pair of positions, between which only draws mix positions.

The walk goes through the program with two places. Every covariance of a source at two places stays a symbol, and so
does every average over neurons that has no closed form or is taken over positions: its value is a number, of an array
that the stretch before has given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import sympy as sp

from ...core import symbols
from ...core.errors import NoClosedForm, UnsupportedLayer
from ...functions.floats.float_compiler import CompiledFormula, by_balls
from ...gaussian.calculus.expectation import Expectation
from ...layers.layer import Layer
from ...layers.layouts import MEAN, TWO_INPUTS, Label
from ...layers.program import Draw, Mean
from ...numerics.deferred_numpy import Array, np
from ..quantities.closed_forms import closed
from ..walk.tangent import InfiniteSlope, TangentWalk
from ..walk.walk import EmpiricalAverage, Walk

ONE, OTHER = TWO_INPUTS.two  # two places: of one input, or of two


class Role(NamedTuple):
    """What a symbol of a formula stands for: the covariance of a source at two places, or a statistic at one.

    Args:
        name: of the source or statistic.
        one: the first place.
        other: the second; None for a statistic.
    """

    name: sp.Symbol
    one: Label
    other: Label | None = None

    @property
    def is_of_batch(self) -> bool:
        """Whether an average over inputs is meant."""
        return self.other is not None and MEAN in (self.one.input, self.other.input)


class Compiled:
    """A formula for arrays.

    Args:
        expression: in averages that may have closed forms.
        roles: of its symbols; others are parameters.
    """

    def __init__(self, expression: sp.Expr, roles: dict[sp.Symbol, Role]) -> None:
        self._expression, self._all_roles = expression, roles

    @cached_property
    def _closed(self) -> sp.Expr:
        return closed(self._expression)

    @cached_property
    def symbols(self) -> list[sp.Symbol]:
        """What it needs numbers for."""
        return sorted(self._expression.free_symbols, key=sp.default_sort_key)

    @cached_property
    def roles(self) -> dict[sp.Symbol, Role]:
        """The symbols that are no parameters, with what they stand for."""
        return {s: self._all_roles[s] for s in self.symbols if s in self._all_roles}

    @cached_property
    def slopes(self) -> dict[sp.Symbol, Compiled]:
        """The derivatives in all symbols that are no parameters."""
        return {s: Compiled(self._closed.diff(s), self._all_roles) for s in self.roles}

    @cached_property
    def changes(self) -> dict[sp.Symbol, Compiled]:
        """The derivatives in covariances of changes, in which it is linear."""
        moved = [s for s, role in self.roles.items() if role.other is not None and role.one.is_tangent]
        return {s: Compiled(self._closed.diff(s), self._all_roles) for s in moved}

    @cached_property
    def _function(self) -> CompiledFormula:
        return CompiledFormula(self.symbols, self._closed)

    def __call__(self, numbers: Callable[[sp.Symbol], Array | float]) -> Array | float:
        """The values where numbers stand for the symbols; infinite where the expression is.

        Raises:
            NoClosedForm: there is no number, not even by balls.
        """
        if self._expression.has(sp.oo):
            return float(np.inf)
        arguments = list(map(numbers, self.symbols))
        values = self._function(*arguments)
        return values if np.isfinite(values).all() else self._completed(np.asarray(values), arguments)

    def _completed(self, values: Array, arguments: Sequence[Array | float]) -> Array:
        """Values with balls where numbers in double precision are not finite."""
        shape = np.broadcast_shapes(values.shape, *map(np.shape, arguments))
        flat = np.array(np.broadcast_to(values, shape), dtype=float).ravel()
        rows = np.stack([np.broadcast_to(argument, shape).ravel() for argument in arguments], axis=1)
        lost = ~np.isfinite(flat) & np.isfinite(rows).all(axis=1)  # gradients of jumps are infinite
        different, place = np.unique(rows[lost], axis=0, return_inverse=True)
        number = by_balls(self._closed, tuple(self.symbols))
        flat[lost] = np.array([number(*row) for row in different.tolist()], dtype=float)[place.ravel()]
        if (lost := lost & np.isnan(flat)).any():
            shown = ", ".join(f"{s} = {x:.3g}" for s, x in zip(self.symbols, rows[lost][0], strict=True))
            raise NoClosedForm(f"the numbers of a layer at {shown}", "they overflow", "take smaller kernels")
        return flat.reshape(shape)


@dataclass(frozen=True)
class PairFormula:
    """A covariance, or a Gram number.

    Args:
        pair: of two places.
        alone: of one place with itself.
    """

    pair: Compiled
    alone: Compiled


@dataclass(frozen=True)
class MeanStep:
    """An average over neurons.

    Args:
        mean: the instruction.
        value: at one place.
        is_shared: whether all positions have the average over them: neurons of all were asked for, or of a batch.
    """

    mean: Mean
    value: Compiled
    is_shared: bool


@dataclass(frozen=True)
class DrawStep:
    """A draw.

    Args:
        draw: the instruction.
        grams: of each argument.
    """

    draw: Draw
    grams: tuple[PairFormula, ...]


@dataclass
class StretchWalk(Walk):
    """The walk of two places with symbols for what arrays will be.

    Args:
        is_homogeneous: whether all positions are alike.

    Attributes:
        steps: averages and draws, in order.
        roles: of the symbols.
    """

    is_homogeneous: bool = True
    steps: list[MeanStep | DrawStep] = field(default_factory=list)
    roles: dict[sp.Symbol, Role] = field(default_factory=dict)

    def pair_formula(self, at: Callable[[Label, Label], sp.Expr]) -> PairFormula:
        """The formula of two places, and of one, from that of any."""
        return PairFormula(*(Compiled(at(ONE, place), self.roles) for place in (OTHER, ONE)))

    def covariance(self, source: sp.Symbol, a: Label, b: Label) -> sp.Expr:
        """The symbol of a covariance."""
        one, other = sorted((a, b))
        index = "_".join(f"{label.input}{label.position}" for label in (one, other))
        letter = "T" if a.is_tangent else "Z" if source == symbols.z else "S"
        name = symbols.variance(source, index, one == other, letter)
        self.roles[name] = Role(source, one, other)
        return name

    def at(self, expression: sp.Expr, a: Label) -> sp.Expr:
        """An expression with the statistics of place a; averages over places have those of any, if all are alike.

        Raises:
            UnsupportedLayer: statistics differ from place to place.
        """
        differing = [i.name for i in self.program.instructions if isinstance(i, Mean) and i.over == "neuron"]
        if MEAN in a[:2] and not self.is_homogeneous and expression.has(*differing):
            found = "it is taken of neurons that are divided by numbers of their positions"
            raise UnsupportedLayer("an average over positions", found, "put a Dense inside of the average")
        return super().at(expression, Label(a.input or ONE.input, ONE.position, a.is_tangent))

    def _mean(self, mean: Mean) -> None:
        width, name = self.program.width(mean.integrand), mean.name
        values = {
            place: self._required(mean, self._value(EmpiricalAverage(((mean.integrand, place),), width=width)))
            for place in (ONE, OTHER)
        }
        compiled, is_shared = Compiled(values[ONE], self.roles), mean.over == "position"
        is_shared |= not self.is_homogeneous and any(role.is_of_batch for role in compiled.roles.values())
        if values[ONE].has(Expectation) or (is_shared and not values[ONE].is_number):
            self.steps.append(MeanStep(mean, compiled, is_shared))
            values = {place: self.name(name, place) for place in values}
            self.roles |= {value: Role(name, place) for place, value in values.items()}
        self._statistics |= {(name, place): value for place, value in values.items()}

    def _draw(self, draw: Draw) -> None:
        def gram(u: sp.Expr) -> PairFormula:
            return self.pair_formula(lambda a, b: self.in_lowest_terms(self.mean((u, a), (u, b))))

        self.steps.append(DrawStep(draw, tuple(map(gram, draw.arguments))))


class StretchTangents(TangentWalk):
    """The walk of tangents at two places that goes on from that of the neurons.

    Args:
        law: of the neurons.

    Attributes:
        changes: of each draw, the Gram numbers of changes of its arguments.
    """

    def __init__(self, law: StretchWalk) -> None:
        self.changes: dict[sp.Symbol, tuple[PairFormula, ...]] = {}
        self._law = law
        super().__init__(law, {(ONE.tangent, OTHER.tangent): sp.S.Zero})

    def covariance(self, source: sp.Symbol, a: Label, b: Label) -> sp.Expr:
        """The symbol of a covariance; nothing between a tangent and a neuron, or inputs of a large batch."""
        is_apart = a.is_tangent and MEAN in (a.input, b.input) and self._law.is_homogeneous
        return sp.S.Zero if a.is_tangent != b.is_tangent or is_apart else self._law.covariance(source, a, b)

    def at(self, expression: sp.Expr, a: Label) -> sp.Expr:
        """An expression with the statistics of place a."""
        return self._law.at(expression, a)

    def next_change(self, a: Label, b: Label) -> sp.Expr:
        """The covariance of changes of the next stream; infinite where a jump is moved."""
        return self._or_infinite(lambda: self.stream(a.tangent, b.tangent))

    def _draw(self, draw: Draw) -> None:
        def change(u: sp.Expr) -> PairFormula:
            return self._law.pair_formula(
                lambda a, b: self._or_infinite(lambda: self.mean((u, a.tangent), (u, b.tangent)))
            )

        self.changes[draw.name] = tuple(map(change, draw.arguments))

    def _or_infinite(self, value: Callable[[], sp.Expr]) -> sp.Expr:
        try:
            return value()
        except InfiniteSlope:
            return sp.oo


class Stretches:
    """A layer as lists of formulas, made where they are first asked for.

    Args:
        layer: the forward equation.
        is_homogeneous: whether all positions are alike.

    Attributes:
        law: of the neurons.
        next: the covariance of the next stream.
        divisors: what normalisers divide by, at a place.
    """

    def __init__(self, layer: Layer, is_homogeneous: bool) -> None:
        self.law = StretchWalk(layer.program, TWO_INPUTS, is_homogeneous=is_homogeneous)
        self.next = self.law.pair_formula(self.law.stream)
        self.divisors = [Compiled(self.law.at(base, ONE), self.law.roles) for base in layer.program.divisors]

    @cached_property
    def _tangents(self) -> StretchTangents:
        return StretchTangents(self.law)

    @property
    def changes(self) -> dict[sp.Symbol, tuple[PairFormula, ...]]:
        """Of each draw, the Gram numbers of changes of its arguments."""
        return self._tangents.changes

    @cached_property
    def next_change(self) -> PairFormula:
        """The covariance of changes of the next stream."""
        return self.law.pair_formula(self._tangents.next_change)


@lru_cache(maxsize=64)
def stretches(layer: Layer, is_homogeneous: bool) -> Stretches:
    """The formulas of a layer, derived once."""
    return Stretches(layer, is_homogeneous)
