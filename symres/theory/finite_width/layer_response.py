"""How the statistics of a layer respond to one another, from the walk in which every empirical average has a name.

The state of the stream is its mean ``m_a`` and kernel ``K_ab`` for each input and pair of inputs. The mean is 0, and so
are averages of odd functions, but their responses are not.

The law of a neuron at inputs a and b depends on the kernels of these two alone. So do the average of a product of
functions of the neuron at a and at b, and all that it responds to. A theory of any number of inputs is thus made of
pairs: each pair of inputs is a *view* of the layer, and of a neuron; one input is a view of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import TypeVar

import sympy as sp

from ...core import symbols
from ...core.errors import UnsupportedLayer
from ...layers.layouts import Label, Layout, Single
from ...layers.program import Mean, Program, phis
from ...numerics.deferred_numpy import NDArray, np
from ..walk.linear_forms import lowest_terms
from ..walk.walk import EmpiricalAverage, Kernel, Walk

Inputs = tuple[int, ...]
N = TypeVar("N", float, sp.Expr)  # numbers, or expressions
_ZERO = sp.Integer(0)


def views_of(p: int) -> list[Inputs]:
    """The pairs of different inputs, in order; of one input this."""
    return list(combinations(range(p), 2)) if p > 1 else [(0,)]


def state_places(p: int) -> list[Inputs]:
    """The inputs of each entry of the state: p means, then the kernels of the pairs a <= b."""
    return [*((a,) for a in range(p)), *combinations_with_replacement(range(p), 2)]


def of_view(places: list[Inputs], view: Inputs) -> list[Inputs]:
    """Places at the inputs 0 and 1 of a view, as places at the inputs of the network."""
    return [tuple(view[a] for a in place) for place in places]


def block(rows: Sequence[int], columns: Sequence[int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The index of some rows and columns of a matrix."""
    return np.array(rows, dtype=np.intp)[:, None], np.array(columns, dtype=np.intp)


@dataclass
class FluctuatingWalk(Walk):
    """The walk that gives each empirical average a name, and keeps it in what follows unless its value is 0."""

    averages: dict[sp.Symbol, EmpiricalAverage] = field(default_factory=dict)

    def _kept(self, name: sp.Symbol, value: sp.Expr, average: EmpiricalAverage) -> sp.Expr:
        """A name, also for a value without averages."""
        self.averages[name] = average
        self.assignments.append((name, value))
        return value if value == 0 else name

    def in_lowest_terms(self, value: sp.Expr) -> sp.Expr:
        """A value in lowest terms that keeps the names of all averages."""
        return lowest_terms(value)


@dataclass(frozen=True)
class LayerResponse:
    """The averages of a layer, in the order in which it computes them, and their slopes."""

    program: Program  # the layer
    inputs: int = 1  # the number of inputs, 1 or more

    def __post_init__(self) -> None:
        if self.program.has_positions:
            raise UnsupportedLayer(
                "the fluctuations of a layer",
                "it mixes positions, and they are known for layers without positions",
                "ask for the maps at infinite width",
            )
        if self.program.has_batch:
            raise UnsupportedLayer(
                "the fluctuations of a layer",
                "it normalises over a batch, whose fluctuations symres does not derive",
                "normalise over neurons (LayerNorm, RMSNorm), or ask for the maps at infinite width",
            )

    @cached_property
    def kernel(self) -> Kernel:
        """Symbols of the stream's kernel: K of one input, else K_ab for a <= b."""
        if self.inputs == 1:
            return dict(self.layout.kernel)
        return {
            (a, b): sp.Dummy(f"K{a.input}{b.input}", real=True, positive=True if a == b else None)
            for a, b in self.layout.pairs
        }

    @property
    def layout(self) -> Layout:
        """Inputs of which none is like another."""
        return Layout(Single(self.inputs))

    @cached_property
    def walk(self) -> FluctuatingWalk:
        """The law of the layer's neurons."""
        return FluctuatingWalk(self.program, self.layout, self.kernel)

    @cached_property
    def means(self) -> dict[Label, sp.Symbol]:
        """Symbols of the stream's mean at each input."""
        return {a: sp.Dummy(f"m{a.input}", real=True) for a in self.walk.labels}

    @cached_property
    def state(self) -> tuple[sp.Symbol, ...]:
        """The symbols of the stream's mean at each input, then of its kernel at each pair."""
        return (*self.means.values(), *self.kernel.values())

    @property
    def averages(self) -> dict[sp.Symbol, EmpiricalAverage]:
        """The empirical averages by name, in order."""
        return self.walk.averages

    @cached_property
    def places(self) -> list[tuple[sp.Symbol, Inputs]]:
        """Of each average what computes it, and the inputs that it belongs to, numbered from 0."""
        numbers = {a: k for k, a in enumerate(self.walk.labels)}
        places = []
        for instruction in self.program.instructions:
            of = [(a,) for a in numbers] if isinstance(instruction, Mean) else self.kernel
            places += [(instruction.name, tuple(numbers[a] for a in place)) for place in of]
        return places

    @cached_property
    def values(self) -> dict[sp.Symbol, sp.Expr]:
        """What each average is at infinite width, in the names of averages before it."""
        return dict(self.walk.assignments)

    @cached_property
    def slopes(self) -> dict[sp.Symbol, dict[sp.Symbol, sp.Expr]]:
        """The partial derivatives of each average, by name, in the state and in the averages before it."""
        slopes: dict[sp.Symbol, dict[sp.Symbol, sp.Expr]] = {}
        before = list(self.kernel.values())
        for name, value in self.values.items():
            of_average = {s: value.diff(s) for s in before if value.has(s)}
            of_average |= self._along_means(self.averages[name])
            slopes[name] = of_average | self._along_centred(self.averages[name])
            before.append(name)
        return slopes

    @cached_property
    def slopes_after(self) -> tuple[dict[sp.Symbol, sp.Expr], ...]:
        """The partial derivatives of each entry of the next state, in the state and in the averages."""
        walk, out = self.walk, self.program.out
        bare = out.xreplace(dict.fromkeys(self.program.sources, sp.Integer(0)))
        of_means = []
        for a in walk.labels:
            slopes = {self.means[a]: walk.at(out.diff(symbols.z), a)}
            slopes |= {walk.name(s, a): walk.at(bare.diff(s), a) for s in self._statistics if bare.has(s)}
            of_means.append(slopes)
        variables = (*self.kernel.values(), *self.averages)
        streams = [walk.stream(a, b) for a, b in self.kernel]
        return (*of_means, *({s: value.diff(s) for s in variables if value.has(s)} for value in streams))

    @property
    def _statistics(self) -> list[sp.Symbol]:
        """The names of the averages that expressions of the program contain."""
        return [i.name for i in self.program.instructions if isinstance(i, Mean)]

    def _along_centred(self, average: EmpiricalAverage) -> dict[sp.Symbol, sp.Expr]:
        """The slopes in averages whose value is 0: those of the integrand."""
        along: dict[sp.Symbol, sp.Expr] = {}
        for s in self._statistics:
            for k, (u, a) in enumerate(average.factors):
                name = self.walk.name(s, a)
                if u.has(s) and self.values[name] == 0:
                    moved = [*average.factors[:k], (u.diff(s), a), *average.factors[k + 1 :]]
                    jumps = any(not phi.pieces.is_continuous for phi in phis(u))
                    slope = average.weight * self.walk.in_lowest_terms(self.walk.mean(*moved, jumps=jumps))
                    along[name] = along.get(name, sp.Integer(0)) + slope
        return {name: slope for name, slope in along.items() if slope != 0}

    def _along_means(self, average: EmpiricalAverage) -> dict[sp.Symbol, sp.Expr]:
        """The slopes in the stream's means: ``d<F>/dm_a = sum_b (K^-1)_ab <F z_b>``, for any F."""
        inputs = self.walk.labels
        along = [self.walk.in_lowest_terms(self.walk.mean(*average.factors, (symbols.z, b))) for b in inputs]
        if not any(along):
            return {}
        matrix = sp.Matrix([[self.walk.covariance(symbols.z, a, b) for b in inputs] for a in inputs])
        slopes = average.weight * matrix.inv() * sp.Matrix(along)
        return {m: lowest_terms(slope) for m, slope in zip(self.means.values(), slopes, strict=True) if slope != 0}

    def covariance(self, one: sp.Symbol, other: sp.Symbol) -> sp.Expr:
        """The covariance of the noise of two averages, times n; 0 between populations of different widths."""
        first, second = self.averages[one], self.averages[other]
        if first.width != second.width:
            return sp.Integer(0)
        mean = self.walk.in_lowest_terms
        both = mean(self.walk.mean(*first.factors, *second.factors))
        apart = mean(self.walk.mean(*first.factors)) * mean(self.walk.mean(*second.factors))
        return first.weight * second.weight * (both - apart) / first.width


def total_slopes(
    after: Sequence[Mapping[sp.Symbol, N]],
    averages: Mapping[sp.Symbol, Mapping[sp.Symbol, N]],
    state: Sequence[sp.Symbol],
) -> tuple[list[list[N]], list[list[N]]]:
    """The total derivatives of the next state in the state, and in the noise of each average.

    Args:
        after: partial slopes of each entry of the next state.
        averages: partial slopes of each average, in their order.
        state: symbols of the state.

    Returns:
        The rows of J and of T, by reverse accumulation: each average is eliminated after all that depend on it.
    """
    order = list(averages)
    J, T = [], []
    for slopes in after:
        total = dict(slopes)
        for name in reversed(order):
            if weight := total.get(name):
                for s, slope in averages[name].items():
                    total[s] = total[s] + weight * slope if s in total else weight * slope
        J.append([total.get(s, _ZERO) for s in state])
        T.append([total.get(s, _ZERO) for s in order])
    return J, T
