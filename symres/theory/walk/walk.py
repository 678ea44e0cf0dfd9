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
from ...functions.records.special_function import SpecialFunction
from ...gaussian.calculus.expectation import Expectation
from ...gaussian.closed_form.average import average as closed_form
from ...layers.across import HERE
from ...layers.layouts import MEAN, Label, Layout, Pair
from ...layers.program import Draw, Mean, Program, phis
from .assignments import Assignment
from .linear_forms import Averager, Form, Place, form, lowest_terms

Kernel = dict[Pair, sp.Expr]
Factor = tuple[sp.Expr, Label]  # a function of a neuron, at a place


@dataclass(frozen=True)
class EmpiricalAverage:
    """``constant + weight (1/n) sum_i F(neuron i)``: what a network computes, and neurons notice each other by.

    Args:
        factors: whose product is F, each at a place.
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
        layout: the places of its neurons.
        kernel: covariances of the stream, {(a, b): symbol}; those of the layout unless given.
    """

    program: Program
    layout: Layout
    kernel: Kernel = field(default_factory=dict)
    assignments: list[Assignment] = field(default_factory=list)
    _covariances: dict[tuple[sp.Symbol, Label, Label], sp.Expr] = field(default_factory=dict)
    _statistics: dict[tuple[sp.Symbol, Label], sp.Expr] = field(default_factory=dict)
    _grams: dict[sp.Symbol, list[Kernel]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kernel = self.kernel or dict(self.layout.kernel)
        for (a, b), value in self.kernel.items():
            self._covariances[symbols.z, a, b] = value
        for instruction in self.program.instructions:
            if isinstance(instruction, Draw):
                self._draw(instruction)
            elif isinstance(instruction, Mean):
                self._mean(instruction)

    @property
    def first(self) -> Label:
        """The first place."""
        return self.labels[0]

    @property
    def labels(self) -> list[Label]:
        """The places where statistics have a value each."""
        return sorted(a for a, b in self.kernel if a == b)

    @property
    def arguments(self) -> tuple[sp.Symbol, ...]:
        """The kernels: (K,), (K1, K2, C) or, for a batch, (K, C)."""
        kernel = self.layout.kernel.items()
        return (*(value for (a, b), value in kernel if a == b), *(value for (a, b), value in kernel if a != b))

    def entropies(self) -> list[sp.Expr]:
        """The mean entropies, in nats, of the weights of every attention."""
        rules = ((draw.across, self._grams[draw.name]) for draw in self.program.draws if draw.across != HERE)
        entropies = (rule.entropy(self.layout, grams) for rule, grams in rules)
        return [entropy for entropy in entropies if entropy is not None]

    def _mean(self, mean: Mean) -> None:
        width = self.program.width(mean.integrand)
        for a in self.labels:
            average = EmpiricalAverage(((mean.integrand, a),), width=width)
            value = self._required(mean, self._value(average))
            self._statistics[mean.name, a] = self._kept(self.name(mean.name, a), value, average)

    def _required(self, mean: Mean, value: sp.Expr) -> sp.Expr:
        """The value of a statistic, which is not 0 if a normaliser divides by it."""
        if value == 0 and mean.name in self.program.divisors:
            found = f"what it divides by, the average {mean}, is 0 for every kernel"
            raise UnsupportedLayer(f"the node {mean.node}", found, "normalise something that varies")
        return value

    def _draw(self, draw: Draw) -> None:
        width = self.program.width(draw.u)
        if draw.across.is_uncorrelated and draw.C_b != 0:
            found = "biases of positions are the same for all neurons, which have a mean then"
            raise UnsupportedLayer(f"the biases of {draw.name} = TokenMix({draw.u})", found, "pass C_b = 0")
        if draw.across != HERE:
            self._grams[draw.name] = [self._gram(draw, u, number) for number, u in enumerate(draw.arguments)]
            for pair, mixed in draw.across.kernel(self.layout, self._grams[draw.name]).items():
                self._covariances[draw.name, *pair] = self._named(draw.name, "S", pair, draw.C_b + draw.C_W * mixed)
            return
        for a, b in self.kernel:
            average = EmpiricalAverage(((draw.u, a), (draw.u, b)), draw.C_W, draw.C_b, width)
            name = symbols.variance(draw.name, self.layout.index(a, b), a == b)
            self._covariances[draw.name, a, b] = self._kept(name, self._value(average), average)

    def _gram(self, draw: Draw, u: sp.Expr, number: int) -> Kernel:
        """The Gram numbers of what a draw that mixes positions reads."""
        letter = "UV"[number]
        values = {(a, b): self.in_lowest_terms(self.mean((u, a), (u, b))) for a, b in self.kernel}
        if draw.across.is_uncorrelated:  # whether tokens are, closed forms say
            values = {pair: value if _closed(value) != 0 else sp.S.Zero for pair, value in values.items()}
        return {pair: self._named(draw.name, letter, pair, value) for pair, value in values.items()}

    def _named(self, source: sp.Symbol, letter: str, pair: Pair, value: sp.Expr) -> sp.Expr:
        """A name for a value with averages or special functions in it, else the value."""
        if not value.has(Expectation, SpecialFunction):
            return value
        name = symbols.variance(source, self.layout.index(*pair), pair[0] == pair[1], letter)
        self.assignments.append((name, value))
        return name

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
        statistics = {self.name(name, a) for name, a in self._statistics}
        for name, meaning in reversed(self.assignments):
            if name in statistics:
                value = _outside_averages(value, name, meaning)
        return lowest_terms(value)

    def name(self, statistic: sp.Symbol, a: Label) -> sp.Symbol:
        """The name of a statistic at a place."""
        return symbols.at_place(statistic, self.layout.index(a))

    def stream(self, a: Label, b: Label) -> sp.Expr:
        """The covariance of the next stream at places a and b."""
        return self.in_lowest_terms(Averager(self._at_places).between(self.out(a), self.out(b)))

    def out(self, a: Label) -> Form:
        """The next stream at place a as a linear form in the sources."""
        return self._form(self.program.out, a)

    def covariance(self, source: sp.Symbol, a: Label, b: Label) -> sp.Expr:
        """The covariance of one source at two places, of which either may be an average."""
        shares = self.layout.shares(a, b)
        return sp.Add(*(share * self._covariances[source, *pair] for pair, share in shares))

    def _at_places(self, one: Place, other: Place) -> sp.Expr:
        return self.covariance(one[0], one[1], other[1]) if one[0] == other[0] else sp.Integer(0)

    def at(self, expression: sp.Expr, a: Label) -> sp.Expr:
        """An expression with the statistics of place a."""
        at = self.layout.alike(a)
        return expression.xreplace({s: value for (s, b), value in self._statistics.items() if b == at})

    def mean(self, *factors: Factor, jumps: bool = False) -> sp.Expr:
        """``<u_a v_b ...>`` for factors (u, a), (v, b), ..., in unevaluated averages.

        Args:
            factors: expressions in neurons, each at a place.
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

    def _gaussian(self, averager: Averager, u: sp.Expr, a: Label) -> sp.Expr:
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
        return (*self.program.sources, *self.program.averages)

    def _form(self, u: sp.Expr, a: Label) -> Form:
        """An expression that the program knows to be linear, as a form."""
        found = self._linear(u, a)
        assert found is not None
        return found

    def _linear(self, u: sp.Expr, a: Label) -> Form | None:
        """The expression at place a as a linear form in the sources, None if it is no such form."""
        if u in self.program.sources:
            return (((u, a), sp.Integer(1)),)
        u = self.at(u, a)
        slopes = {s: u.diff(s) for s in self._neurons if u.has(s)}
        if any(not c.free_symbols.isdisjoint(self._neurons) for c in slopes.values()):
            return None
        parts: list[tuple[Place, sp.Expr]] = []
        for s, c in slopes.items():
            if average := self.program.averages.get(s):
                mean = a._replace(input=MEAN) if average.over == "input" else a._replace(position=MEAN)
                parts += [(place, c * d) for place, d in self._form(average.u, mean)]
            else:
                parts.append(((s, a), c))
        return form(parts)


def _closed(value: sp.Expr) -> sp.Expr:
    """A value with closed forms in the place of averages that have one."""
    averages = {node: closed_form(node.integrand, node.law) for node in value.atoms(Expectation)}
    return value.xreplace({node: average.expr for node, average in averages.items() if average.exact})


def _outside_averages(value: sp.Expr, name: sp.Symbol, meaning: sp.Expr) -> sp.Expr:
    """A value with the meaning of a name in its place, except in the integrands and laws of averages."""
    averages = {e: sp.Dummy(real=True) for e in value.atoms(Expectation) if e.has(name)}
    back = {dummy: e for e, dummy in averages.items()}
    return value.xreplace(averages).xreplace({name: meaning}).xreplace(back)
