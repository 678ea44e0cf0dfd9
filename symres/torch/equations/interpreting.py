"""Calls of a model as a forward equation: every stream value becomes a formula of neurons that a layer knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import sympy as sp
import torch
from torch.utils._pytree import tree_leaves

from ...activations.activation import Activation, Formula
from ...core.errors import SymresError
from ...core.symbols import z
from ...layers.mixing import Attention, Pool
from ...layers.nodes import Dense, Drawn
from ...layers.normalisation import Normaliser
from ..activations.conversion import read as read_activation
from ..activations.symbolic_tensor import Recording
from ..models.call_arguments import mean_square
from ..tracing.run_record import DROPOUTS, PRODUCTS, SUMS, RecordedCall, RunRecord, StreamValue
from .attention_groups import AttentionGroup
from .call_rules import (
    AVERAGES,
    COPIES,
    NORMS,
    SLICES,
    VIEWS,
    NeuronAverages,
    affine,
    after_view,
    applied,
    is_normed,
    multiple_of_identity,
    norm_call,
    pointwise_chain,
    pooled,
    slices,
    vector_of_neurons,
)
from .draw_names import chain_name, numbered
from .formula_values import (
    DENSE,
    DenseUse,
    FormulaValue,
    Interpretation,
    NotRead,
    OpaquePart,
    Uneven,
    WeightedCall,
    factored,
    is_grouped,
    weighted,
)
from .position_uses import AttentionUse, WindowUse

_WIDTH = sp.Dummy("n", positive=True)  # of the stream, known when all calls are read


@dataclass
class Interpreter:
    """Reads calls one after the other; every stream value becomes a formula of neurons.

    Args:
        record: the run that the calls are from.
        activations: those that were read before, by their formulas: repeated blocks have the same.
        entry: the stream value that is ``sr.z``.
        axis: of neurons in the entry, negative; None if it is not known.
        hidden: calls that are not looked at; what they make is a function of what goes in.
        attention: the attention layers of the run.
        positions: whether pools over all positions, norms over them, and convolutions in groups before a norm are read.
    """

    record: RunRecord
    activations: dict[sp.Expr, Activation]
    entry: int
    axis: int | None = None
    hidden: Sequence[OpaquePart] = ()
    attention: Sequence[AttentionGroup] = ()
    positions: bool = False

    def __post_init__(self) -> None:
        self._values = {self.entry: FormulaValue(z, self.entry, axis=self.axis)}
        self._recording = Recording("a stretch of the model")
        self._averages = NeuronAverages()
        self._weights: dict[int, WeightedCall] = {}  # by the number of the call
        self._inputs: dict[int, tuple[sp.Expr, Uneven, tuple[int, ...] | None]] = {}
        self._uses_of_entry = 0
        self._hidden_values: set[int] = set()
        self._draws: dict[tuple[int, tuple[int, ...] | None], FormulaValue] = {}
        self._attended: dict[sp.Expr, tuple[AttentionUse, list[DenseUse]]] = {}
        self._activations: list[Activation] = []
        self._norms: list[str] = []
        self._passing: set[int] = set()
        self._calls: dict[int, RecordedCall] = {}
        self._closed: dict[FormulaValue, sp.Expr] = {}

    def read(self, calls: Sequence[RecordedCall], end: int) -> Interpretation:
        """The stream value at the end of some calls, which are in order, closed.

        Raises:
            NotRead: a call, or the last value, is no part of a layer.
        """
        self._uses_of_entry = sum(call.sources.count(self.entry) for call in calls)
        self._reading = calls
        read = {call.number for call in calls}.difference(*(part.calls for part in self.hidden))
        groups = [group for group in self.attention if group.calls <= read]
        inner = frozenset[int]().union(*(group.inner for group in groups))
        heads = {group.behind.call.number: group for group in groups}
        for call in calls:
            self._calls[call.number] = call
            part = next((part for part in self.hidden if call.number in part.calls), None)
            if part is not None:
                self._hide(part, calls, end)
                continue
            if self.record.overwritten.intersection(call.sources):
                raise NotRead(call, "a tensor is changed in place through another view of it")
            if call.number in heads:
                self._read_attention(call, heads[call.number])
            elif call.number not in inner:
                self._read_call(call)
        value = self._values[end]
        expression = self._expression(value, None, uneven=True)
        width = None if value.axis is None else int(self.record.values[end].shape[value.axis])
        uses = self._uses_in(expression, calls[-1])
        symbols = numbered(uses)
        numbers = {**symbols, _WIDTH: sp.Integer(1 if width is None else width)}
        expression = expression.xreplace(numbers)
        dense = tuple(replace(use, C_W=symbols[use.C_W], C_b=symbols[use.C_b]) for use in uses)
        named = {formula.name for formula in expression.atoms(Formula)}
        activations = tuple(activation for activation in self._activations if activation.name in named)
        attention = tuple(use for node, (use, _) in self._attended.items() if expression.has(node.xreplace(numbers)))
        norms, is_uneven = tuple(self._norms), value.uneven is not None
        first = next((use.made.axis for use in dense), value.axis) if self.axis is None else self.axis
        return Interpretation(expression, dense, activations, norms, value.axis, is_uneven, attention, first)

    def _read_call(self, call: RecordedCall) -> None:
        """What comes out of one call, by the kind of its operation."""
        missing = [number for number in call.sources if number not in self._values]
        if missing:
            raise NotRead(call, f"the operation {call.name} uses a value that is computed outside of this block")
        sources = [self._values[number] for number in call.sources]
        if not call.has_gradients:
            raise NotRead(call, f"the operation {call.name} stops gradients, or has a backward pass of its own")
        if call.name in DENSE:
            self._read_dense(call)
        elif any(source.wrapped for source in sources):
            raise NotRead(call, f"the operation {call.name} acts on an image to whose edges others were joined")
        elif call.name in NORMS:
            self._read_norm(call)
        elif call.name == "pad" and call.by_name.get("mode") == "circular":
            self._passing.add(call.number)
            self._set(call, replace(sources[0].after(call), wrapped=tuple(call.by_name["pad"])))
        elif self.positions and (axis := pooled(call, sources[0].axis, self._shape(call))) is not None:
            base = Pool(self._expression(sources[0], call))
            self._set(call, FormulaValue(base, call.results[0], axis=axis))
        elif call.name in AVERAGES and len(sources) == 1:
            axis = -1 if sources[0].axis is None else sources[0].axis
            averaged = self._averages.average(call, sources[0], self._shape(call))
            self._set(call, sources[0].after(call, averaged, axis))
        elif call.name in SLICES and len(sources) == 1:
            self._read_slices(call, sources[0])
        elif call.name == "type_as" or (len(sources) == 1 and (call.name in COPIES or self._is_idle_dropout(call))):
            self._read_copy(call, sources[0])
        elif call.name in VIEWS and len(sources) == 1:
            self._passing.add(call.number)
            number = call.sources[0]
            is_free = sources[0].start in self._hidden_values or (number == self.entry and self._uses_of_entry == 1)
            if sources[0].axis is None and is_free:
                self._set(call, sources[0].after(call))  # any arrangement of what is used once, or not read, will do
            else:
                after = self.record.values[call.results[0]].shape
                self._set(call, after_view(call, sources[0], self._shape(call), after))
        else:
            self._read_pointwise(call, sources)

    def _read_copy(self, call: RecordedCall, source: FormulaValue) -> None:
        """A copy, another type of numbers, or dropout that is idle: the formula stays."""
        if not isinstance(call.args[0], StreamValue):
            raise NotRead(call, f"the operation {call.name} acts on a constant")
        before, after = self.record.values[call.sources[0]], self.record.values[call.results[0]]
        if before.shape != after.shape or not after.is_floating_point():
            raise NotRead(call, f"the operation {call.name} changes the shape or the type of numbers")
        if call.name not in COPIES:
            self._passing.add(call.number)
        self._set(call, source.after(call))

    def _is_idle_dropout(self, call: RecordedCall) -> bool:
        if call.name not in DROPOUTS:
            return False
        arguments = call.by_name
        if arguments.get("training", True) and arguments.get("p", 0.5) > 0:
            raise NotRead(call, "dropout is active")
        return True

    def _read_dense(self, call: RecordedCall) -> None:
        """A draw of weights, each of which a layer has once."""
        if is_grouped(call) and not (self.positions and is_normed(call, self._reading)):
            raise NotRead(call, "a grouped convolution: an output channel sees only some of the input channels")
        made = weighted(call)
        self._use_once(made)
        self._inputs[call.number] = self._entering(made)
        self._set(call, self._drawn(call, None))

    def _use_once(self, made: WeightedCall) -> None:
        """Note weights that were not used before."""
        if any(other.tensor is made.tensor for other in self._weights.values()):
            raise NotRead(made.call, "the same weights are used twice in one block")
        if made.bias is not None and any(other.bias is made.bias for other in self._weights.values()):
            raise NotRead(made.call, "the same bias is used twice in one block")
        self._weights[made.call.number] = made

    def _entering(self, made: WeightedCall) -> tuple[sp.Expr, Uneven, tuple[int, ...] | None]:
        """What a dense layer multiplies: its expression, factors of a norm in it, and the order of positions."""
        source = self._values[made.entering]
        if source.axis not in (None, made.axis):
            raise NotRead(made.call, "a dense layer mixes positions, not neurons, which makes them unlike one another")
        expression = self._expression(source, made.call, uneven=True)
        return expression, source.uneven or Uneven(), source.order

    def _read_attention(self, call: RecordedCall, group: AttentionGroup) -> None:
        """Attention, from the dense layers for queries, keys and values to the one behind the heads."""
        self._use_once(group.behind)
        (of_queries, *_, order), (of_keys, *_, other), (of_values, *_, last) = entering = [
            self._entering(made) for made, _ in group.draws
        ]
        if of_keys != of_values or order != other or order != last:
            raise NotRead(call, "attention whose keys and values are made of different streams")
        uses = [
            self._use(made, part, uneven, role)
            for (made, part), (_, uneven, _), role in zip(group.draws, entering, "QKV", strict=True)
        ]
        uses.append(self._use(group.behind, None, Uneven(), "O"))
        queries, keys, values, behind = uses
        factor = sp.nsimplify(float(f"{group.use.scale**2 * group.use.head_width:.8g}"), rational=True)
        node = Attention(
            of_queries,
            behind.C_W * values.C_W,
            behind.C_b,
            factor * queries.C_W,
            keys.C_W,
            C_bQ=factor * queries.C_b,
            C_bV=values.C_b,
            C_O=behind.C_W,
            keys=None if of_keys == of_queries else of_keys,
        )
        self._attended[node] = group.use, uses
        if group.order is not None:
            flat = group.order if order is None else [order[place] for place in group.order]
            order = tuple(flat)
        self._set(call, FormulaValue(node, call.results[0], axis=group.behind.axis, order=order))

    def _read_norm(self, call: RecordedCall) -> None:
        """A normaliser, whose weights are one factor, or else part of the variances of the Dense behind it."""
        node, epsilon, axis = norm_call(call, self._shape(call), self.positions)
        arguments = call.by_name
        source = self._values[arguments["input"].number]
        if source.axis not in (None, axis):
            raise NotRead(call, "a norm acts along an axis that is not the axis of the neurons")
        factor, uneven = affine(call, arguments.get("weight"), arguments.get("bias"))
        base = factor * node(self._expression(source, call), epsilon)
        self._norms.append(call.inside[-1].name or call.name)
        self._set(call, FormulaValue(base, call.results[0], axis=axis, uneven=uneven, order=source.order))

    def _read_slices(self, call: RecordedCall, source: FormulaValue) -> None:
        """Some of the neurons of a dense layer, which are draws of their own: value and gate, for instance."""
        axis = -1 if source.axis is None else source.axis
        parts = slices(call, axis, self._shape(call))
        if len(parts) != len(call.results):
            raise NotRead(call, f"symres has no rule for the operation {call.name}")
        whole = tuple(range(self._shape(call)[axis]))
        if all(part == whole for part in parts):
            self._passing.add(call.number)
            for number in call.results:
                self._values[number] = source.after(call)
            return
        if source.dense is None or source.part is not None or source.uneven is not None:
            raise NotRead(call, f"the operation {call.name} separates some neurons from the others")
        self._passing.add(call.number)
        maker = source.dense.made.call
        for number, part in zip(call.results, parts, strict=True):
            drawn = self._drawn(maker, part)
            self._values[number] = replace(drawn, formula=source.formula, calls=source.calls | {call.number})

    def _read_pointwise(self, call: RecordedCall, sources: list[FormulaValue]) -> None:
        """An operation entry by entry: of one base, with one number for each neuron, or of two values."""
        first = sources[0]
        leaves = [leaf for leaf in tree_leaves((call.args, dict(call.kwargs))) if isinstance(leaf, torch.Tensor)]
        vector = next(
            (v for leaf in leaves if (v := vector_of_neurons(leaf, first.axis, self._shape(call))) is not None), None
        )
        if vector is not None and len(sources) == 1:
            self._read_uneven(call, first, vector)
        elif all(source.has_base_of(first) and source.uneven is None for source in sources):
            formulas = {number: self._values[number].formula for number in call.sources}
            formula = applied(call, formulas, self.record.values, self._recording)
            joined = frozenset().union(*(source.calls for source in sources))
            self._set(call, replace(first, calls=joined).after(call, formula))
            self._normalise(call)
        elif len(sources) == len(call.args) == 2 and not call.kwargs and call.name in SUMS.keys() | PRODUCTS:
            self._combine(call, sources)
        else:
            raise NotRead(call, f"the operation {call.name} combines several values that depend on the input")

    def _combine(self, call: RecordedCall, sources: list[FormulaValue]) -> None:
        """The sum or the product of two different values."""
        shapes = {tuple(self.record.values[number].shape) for number in (*call.sources, call.results[0])}
        axes = {source.axis for source in sources if source.axis is not None}
        if len(shapes) != 1 or len(axes) > 1:
            raise NotRead(call, f"the operation {call.name} combines values of different shapes")
        if sources[0].order != sources[1].order:
            raise NotRead(call, f"the operation {call.name} combines values whose positions are in different orders")
        left, right = (self._expression(source, call) for source in sources)
        base = left + SUMS[call.name] * right if call.name in SUMS else left * right
        self._set(call, FormulaValue(base, call.results[0], axis=axes.pop() if axes else None, order=sources[0].order))

    def _read_uneven(self, call: RecordedCall, source: FormulaValue, vector: torch.Tensor) -> None:
        """Factors or summands behind a norm that differ between neurons."""
        before, square = source.uneven or Uneven(), mean_square(vector)
        is_norm = isinstance(factored(source.base)[1], Normaliser) and source.formula == z
        if call.name in PRODUCTS and is_norm and source.uneven is None:
            self._set(call, replace(source.after(call), uneven=Uneven(square, 0.0)))
        elif call.name in SUMS and is_norm and before.shift == 0:
            self._set(call, replace(source.after(call), uneven=Uneven(before.scale, square)))
        else:
            raise NotRead(call, f"the operation {call.name} takes a constant tensor whose entries differ")

    def _normalise(self, call: RecordedCall) -> None:
        """See whether a formula has become a normaliser, which is a base of its own."""
        value = self._values[call.results[0]]
        if not self._averages.is_in(value.formula) or not value.formula.has(z):
            return
        normaliser = self._averages.normaliser(value.formula)
        if normaliser is not None:
            node, epsilon, factor = normaliser
            axis = -1 if value.axis is None else value.axis
            self._norms.append(call.inside[-1].name or call.name)
            base = factor * node(value.base, epsilon)
            self._set(call, FormulaValue(base, call.results[0], axis=axis, order=value.order))

    def _hide(self, part: OpaquePart, calls: Sequence[RecordedCall], end: int) -> None:
        """What comes out of hidden calls and is used, as a function of what goes in as far as that was read."""
        inner = [call for call in calls if call.number in part.calls]
        used = {end}.union(*(call.sources for call in calls if call.number not in part.calls))
        results = {number for call in inner for number in call.results}
        arguments: dict[sp.Expr, None] = {}
        for number in dict.fromkeys(number for call in inner for number in call.sources if number not in results):
            try:
                arguments[self._expression(self._values[number], None)] = None
            except (NotRead, KeyError):
                arguments[sp.Symbol("u", real=True)] = None
        outputs = sorted(results & used)
        self._hidden_values.update(outputs)
        for index, number in enumerate(outputs, 1):
            name = part.kind if len(outputs) == 1 else f"{part.kind}.output{index}"
            self._values.setdefault(number, FormulaValue(sp.Function(name, real=True)(*arguments), number))

    def _uses_in(self, expression: sp.Expr, last: RecordedCall) -> list[DenseUse]:
        """The draws in an expression, in the order of the model."""
        drawn = expression.atoms(Drawn)
        used = [value for value in self._draws.values() if value.base in drawn]
        for value in used:
            if value.part is not None and any(o.start == value.start and o.part is None for o in used):
                raise NotRead(last, "the output of a dense layer is used both as a whole and in parts")
        for value, other in combinations(used, 2):
            same = value.start == other.start and value.part is not None and other.part is not None
            if same and set(value.part or ()) & set(other.part or ()):
                raise NotRead(last, "parts of the output of a dense layer that are used separately overlap")
        uses = [value.dense for value in used if value.dense is not None]
        uses += [use for node, (_, those) in self._attended.items() if node in drawn for use in those]
        return sorted(uses, key=lambda use: use.made.call.number)

    def _drawn(self, call: RecordedCall, part: tuple[int, ...] | None) -> FormulaValue:
        """The neurons of a dense layer, or some of them: each set a draw of its own."""
        number = call.results[0]
        if (number, part) not in self._draws:
            made = self._weights[call.number]
            inner, uneven, order = self._inputs[call.number]
            use = self._use(made, part, uneven)
            node = Dense(inner, use.C_W, use.C_b, sp.Rational(use.fan_out) / _WIDTH)
            self._draws[number, part] = FormulaValue(node, number, axis=made.axis, part=part, dense=use, order=order)
        return self._draws[number, part]

    def _use(self, made: WeightedCall, part: tuple[int, ...] | None, uneven: Uneven, role: str = "W") -> DenseUse:
        """A draw with symbols of its own."""
        entering = self._values.get(made.entering)  # heads are no value
        return DenseUse(
            made.call.inside[-1].name or self.record.name_of(made.tensor, made.call.name),
            sp.Dummy("C_W", positive=True),
            sp.Dummy("C_b", nonnegative=True),
            made,
            part,
            uneven.scale,
            uneven.shift,
            role,
            WindowUse.of(made.call, () if entering is None else entering.wrapped),
        )

    def _expression(self, value: FormulaValue, consumer: RecordedCall | None, *, uneven: bool = False) -> sp.Expr:
        """A value as an expression of the layer, its formula as an activation."""
        last = self._calls[max(value.calls)] if value.calls else consumer
        if value.uneven is not None and not uneven:
            raise NotRead(last, "the weights or biases of a norm differ between neurons")
        if value not in self._closed:
            self._closed[value] = self._activated(value, last)
        return self._closed[value]

    def _activated(self, value: FormulaValue, last: RecordedCall | None) -> sp.Expr:
        """The base of a value behind its formula: a factor, or an activation that is verified against the calls."""
        formula = value.formula.subs(self._recording.cut.on, 0)
        if self._averages.is_in(formula):
            raise NotRead(last, "averages over neurons are used in a way that is neither LayerNorm nor RMSNorm")
        factor = multiple_of_identity(formula)
        if factor is not None:
            return factor * value.base
        calls = [self._calls[number] for number in sorted(value.calls)]
        assert last is not None
        try:
            if formula not in self.activations:  # what is read is verified against the calls
                label, passing = chain_name(calls, formula), frozenset(self._passing)
                chain = pointwise_chain(label, calls, value.start, last.results[0], passing)
                self.activations[formula] = read_activation(chain)
        except SymresError as error:
            raise NotRead(last, error.found) from error
        activation = self.activations[formula]
        if activation not in self._activations:
            self._activations.append(activation)
        return activation(value.base)

    def _set(self, call: RecordedCall, value: FormulaValue) -> None:
        if len(call.results) != 1:
            raise NotRead(call, f"symres has no rule for the operation {call.name}")
        self._values[call.results[0]] = value

    def _shape(self, call: RecordedCall) -> torch.Size:
        return self.record.values[call.sources[0]].shape
