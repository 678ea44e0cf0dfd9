"""The walk: the law of the neurons carried through a program.

Every Gaussian variable is a linear form in base sources (the stream and the Draws), so covariances are dot products.
An empirical average becomes an average over the law of the forms that occur in it. Nothing here knows a node, an
activation or an architecture.

The average of a neuron over a large batch of exchangeable inputs is that neuron at one more input, whose covariance
with every input, and with itself, is that of two different inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import sympy as sp

from ...activations.atom import Phi
from ...core import symbols
from ...core.errors import UnsupportedLayer
from ...core.work_budget import NODE, spend
from ...gaussian.calculus.expectation import Expectation
from ...layers.program import Draw, Mean, Program, phis
from .assignments import Assignment
from .linear_forms import Averager, Form, Place, form, lowest_terms

Kernel = dict[tuple[int, int], sp.Expr]
Factor = tuple[sp.Expr, int]  # a function of a neuron, at an input

ONE_INPUT: Kernel = {(0, 0): symbols.K}
TWO_INPUTS: Kernel = {(1, 1): symbols.K1, (1, 2): symbols.C, (2, 2): symbols.K2}
BATCH: Kernel = {(1, 1): symbols.K, (1, 2): symbols.C}  # any two inputs of a batch
SHARED = -1  # the input that stands for the average over a batch


@dataclass(frozen=True)
class EmpiricalAverage:
    """``constant + weight (1/n) sum_i F(neuron i)``: what a network computes, and neurons notice each other by.

    Args:
        factors: whose product is F, each with the number of an input.
        weight: in front of the average.
        constant: added to it.
        width: number of neurons that are averaged over, in units of the stream's width n.
    """

    factors: tuple[Factor, ...]
    weight: sp.Expr = sp.S.One
    constant: sp.Expr = sp.S.Zero
    width: sp.Expr = sp.S.One


@dataclass
class Walk:
    """The law of one layer's neurons, as a straight-line list of assignments.

    Args:
        program: the layer.
        kernel: covariances of the stream, {(input a, input b): symbol} with a <= b.
    """

    program: Program
    kernel: Kernel
    assignments: list[Assignment] = field(default_factory=list)
    _covariances: dict[tuple[sp.Symbol, int, int], sp.Expr] = field(default_factory=dict)
    _statistics: dict[tuple[sp.Symbol, int], sp.Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for (a, b), value in self.kernel.items():
            self._covariances[symbols.z, a, b] = value
        for instruction in self.program.instructions:
            if isinstance(instruction, Draw):
                self._draw(instruction)
            elif isinstance(instruction, Mean):
                self._mean(instruction)

    @classmethod
    def of_one(cls, program: Program) -> Walk:
        """The law for one input; of a batch, for any two."""
        return cls(program, BATCH if program.batches else ONE_INPUT)

    @classmethod
    def of_two(cls, program: Program) -> Walk:
        """The law for two inputs."""
        return cls(program, BATCH if program.batches else TWO_INPUTS)

    @property
    def first(self) -> int:
        """The number of the first input: 0 if there is one, else 1."""
        return min(a for a, _ in self.kernel)

    @property
    def inputs(self) -> list[int]:
        """The numbers of the inputs."""
        return sorted(a for a, b in self.kernel if a == b)

    @property
    def arguments(self) -> tuple[sp.Symbol, ...]:
        """The kernels: (K,), (K1, K2, C) or, for a batch, (K, C)."""
        diagonal = [value for (a, b), value in self.kernel.items() if a == b]
        return (*diagonal, *(value for (a, b), value in self.kernel.items() if a != b))

    def _mean(self, mean: Mean) -> None:
        width = self.program.width(mean.integrand)
        for a in self.inputs:
            average = EmpiricalAverage(((mean.integrand, a),), width=width)
            value = self._value(average)
            if value == 0 and mean.name in self.program.divisors:
                found = f"what it divides by, the average {mean}, is 0 for every kernel"
                raise UnsupportedLayer(f"the node {mean.node}", found, "normalise something that varies")
            self._statistics[mean.name, a] = self._kept(symbols.at_input(mean.name, a), value, average)

    def _draw(self, draw: Draw) -> None:
        width = self.program.width(draw.u)
        for a, b in self.kernel:
            average = EmpiricalAverage(((draw.u, a), (draw.u, b)), draw.C_W, draw.C_b, width)
            name = symbols.variance(draw.name, a, b)
            self._covariances[draw.name, a, b] = self._kept(name, self._value(average), average)

    def _value(self, average: EmpiricalAverage) -> sp.Expr:
        """An empirical average at infinite width."""
        return average.constant + average.weight * self.in_lowest_terms(self.mean(*average.factors))

    def _kept(self, name: sp.Symbol, value: sp.Expr, average: EmpiricalAverage) -> sp.Expr:
        """What stands for an empirical average from now on: a name if its value has averages, else the value."""
        if not value.has(Expectation):
            return value
        self.assignments.append((name, value))
        return name

    def in_lowest_terms(self, value: sp.Expr) -> sp.Expr:
        """A value in lowest terms: with the statistics' values in their place numerators and denominators cancel."""
        statistics = {symbols.at_input(name, a) for name, a in self._statistics}
        for name, meaning in reversed(self.assignments):
            if name in statistics:
                value = _outside_averages(value, name, meaning)
        return lowest_terms(value)

    def stream(self, a: int, b: int) -> sp.Expr:
        """The covariance of the next stream at inputs a and b."""
        return self.in_lowest_terms(Averager(self._at_places).between(self.out(a), self.out(b)))

    def out(self, a: int) -> Form:
        """The next stream at input a as a linear form in the sources."""
        return self._form(self.program.out, a)

    def covariance(self, source: sp.Symbol, a: int, b: int) -> sp.Expr:
        """The covariance of one source at two inputs."""
        return self._covariances[source, *self._alike(a, b)]

    def _alike(self, a: int, b: int) -> tuple[int, int]:
        """The pair of inputs in the kernel that is like this one: inputs of a batch are like one another."""
        if (1, 2) in self.kernel and (2, 2) not in self.kernel:
            return (1, 1) if a == b != SHARED else (1, 2)
        return min(a, b), max(a, b)

    def _at_places(self, one: Place, other: Place) -> sp.Expr:
        return self.covariance(one[0], one[1], other[1]) if one[0] == other[0] else sp.Integer(0)

    def at(self, expression: sp.Expr, a: int) -> sp.Expr:
        """An expression with the statistics of input a."""
        at = 1 if a == SHARED or (a == 2 and (2, 2) not in self.kernel) else a
        return expression.xreplace({s: value for (s, b), value in self._statistics.items() if b == at})

    def mean(self, *factors: Factor, jumps: bool = False) -> sp.Expr:
        """``<u_a v_b ...>`` for factors (u, a), (v, b), ..., in unevaluated averages.

        Args:
            factors: expressions in neurons, each with the number of an input.
            jumps: whether they contain slopes of functions that jump.

        Raises:
            UnsupportedLayer: one product needs more than two Gaussian variables.
        """
        averager, integrand = self.in_variables(*factors, jumps=jumps)
        return averager.average(integrand)

    def in_variables(self, *factors: Factor, jumps: bool = False) -> tuple[Averager, sp.Expr]:
        """The product of factors in Gaussian variables, which are linear forms that the averager knows."""
        spend(NODE * len(factors) * len(self._neurons))
        averager = Averager(self._at_places, jumps)
        for u, a in factors:  # arguments of activations are variables, and neurons beside them multiples of these
            for phi in phis(u):
                self._gaussian(averager, self.at(phi, a), a)
        return averager, sp.Mul(*(self._gaussian(averager, self.at(u, a), a) for u, a in factors))

    def _gaussian(self, averager: Averager, u: sp.Expr, a: int) -> sp.Expr:
        """Replace every linear combination of sources inside an activation, and every other source, by a variable."""
        if u.free_symbols.isdisjoint(self._neurons):
            return u
        if u in self._neurons:
            return averager.variable(self._form(u, a))
        if isinstance(u, Phi) and not u.argument.has(Phi):
            constant = u.argument.xreplace(dict.fromkeys(self._neurons, sp.Integer(0)))
            linear = self._linear(u.argument - constant, a)
            if linear is not None:
                return u.func(u.formula, averager.variable(linear) + constant, *u.args[2:])
        return u.func(*(self._gaussian(averager, argument, a) for argument in u.args))

    @property
    def _neurons(self) -> tuple[sp.Symbol, ...]:
        return (*self.program.sources, *self.program.batches)

    def _form(self, u: sp.Expr, a: int) -> Form:
        """An expression that the program knows to be linear, as a form."""
        found = self._linear(u, a)
        assert found is not None
        return found

    def _linear(self, u: sp.Expr, a: int) -> Form | None:
        """The expression at input a as a linear form in the sources, None if it is no such form."""
        if u in self.program.sources:
            return (((u, a), sp.Integer(1)),)
        u = self.at(u, a)
        slopes = {s: u.diff(s) for s in self._neurons if u.has(s)}
        if any(not c.free_symbols.isdisjoint(self._neurons) for c in slopes.values()):
            return None
        parts: list[tuple[Place, sp.Expr]] = []
        for s, c in slopes.items():
            if s in self.program.batches:
                parts += [(place, c * d) for place, d in self._form(self.program.batches[s], SHARED)]
            else:
                parts.append(((s, a), c))
        return form(parts)


def _outside_averages(value: sp.Expr, name: sp.Symbol, meaning: sp.Expr) -> sp.Expr:
    """A value with the meaning of a name in its place, except in the integrands and laws of averages."""
    averages = {e: sp.Dummy(real=True) for e in value.atoms(Expectation) if e.has(name)}
    back = {dummy: e for e, dummy in averages.items()}
    return value.xreplace(averages).xreplace({name: meaning}).xreplace(back)
