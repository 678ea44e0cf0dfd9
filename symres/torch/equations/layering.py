"""Steps of a model put together to layers: from one stream to the next."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias

import sympy as sp
from torch import nn

from ...activations.activation import Activation
from ...core.errors import SymresError
from ...core.symbols import z
from ...layers.layer import Layer
from ...layers.nodes import Dense
from ...layers.normalisation import Normaliser
from ..tracing.run_record import SUMS, ModuleCall, RecordedCall, RunRecord, StreamStep
from .axes import SLICES
from .dense_variances import DENSE
from .formula_values import Interpretation, NotRead, OpaquePart, factored
from .interpreting import Interpreter

_ATTENTION = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward"})
_PRODUCTS_OF_MATRICES = frozenset({"matmul", "bmm", "baddbmm", "einsum"})
_MIXING = "attention: it mixes positions"
_BRANCHES = "it converts values that depend on the input to Python numbers, to branch on them for instance"


class StepKind(Enum):
    """What a step does to the stream."""

    OPAQUE = "opaque"
    SAME = "same"
    SCALED = "scaled"
    NORM = "norm"
    DENSE = "dense"
    SUM = "sum"
    OTHER = "other"


# the forward equation of a step, opaque parts being functions in it, None if all of it is opaque; and these parts
StepReading: TypeAlias = tuple[Interpretation | None, tuple[OpaquePart, ...]]


@dataclass(frozen=True)
class StretchReading:
    """A part of a model, from one stream to another.

    Args:
        entry: the number of the stream value that goes in.
        exit: the number of the one that comes out.
        calls: in order.
        found: its forward equation; None if nothing of it was read.
        layer: the layer; None if it is none.
        opaque: what was not read.
        reason: why it is no layer; empty if it is one.
    """

    entry: int
    exit: int
    calls: tuple[RecordedCall, ...]
    found: Interpretation | None
    layer: Layer | None
    opaque: tuple[OpaquePart, ...] = ()
    reason: str = ""


def read_stretches(
    record: RunRecord, steps: Sequence[StreamStep], block_of: Callable[[str], str]
) -> list[StretchReading]:
    """Layers and what lies between them, in the order of the model.

    A layer ends behind a dense layer or a sum, and behind the norm that follows a sum in the same block (post-LN). A
    norm before a sum or before something opaque is a layer of its own. ``block_of`` gives the repeated block in which
    a module is, by its name; empty for none.
    """
    return _Layering(record, _with_their_slices(steps), block_of).stretches()


def _with_their_slices(steps: Sequence[StreamStep]) -> list[StreamStep]:
    """Steps that take a dense layer apart together with it: its parts are draws of their own."""
    joined: list[StreamStep] = []
    for step in steps:
        is_taken_apart = any(call.name in SLICES and call.sources == (step.entry,) for call in step.calls)
        if joined and is_taken_apart and joined[-1].calls[-1].name in DENSE:
            before = joined.pop()
            joined.append(StreamStep(before.entry, step.exit, before.calls + step.calls))
        else:
            joined.append(step)
    return joined


@dataclass
class _Layering:
    record: RunRecord
    steps: Sequence[StreamStep]
    block_of: Callable[[str], str]

    def stretches(self) -> list[StretchReading]:
        readings: list[StepReading] = []
        self.axes: list[int | None] = [None]
        self.activations: dict[sp.Expr, Activation] = {}
        for s in self.steps:
            readings.append(self._read(s.entry, s.exit, s.calls, self.axes[-1]))
            equation, opaque = readings[-1]
            self.axes.append(None if equation is None or opaque else equation.axis)
        kinds = [_kind(reading) for reading in readings]
        found: list[StretchReading] = []
        begun = 0
        position = 0
        while position < len(self.steps):
            kind = kinds[position]
            following = next((other for other in kinds[position + 1 :] if other is not StepKind.SAME), None)
            if kind is StepKind.OPAQUE:
                found += self._rest(begun, position, kinds)
                found.append(self._joined(position, position, readings[position]))
            elif kind in (StepKind.DENSE, StepKind.SUM):
                last = self._last_step(position, kinds)
                whole = self._joined(begun, last)
                if whole.found is not None and whole.found.is_uneven and last > position:
                    found += [self._joined(begun, last - 1), self._joined(last, last)]
                else:
                    found.append(whole)
                position = last
            elif (
                kind is StepKind.NORM
                and all(other is StepKind.SAME for other in kinds[begun:position])
                and following in (StepKind.SUM, StepKind.OPAQUE)
            ):
                found.append(self._joined(begun, position))
            else:
                position += 1
                continue
            position += 1
            begun = position
        return found + self._rest(begun, len(self.steps), kinds)

    def _last_step(self, position: int, kinds: Sequence[StepKind]) -> int:
        """The step that ends a layer: scalings, and the norm behind a sum, belong to it."""
        is_sum, last = kinds[position] is StepKind.SUM, position
        for following in range(position + 1, len(kinds)):
            if kinds[following] is StepKind.SCALED:
                last = following
            elif kinds[following] is StepKind.SAME:
                continue
            elif kinds[following] is StepKind.NORM and is_sum and self._is_behind(position, following, kinds):
                return following
            else:
                break
        return last

    def _is_behind(self, position: int, norm: int, kinds: Sequence[StepKind]) -> bool:
        """Whether a norm belongs to the sum before it: it is in its block, or, without blocks, before another sum."""
        blocks = [self._block(self.steps[position]), self._block(self.steps[norm])]
        if any(blocks):
            return blocks[0] == blocks[1]
        following = next((kind for kind in kinds[norm + 1 :] if kind is not StepKind.SAME), None)
        return following in (StepKind.SUM, StepKind.OPAQUE)

    def _block(self, step: StreamStep) -> str:
        return self.block_of(step.calls[-1].inside[-1].name)

    def _rest(self, begun: int, end: int, kinds: Sequence[StepKind]) -> list[StretchReading]:
        """Steps that do not end with a dense layer or a sum."""
        if all(kind is StepKind.SAME for kind in kinds[begun:end]):
            return []
        return [self._joined(begun, end - 1)]

    def _joined(self, first: int, last: int, reading: StepReading | None = None) -> StretchReading:
        """Steps as one layer, if they are one; if they are one step, its reading may be given."""
        entry, end = self.steps[first].entry, self.steps[last].exit
        calls = tuple(call for step in self.steps[first : last + 1] for call in step.calls)
        equation, opaque = reading or self._read(entry, end, calls, self.axes[first])
        layer, reason = None, "; ".join(dict.fromkeys(part.reason for part in opaque))
        if equation is not None and not opaque:
            try:
                layer = None if equation.is_uneven else Layer(equation.expression)
                reason = "the weights or biases of its norm differ between neurons" if equation.is_uneven else ""
            except SymresError as error:
                reason = error.found.split("; ")[0]
        return StretchReading(entry, end, calls, equation, layer, opaque, reason)

    def _read(self, entry: int, end: int, calls: Sequence[RecordedCall], axis: int | None) -> StepReading:
        """Read calls from one stream value to another, setting apart what cannot be read: as few calls as possible.

        The axis is that of neurons in what goes in, negative, None if it is not known.
        """
        opaque: list[OpaquePart] = []
        for module in dict.fromkeys(inside[-1] for inside in self.record.reads):
            if group := frozenset(call.number for call in calls if module in call.inside):
                opaque = _merged([*opaque, _part(module, "", _BRANCHES, group)])
        while True:
            if any(part.calls >= {call.number for call in calls} for part in opaque):
                return None, tuple(opaque)
            try:
                equation = Interpreter(self.record, self.activations, entry, axis, opaque).read(calls, end)
                return equation, tuple(opaque)
            except NotRead as problem:
                call = problem.call or calls[-1]
                module = call.inside[-1]
                inner = [c for c in calls if c is call or (module.name and module in c.inside)]
                if len(inner) == len(calls) and call is not calls[-1] and calls[-1].name in SUMS:
                    inner = inner[:-1]  # the sum of stream and branch can be read, also in a module that cannot
                reason = _MIXING if _is_attention(inner) else problem.reason
                part = _part(module, call.name, reason, frozenset(c.number for c in inner))
                if any(part.calls <= old.calls for old in opaque):  # even as it is it cannot stand in an equation
                    part = _part(module, call.name, reason, frozenset(c.number for c in calls))
                opaque = _merged([*opaque, part])


def _kind(reading: StepReading) -> StepKind:
    equation, opaque = reading
    if equation is None or opaque:
        return StepKind.OPAQUE
    bare = factored(equation.expression)[1]
    if bare == z:
        return StepKind.SAME if equation.expression == z else StepKind.SCALED
    if isinstance(bare, Normaliser) and not bare.atoms(Dense):
        return StepKind.NORM
    if isinstance(bare, Dense):
        return StepKind.DENSE
    if isinstance(bare, sp.Add):
        terms = [factored(term)[1] for term in bare.args]
        # the stream times what dense layers make of it, as in highway networks
        has_gate = any(isinstance(term, sp.Mul) and z in term.args and term.has(Dense) for term in terms)
        if z in terms or all(map(is_drawn, terms)) or has_gate:
            return StepKind.SUM
    return StepKind.OTHER


def is_drawn(term: sp.Expr) -> bool:
    """Whether a summand is what a dense layer gives, or a norm of that."""
    return isinstance(term.args[0] if isinstance(term, Normaliser) else term, Dense)


def _part(module: ModuleCall, operation: str, reason: str, calls: frozenset[int]) -> OpaquePart:
    kind = "" if module.name else operation
    return OpaquePart(module.name, kind or type(module.module).__name__, code_of(module.module), reason, calls)


def _is_attention(calls: Sequence[RecordedCall]) -> bool:
    """Whether positions are weighted by products of what is there."""
    names = {call.name for call in calls}
    products = any(call.name in _PRODUCTS_OF_MATRICES and len(call.sources) > 1 for call in calls)
    return bool(names & _ATTENTION) or ("softmax" in names and products)


def _merged(parts: list[OpaquePart]) -> list[OpaquePart]:
    """Parts without those that lie in others."""
    return [
        part
        for index, part in enumerate(parts)
        if not any(
            part.calls < other.calls or (part.calls == other.calls and index > position)
            for position, other in enumerate(parts)
            if position != index
        )
    ]


def code_of(module: nn.Module) -> str:
    """File and line where the class of a module is written; empty where that is unknown or PyTorch."""
    if type(module).__module__.partition(".")[0] == "torch":  # its name says which it is
        return ""
    try:
        lines = inspect.getsourcelines(type(module))[1]
        return f"{Path(inspect.getfile(type(module))).name}:{lines}"
    except (OSError, TypeError):
        return ""
