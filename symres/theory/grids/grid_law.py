"""The law of the neurons of a layer at all positions of a grid, in double precision."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TypeAlias

import sympy as sp

from ...core.errors import DeclarationError, UnsupportedLayer
from ...core.symbols import z
from ...layers.across import Attend, GridGrams
from ...layers.grids import Lattice, Modes, Pairs, Torus
from ...layers.layouts import MEAN
from ...numerics.deferred_numpy import Array, NDArray, np
from .stretches import ONE, OTHER, Compiled, DrawStep, MeanStep, PairFormula, Role, Stretches

Changes: TypeAlias = Mapping[sp.Symbol, Array]  # covariances of changes of each source

_PARALLEL = 4e-16  # relative difference from the variances of covariances that are equal to them
_SMALLEST, _NOTHING = 1e-290, 1e-280  # in the place of variances that are 0, and what may come of it
_TRACE = 1e-140  # covariances that such variances leave
_FEW_PLACES = 0.5  # relative variance 2/N of variances over N independent places: <1/s^2> is finite for N > 4
_BELOW = 1 - 4e-16  # the largest correlation of neurons that are not parallel


@dataclass(frozen=True)
class State:
    """The kernel of the stream at all positions.

    Args:
        grid: of the positions.
        kernel: covariances of pairs of positions.
        apart: covariance of two inputs of a batch, at any positions; None where there is no batch.
    """

    grid: Lattice
    kernel: Array
    apart: float | None = None


class GridLaw:
    """What a layer makes of the kernel that enters it.

    Args:
        formulas: of the layer.
        state: what enters.
        numbers: of the parameters.
        off: how many of their errors rules that are not exact add to what they give.

    Raises:
        DeclarationError: a normaliser divides by 0 at a position.
        UnsupportedLayer: terms with different strides are added, or a draw has no rule for this grid.
    """

    def __init__(self, formulas: Stretches, state: State, numbers: Mapping[sp.Symbol, float], off: float = 0.0) -> None:
        self._formulas, self._numbers, self._off = formulas, numbers, off
        self._laws: dict[sp.Symbol, State] = {z: state}  # of each source
        self._statistics: dict[sp.Symbol, tuple[Lattice, Array]] = {}
        self._grams: dict[sp.Symbol, GridGrams] = {}
        self._slopes: dict[tuple[Compiled, Lattice], list[tuple[Role, Array | float]]] = {}
        for step in formulas.law.steps:
            if isinstance(step, DrawStep):
                self._draw(step)
                continue
            grid = self._grid([step.value])
            values = np.broadcast_to(self._alone(step.value, {}, grid), grid.alone(grid.identity).shape)
            self._statistics[step.mean.name] = grid, grid.everywhere(values) if step.is_shared else values
        for divisor in formulas.divisors:
            if np.min(self._at(divisor, {}, state.grid, self._grid([divisor]).diagonal)) < _NOTHING:
                found = "neurons at a position are 0, and have no direction for a normaliser"
                raise DeclarationError(f"a layer on {state.grid}", found, "pass a kernel above 0 at every position")

    def _draw(self, step: DrawStep) -> None:
        draw, grid = step.draw, self._grid([gram.pair for gram in step.grams])
        grams = GridGrams(grid, [self._array(gram, {}, grid) for gram in step.grams], self._number, self._off)
        kernel = self._number(draw.C_b) + self._number(draw.C_W) * draw.across.grid_kernel(grams)
        apart = self._apart(step.grams[0])
        if apart is not None:
            apart = self._number(draw.C_b) + self._number(draw.C_W) * apart
        self._grams[draw.name] = grams
        self._laws[draw.name] = State(draw.across.grid_behind(grid), kernel, apart)

    @property
    def is_exact(self) -> bool:
        """Whether the rules of all draws are exact."""
        draws = self._formulas.law.program.draws
        return all(draw.across.is_exact(self._grams[draw.name]) for draw in draws)

    @cached_property
    def batch_variances(self) -> dict[sp.Symbol, float]:
        """Relative variances, over channels, of variances over a batch, each of which is taken for one number.

        Neurons with the covariances G of all positions have ``2 tr(G^2)/(tr G)^2``.
        """
        steps = [step for step in self._formulas.law.steps if isinstance(step, MeanStep)]
        roles = [(step.mean.name, role) for step in steps for role in step.value.roles.values()]
        of_batch = {name: role.name for name, role in roles if role.is_of_batch}
        variances = {}
        for name, source in of_batch.items() if self._laws[z].grid.holds_batch else ():
            grid, gram = self._laws[source].grid, self._laws[source].kernel
            means = grid.with_mean(gram)
            centred = gram - means - means[:, np.newaxis] + means.mean()
            variances[name] = 2 * float(grid.with_mean(centred**2).mean() / grid.alone(centred).mean() ** 2)
        return variances

    def _of_batch(self, slope: Compiled) -> float:
        """By how much fluctuations of variances s over a batch change a slope that is in proportion to 1/s.

        With the relative variance v, <1/s><s> is 1/(1 - v), as of a chi-squared law; and changes lose the share v/2
        of what is parallel to the neurons, if their covariances are like those of the neurons.

        Raises:
            UnsupportedLayer: a batch is as small as four independent places, where 1/s has no variance.
        """
        names = {role.name for role in slope.roles.values()} & self.batch_variances.keys()
        variances = [self.batch_variances[name] for name in names]
        if max(variances, default=0.0) >= _FEW_PLACES:
            found = "variances over it differ so much from channel to channel that gradients have no typical size"
            raise UnsupportedLayer("gradients through a small batch", found, "take more inputs, or larger ones")
        return math.prod((1 - v / 2) / (1 - v) for v in variances)

    @property
    def attended(self) -> list[tuple[Attend, GridGrams]]:
        """The rules of attention, with what goes into them."""
        draws = self._formulas.law.program.draws
        return [(draw.across, self._grams[draw.name]) for draw in draws if isinstance(draw.across, Attend)]

    @property
    def added(self) -> Array:
        """The covariances of all draws that are summands of the next stream, together."""
        names = {role.name for role in self._formulas.next.pair.roles.values()} & self._grams.keys()
        return np.asarray(sum((self._laws[name].kernel for name in names), 0 * self.next.kernel))

    @cached_property
    def next(self) -> State:
        """The kernel of the next stream."""
        formula = self._formulas.next
        grid = self._grid([formula.pair])
        kernel = self._array(formula, {}, grid)
        return State(grid, np.where(np.abs(kernel) < _TRACE, 0.0, kernel), self._apart(formula))

    def tangent(self, change: Array) -> Array:
        """The covariances of changes of the next stream, which are independent of the neurons, from those before."""
        return self._changed(change, lambda grid: grid, self._array)

    def perpendicular_waves(self) -> Array:
        """By how much variances of changes that vary over positions like ``exp(i k x)`` grow, for all k; flat.

        Raises:
            UnsupportedLayer: positions are no torus, or are moved together.
        """
        modes = self._modes(self._laws[z].grid)
        change = np.ones(modes.diagonal.pick.shape)
        return self._changed(change, self._modes, lambda f, changes, grid: self._alone(f.alone, changes, grid))

    def parallel_waves(self) -> Array:
        """By how much small variations of the neurons' variance over positions grow, for all k; flat.

        Raises:
            UnsupportedLayer: positions are no torus, or an average over all responds.
        """
        modes = self._modes(self._laws[z].grid)
        moved = {z: np.ones(modes.diagonal.pick.shape)}

        def response(formula: Compiled, grid: Lattice) -> Array:
            total = np.zeros(modes.diagonal.pick.shape)
            for symbol, slope in formula.slopes.items():
                role = formula.roles[symbol]
                if role.other is not None and MEAN in (role.one.position, role.other.position, role.one.input):
                    grid.with_mean(total)  # refuses
                total = total + self._at(slope, {}, grid, grid.diagonal) * moved[role.name]
            return total

        for step in self._formulas.law.steps:
            if isinstance(step, DrawStep):
                draw, grid = step.draw, self._modes(self._grams[step.draw.name].grid)
                grams = GridGrams(grid, self._grams[draw.name].grams, self._number)
                changes = [response(gram.alone, grid) for gram in step.grams]
                moved[draw.name] = self._number(draw.C_W) * draw.across.grid_tangent(grams, changes)
                continue
            name = step.mean.name
            change = response(step.value, self._modes(self._statistics[name][0]))
            moved[name] = np.where(np.arange(len(change)) == 0, change, 0) if step.mean.over == "position" else change
        return response(self._formulas.next.alone, self._modes(self.next.grid))

    def _modes(self, grid: Lattice) -> Modes:
        if isinstance(grid, Torus):
            return Modes(*grid.shape)
        raise UnsupportedLayer(f"waves on {grid}", "positions are not alike", "pass positions=Torus(8, 8)")

    def _changed(
        self,
        change: Array,
        seen: Callable[[Lattice], Lattice],
        values: Callable[[PairFormula, Changes, Lattice], Array],
    ) -> Array:
        changes = {z: change}
        for name, formulas in self._formulas.changes.items():
            draw = next(draw for draw in self._formulas.law.program.draws if draw.name == name)
            grams = self._grams[name]
            grid = seen(grams.grid)
            moved = [values(formula, changes, grid) for formula in formulas]
            rule = draw.across.grid_tangent(replace(grams, grid=grid), moved)
            changes[name] = self._number(draw.C_W) * rule
        return values(self._formulas.next_change, changes, seen(self.next.grid))

    # ---- formulas on arrays ------------------------------------------------------------------------------------

    def _number(self, expression: sp.Expr) -> float:
        return float(expression.xreplace(dict(self._numbers)))

    def _grid(self, formulas: Sequence[Compiled]) -> Lattice:
        """The positions of what stands in some formulas.

        Raises:
            UnsupportedLayer: there are several.
        """
        names = {role.name for formula in formulas for role in formula.roles.values()}
        grids = {self._laws[name].grid if name in self._laws else self._statistics[name][0] for name in names}
        if len(grids) > 1:
            shown = " and ".join(sorted(map(str, grids)))
            raise UnsupportedLayer("a layer with a stride", f"it adds neurons on {shown}", "take equal strides")
        return next(iter(grids), self._laws[z].grid)

    def _array(self, formula: PairFormula, changes: Changes, grid: Lattice) -> Array:
        """The values for all pairs of positions."""
        return self._values(formula, changes, grid, grid.table)[grid.table.spread]

    def _apart(self, formula: PairFormula) -> float | None:
        """The value for two inputs of a batch, if there is one."""
        if self._laws[z].apart is None:
            return None
        grid = self._laws[z].grid
        return float(self._values(formula, {}, grid, replace(grid.diagonal, is_apart=True))[0])

    def _values(self, formula: PairFormula, changes: Changes, grid: Lattice, pairs: Pairs) -> Array:
        """The values for some pairs; where both neurons are one, the formula of one."""
        is_one = self._are_one(formula, pairs)
        values = np.empty(len(pairs.first))
        for chosen, compiled in ((is_one, formula.alone), (~is_one, formula.pair)):
            if chosen.any():
                values[chosen] = self._at(compiled, changes, grid, pairs.only(chosen))
        return values

    def _alone(self, compiled: Compiled, changes: Changes, grid: Lattice) -> Array:
        """The values at every place."""
        return np.broadcast_to(self._at(compiled, changes, grid, grid.diagonal), grid.diagonal.pick.shape)

    def _at(self, compiled: Compiled, changes: Changes, grid: Lattice, pairs: Pairs) -> Array | float:
        def number(symbol: sp.Symbol) -> Array | float:
            role = compiled.roles.get(symbol)
            return self._numbers[symbol] if role is None else self._of_role(role, {}, grid, pairs)

        if not changes or not compiled.changes:  # or nothing moves it, or a jump
            return compiled(number)
        if (compiled, grid) not in self._slopes:  # all places of a grid are asked for together
            self._slopes[compiled, grid] = [
                (compiled.roles[s], self._of_batch(slope) * self._at(slope, {}, grid, pairs))
                for s, slope in compiled.changes.items()
            ]
        terms = (slope * self._of_role(role, changes, grid, pairs) for role, slope in self._slopes[compiled, grid])
        return reduce(operator.add, terms)

    def _are_one(self, formula: PairFormula, pairs: Pairs) -> NDArray[np.bool_]:
        """Whether the neurons of both places are one: all that stands in the formula has the same value there."""
        result = np.ones(len(pairs.first), dtype=bool)
        both: Array | float
        for name in {role.name for role in formula.pair.roles.values()}:
            if name in self._statistics:
                values = self._statistics[name][1]
                both, one, other = values[pairs.first], values[pairs.first], values[pairs.second]
            else:
                values = self._variances(name)
                both, one, other = self._both(name, pairs), values[pairs.first], values[pairs.second]
            for variance in (one, other):
                result &= np.abs(both - variance) <= _PARALLEL * np.abs(variance)
        return result if formula.pair.roles else pairs.first == pairs.second

    def _of_role(self, role: Role, changes: Changes, grid: Lattice, pairs: Pairs) -> Array | float:
        """The values of a symbol for some pairs."""
        places = {ONE.input: pairs.first, OTHER.input: pairs.second}
        if role.other is None:
            return self._statistics[role.name][1][places[role.one.input]]
        labels, is_change = (role.one, role.other), role.one.is_tangent
        is_one_input = role.one.input == role.other.input
        if (role.is_of_batch and not grid.holds_batch) or (pairs.is_apart and not is_one_input):
            return self._between(role.name)
        of = grid if is_change else self._laws[role.name].grid
        covariances = changes[role.name] if is_change else self._laws[role.name].kernel
        if means := [label for label in labels if MEAN in label[:2]]:
            rows = of.with_mean(covariances)
            if len(means) == 2:
                return float(rows.mean())
            if is_change and is_one_input:  # of a formula of one place that stands for two
                return (rows[pairs.first] + rows[pairs.second]) / 2
            (label,) = (label for label in labels if label not in means)
            return rows[places[label.input]]
        if is_change:
            return covariances.ravel()[pairs.pick]
        variances = np.maximum(self._variances(role.name), _SMALLEST)
        if is_one_input:
            return variances[places[role.one.input]]
        largest = _BELOW * np.sqrt(variances[pairs.first] * variances[pairs.second])
        return np.clip(self._both(role.name, pairs), -largest, largest)

    def _variances(self, name: sp.Symbol) -> Array:
        state = self._laws[name]
        return state.grid.alone(state.kernel)

    def _both(self, name: sp.Symbol, pairs: Pairs) -> Array | float:
        """The covariances of a source at both places."""
        return self._between(name) if pairs.is_apart else self._laws[name].kernel.ravel()[pairs.pick]

    def _between(self, name: sp.Symbol) -> float:
        """The covariance of a source between two inputs of a batch.

        Raises:
            DeclarationError: there is no number for it.
        """
        if (apart := self._laws[name].apart) is None:
            found = "M, the covariance of two inputs of the batch, has no value"
            raise DeclarationError("kernels of a batch on a grid", found, "pass it by name: M=0.1")
        return apart
