"""The stream values of a stretch that were read so far, how each becomes an expression of a layer, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import sympy as sp
import torch

from ...activations.activation import Activation, formula_name
from ...core.errors import SymresError
from ...core.symbols import z
from ...layers.nodes import Dense
from ...report.text.formula_text import Maths
from ..activations.symbolic_tensor import Recording
from ..tracing.run_record import RecordedCall, RunRecord
from .formula_values import DenseUse, FormulaValue, NotRead, Uneven, WeightedCall
from .norm_statistics import NeuronAverages
from .pointwise_chains import KnownActivations, PointwiseChain, multiple_of_identity

WIDTH = sp.Dummy("n", positive=True)  # of the stream, known when all calls are read


@dataclass(frozen=True)
class Interpretation:
    """What calls compute.

    Args:
        expression: of the last one, in ``sr.z`` and nodes.
        dense: the draws in it, in order.
        activations: in order, each once.
        norms: the names of modules that normalise.
        axis: of neurons in the last value, negative; None where nothing says it.
        is_uneven: whether the last value is a norm whose weights differ between neurons.
    """

    expression: sp.Expr
    dense: tuple[DenseUse, ...]
    activations: tuple[Activation, ...]
    norms: tuple[str, ...]
    axis: int | None
    is_uneven: bool


@dataclass(frozen=True)
class HiddenCalls:
    """Calls that are not read: a function of what goes in.

    Args:
        name: of the function.
        calls: their numbers.
        given: stream values that go in.
        made: stream values that come out and are used.
    """

    name: str
    calls: frozenset[int]
    given: tuple[int, ...]
    made: tuple[int, ...]


@dataclass
class EquationState:
    """What was read so far.

    Args:
        record: the run that the calls are from.
        known: activations that were read before.
        entry: the stream value that is ``sr.z``.
        axis: of neurons in the entry, negative; None if it is not known.
        hidden: calls that are not looked at.
    """

    record: RunRecord
    known: KnownActivations
    entry: int
    axis: int | None = None
    hidden: Sequence[HiddenCalls] = ()

    def __post_init__(self) -> None:
        self._values = {self.entry: FormulaValue(z, self.entry, axis=self.axis)}
        self._recording = Recording("a stretch of the model")
        self._averages = NeuronAverages()
        self._weights: dict[int, WeightedCall] = {}  # by the number of the call
        self._inputs: dict[int, tuple[sp.Expr, Uneven, tuple[int, ...] | None]] = {}
        self._uses_of_entry = 0
        self._hidden_values: set[int] = set()
        self._draws: dict[tuple[int, tuple[int, ...] | None], FormulaValue] = {}
        self._activations: list[Activation] = []
        self._norms: list[str] = []
        self._passing: set[int] = set()
        self._calls: dict[int, RecordedCall] = {}
        self._closed: dict[FormulaValue, sp.Expr] = {}

    def _hide(self, part: HiddenCalls) -> None:
        """What comes out of hidden calls, as a function of what goes in as far as that was read."""
        given = []
        for number in part.given:
            try:
                given.append(self._expression(self._values[number], None))
            except (NotRead, KeyError):
                given.append(sp.Symbol("u", real=True))
        for index, number in enumerate(part.made):
            self._hidden_values.add(number)
            name = part.name if len(part.made) == 1 else f"{part.name}.output{index + 1}"
            if number not in self._values:
                self._values[number] = FormulaValue(sp.Function(name, real=True)(*dict.fromkeys(given)), number)

    def _uses_in(self, expression: sp.Expr, last: RecordedCall) -> list[DenseUse]:
        """The draws in an expression, in the order of the model."""
        drawn = expression.atoms(Dense)
        used = [value for value in self._draws.values() if value.base in drawn]
        for value in used:
            if value.part is not None and any(o.start == value.start and o.part is None for o in used):
                raise NotRead(last, "the output of a dense layer is used both as a whole and in parts")
        for value, other in combinations(used, 2):
            same = value.start == other.start and value.part is not None and other.part is not None
            if same and set(value.part or ()) & set(other.part or ()):
                raise NotRead(last, "parts of the output of a dense layer that are used separately overlap")
        return [value.dense for value in used if value.dense is not None]

    def _drawn(self, call: RecordedCall, part: tuple[int, ...] | None) -> FormulaValue:
        """The neurons of a dense layer, or some of them: each set a draw of its own."""
        number = call.results[0]
        if (number, part) not in self._draws:
            made = self._weights[call.number]
            inner, uneven, order = self._inputs[call.number]
            index = len(self._draws) + 1
            use = DenseUse(
                call.inside[-1].name or self.record.name_of(made.tensor, call.name),
                sp.Dummy(f"C_W{index}", positive=True),
                sp.Dummy(f"C_b{index}", nonnegative=True),
                made,
                part,
                uneven.scale,
                uneven.shift,
            )
            node = Dense(inner, use.C_W, use.C_b, sp.Rational(use.fan_out) / WIDTH)
            self._draws[number, part] = FormulaValue(node, number, axis=made.axis, part=part, dense=use, order=order)
        return self._draws[number, part]

    def _expression(self, value: FormulaValue, consumer: RecordedCall | None, *, uneven: bool = False) -> sp.Expr:
        """A value as an expression of the layer, its formula as an activation."""
        last = self._calls[max(value.calls)] if value.calls else consumer
        if value.uneven is not None and not uneven:
            raise NotRead(last, "the weights or biases of a norm differ between neurons")
        if value not in self._closed:
            self._closed[value] = self._activated(value, last)
        return self._closed[value]

    def _activated(self, value: FormulaValue, last: RecordedCall | None) -> sp.Expr:
        formula = value.formula.subs(self._recording.cut.on, 0)
        if self._averages.is_in(formula):
            raise NotRead(last, "averages over neurons are used in a way that is neither LayerNorm nor RMSNorm")
        factor = multiple_of_identity(formula)
        if factor is not None:
            return factor * value.base
        calls = [self._calls[number] for number in sorted(value.calls)]
        assert last is not None
        try:
            chain = PointwiseChain(_name(calls, formula), calls, value.start, last.results[0], frozenset(self._passing))
            activation = self.known.read(formula, chain)
        except SymresError as error:
            raise NotRead(last, error.found) from error
        if activation not in self._activations:
            self._activations.append(activation)
        return activation(value.base)

    def _set(self, call: RecordedCall, value: FormulaValue) -> None:
        if len(call.results) != 1:
            raise NotRead(call, f"symres has no rule for the operation {call.name}")
        self._values[call.results[0]] = value

    def _shape(self, call: RecordedCall) -> torch.Size:
        return self.record.values[call.sources[0]].shape


def _name(calls: Sequence[RecordedCall], formula: sp.Expr) -> str:
    """The name of a chain of operations: that of the innermost module with all of them; of a block, their formula."""
    shared = [module for module in calls[0].inside if all(module in call.inside for call in calls)]
    innermost = shared[-1].module
    if any(True for _ in innermost.children()):
        return formula_name(Maths(unicode=False)(formula))
    return type(innermost).__name__
