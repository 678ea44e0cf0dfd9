"""Calls of a model as a forward equation: every stream value becomes a formula of neurons that a layer knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp
import torch
from torch.utils._pytree import tree_leaves

from ...activations.activation import Formula
from ...core import symbols
from ...core.symbols import z
from ...layers.normalisation import Normaliser
from ..models.structures import mean_square
from ..tracing.run_record import DROPOUTS, PRODUCTS, SUMS, RecordedCall, StreamValue
from . import axes
from .dense_variances import DENSE, weighted
from .equation_state import WIDTH, EquationState, Interpretation
from .formula_values import DenseUse, FormulaValue, NotRead, Uneven, factored
from .norm_statistics import AVERAGES, NORMS, affine, norm_call, vector_of_neurons
from .pointwise_chains import applied

COPIES = frozenset({"to", "clone", "float", "double", "half", "bfloat16", "type"})


class Interpreter(EquationState):
    """Reads calls one after the other."""

    def read(self, calls: Sequence[RecordedCall], end: int) -> Interpretation:
        """The last value, closed.

        Args:
            calls: in order; those that are ``hidden`` are not looked at.
            end: the stream value that is meant.

        Raises:
            NotRead: a call, or the last value, is no part of a layer.
        """
        self._uses_of_entry = sum(call.sources.count(self.entry) for call in calls)
        for call in calls:
            self._calls[call.number] = call
            part = next((part for part in self.hidden if call.number in part.calls), None)
            if part is not None:
                self._hide(part)
                continue
            if self.record.overwritten.intersection(call.sources):
                raise NotRead(call, "a tensor is changed in place through another view of it")
            self._read_call(call)
        value = self._values[end]
        expression = self._expression(value, None, uneven=True)
        width = None if value.axis is None else int(self.record.values[end].shape[value.axis])
        uses = self._uses_in(expression, calls[-1])
        numbered = _numbered(uses)
        expression = expression.xreplace({**numbered, WIDTH: sp.Integer(1 if width is None else width)})
        dense = tuple(replace(use, C_W=numbered[use.C_W], C_b=numbered[use.C_b]) for use in uses)
        named = {formula.name for formula in expression.atoms(Formula)}
        activations = tuple(activation for activation in self._activations if activation.name in named)
        return Interpretation(expression, dense, activations, tuple(self._norms), value.axis, value.uneven is not None)

    def _read_call(self, call: RecordedCall) -> None:
        missing = [number for number in call.sources if number not in self._values]
        if missing:
            raise NotRead(call, f"the operation {call.name} uses a value that is computed outside of this block")
        sources = [self._values[number] for number in call.sources]
        if not call.has_gradients:
            raise NotRead(call, f"the operation {call.name} stops gradients, or has a backward pass of its own")
        if call.name in DENSE:
            self._read_dense(call)
        elif call.name in NORMS:
            self._read_norm(call)
        elif call.name in AVERAGES and len(sources) == 1:
            axis = -1 if sources[0].axis is None else sources[0].axis
            averaged = self._averages.average(call, sources[0], self._shape(call))
            self._set(call, sources[0].after(call, averaged, axis))
        elif call.name in axes.SLICES and len(sources) == 1:
            self._read_slices(call, sources[0])
        elif call.name == "type_as" or (len(sources) == 1 and (call.name in COPIES or self._is_idle_dropout(call))):
            self._read_copy(call, sources[0])
        elif call.name in axes.VIEWS and len(sources) == 1:
            self._passing.add(call.number)
            if sources[0].axis is None and self._is_free(call.sources[0]):
                self._set(call, sources[0].after(call))  # any arrangement of the entry will do
            else:
                after = self.record.values[call.results[0]].shape
                self._set(call, axes.after_view(call, sources[0], self._shape(call), after))
        else:
            self._read_pointwise(call, sources)

    def _read_copy(self, call: RecordedCall, source: FormulaValue) -> None:
        if not isinstance(call.args[0], StreamValue):
            raise NotRead(call, f"the operation {call.name} acts on a constant")
        before, after = self.record.values[call.sources[0]], self.record.values[call.results[0]]
        if before.shape != after.shape or not after.is_floating_point():
            raise NotRead(call, f"the operation {call.name} changes the shape or the type of numbers")
        if call.name not in COPIES:
            self._passing.add(call.number)
        self._set(call, source.after(call))

    def _is_free(self, number: int) -> bool:
        """Whether the order of entries in a value says nothing: the entry, used once, or what was not read."""
        is_hidden = self._values[number].start in self._hidden_values
        return is_hidden or (number == self.entry and self._uses_of_entry == 1)

    def _is_idle_dropout(self, call: RecordedCall) -> bool:
        if call.name not in DROPOUTS:
            return False
        given = call.by_name
        if given.get("training", True) and given.get("p", 0.5) > 0:
            raise NotRead(call, "dropout is active")
        return True

    def _read_dense(self, call: RecordedCall) -> None:
        made = weighted(call)
        if any(other.tensor is made.tensor for other in self._weights.values()):
            raise NotRead(call, "the same weights are used twice in one block")
        if made.bias is not None and any(other.bias is made.bias for other in self._weights.values()):
            raise NotRead(call, "the same bias is used twice in one block")
        source = self._values[made.entering]
        if source.axis not in (None, made.axis):
            raise NotRead(call, "a dense layer acts along an axis that is not the axis of the neurons")
        uneven = source.uneven or Uneven()
        self._inputs[call.number] = (self._expression(source, call, uneven=True), uneven, source.order)
        self._weights[call.number] = made
        self._set(call, self._drawn(call, None))

    def _read_norm(self, call: RecordedCall) -> None:
        found = norm_call(call, self._shape(call))
        source = self._values[found.entering]
        if source.axis not in (None, found.axis):
            raise NotRead(call, "a norm acts along an axis that is not the axis of the neurons")
        factor, uneven = affine(call, found.weight, found.bias)
        node = found.node(self._expression(source, call), found.epsilon)
        self._norms.append(call.inside[-1].name or call.name)
        self._set(
            call, FormulaValue(factor * node, call.results[0], axis=found.axis, uneven=uneven, order=source.order)
        )

    def _read_slices(self, call: RecordedCall, source: FormulaValue) -> None:
        axis = -1 if source.axis is None else source.axis
        parts = axes.parts(call, axis, self._shape(call))
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
        elif len(sources) == 2 and len(call.args) == 2 and not call.kwargs:
            self._combine(call, sources)
        else:
            raise NotRead(call, f"the operation {call.name} combines several values that depend on the input")

    def _combine(self, call: RecordedCall, sources: list[FormulaValue]) -> None:
        """The sum or the product of two different values."""
        if call.name not in SUMS and call.name not in PRODUCTS:
            raise NotRead(call, f"the operation {call.name} combines several values that depend on the input")
        shapes = {tuple(self.record.values[number].shape) for number in (*call.sources, call.results[0])}
        found = {source.axis for source in sources if source.axis is not None}
        if len(shapes) != 1 or len(found) > 1:
            raise NotRead(call, f"the operation {call.name} combines values of different shapes")
        if sources[0].order != sources[1].order:
            raise NotRead(call, f"the operation {call.name} combines values whose positions are in different orders")
        left, right = (self._expression(source, call) for source in sources)
        if not all(isinstance(leaf, StreamValue) for leaf in call.args):
            raise NotRead(call, f"the operation {call.name} combines several values that depend on the input")
        base = left + SUMS[call.name] * right if call.name in SUMS else left * right
        axis = found.pop() if found else None
        self._set(call, FormulaValue(base, call.results[0], axis=axis, order=sources[0].order))

    def _read_uneven(self, call: RecordedCall, source: FormulaValue, vector: torch.Tensor) -> None:
        """Factors or summands behind a norm that differ between neurons."""
        known = source.uneven or Uneven()
        square = mean_square(vector)
        is_norm = isinstance(factored(source.base)[1], Normaliser) and source.formula == z
        if call.name in PRODUCTS and is_norm and source.uneven is None:
            self._set(call, replace(source.after(call), uneven=Uneven(square, 0.0)))
        elif call.name in SUMS and is_norm and known.shift == 0:
            self._set(call, replace(source.after(call), uneven=Uneven(known.scale, square)))
        else:
            raise NotRead(call, f"the operation {call.name} takes a constant tensor whose entries differ")

    def _normalise(self, call: RecordedCall) -> None:
        """See whether a formula has become a normaliser, which is a base of its own."""
        value = self._values[call.results[0]]
        if not self._averages.is_in(value.formula) or not value.formula.has(z):
            return
        found = self._averages.normaliser(value.formula)
        if found is not None:
            node, epsilon, factor = found
            axis = -1 if value.axis is None else value.axis
            self._norms.append(call.inside[-1].name or call.name)
            self._set(
                call, FormulaValue(factor * node(value.base, epsilon), call.results[0], axis=axis, order=value.order)
            )


def _numbered(uses: Sequence[DenseUse]) -> dict[sp.Symbol, sp.Symbol]:
    """Symbols for the variances in the order of the model: C_W and C_b, with numbers where there are several draws."""
    if len(uses) == 1:
        return {uses[0].C_W: symbols.C_W, uses[0].C_b: symbols.C_b}
    made: dict[sp.Symbol, sp.Symbol] = {}
    for index, use in enumerate(uses, 1):
        made[use.C_W] = sp.Symbol(f"C_W{index}", positive=True)
        made[use.C_b] = sp.Symbol(f"C_b{index}", nonnegative=True)
    return made
