"""Steps of a model put together to layers: from one stream to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import z
from ...layers.layer import Layer
from ...layers.nodes import Dense
from ...layers.normalisation import Normaliser
from ..tracing.run_record import RecordedCall, RunRecord, StreamStep
from .axes import SLICES
from .dense_variances import DENSE
from .equation_state import Interpretation
from .formula_values import factored
from .opaque_parts import OpaquePart, StepReading, read_calls
from .pointwise_chains import KnownActivations


class StepKind(Enum):
    """What a step does to the stream."""

    OPAQUE = "opaque"
    SAME = "same"
    SCALED = "scaled"
    NORM = "norm"
    DENSE = "dense"
    SUM = "sum"
    OTHER = "other"


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
    record: RunRecord, steps: Sequence[StreamStep], block_of: Callable[[str], str], known: KnownActivations
) -> list[StretchReading]:
    """Layers and what lies between them, in the order of the model.

    A layer ends behind a dense layer or a sum, and behind the norm that follows a sum in the same block (post-LN). A
    norm before a sum or before something opaque is a layer of its own.

    Args:
        record: the run.
        steps: of the model.
        block_of: the repeated block in which a module is, by its name; empty for none.
        known: activations that were read before.
    """
    return _Layering(record, _with_their_slices(steps), block_of, known).stretches()


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
    known: KnownActivations

    def stretches(self) -> list[StretchReading]:
        readings: list[StepReading] = []
        self.axes: list[int | None] = [None]
        for s in self.steps:
            readings.append(read_calls(self.record, self.known, s.entry, s.exit, s.calls, self.axes[-1]))
            found_last = readings[-1].found
            self.axes.append(None if found_last is None or readings[-1].opaque else found_last.axis)
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
        reading = reading or read_calls(self.record, self.known, entry, end, calls, self.axes[first])
        if reading.opaque or reading.found is None:
            reason = "; ".join(dict.fromkeys(part.reason for part in reading.opaque))
            return StretchReading(entry, end, calls, reading.found, None, reading.opaque, reason)
        if reading.found.is_uneven:
            reason = "the weights or biases of its norm differ between neurons"
            return StretchReading(entry, end, calls, reading.found, None, (), reason)
        try:
            layer = Layer(reading.found.expression)
        except SymresError as error:
            return StretchReading(entry, end, calls, reading.found, None, (), error.found.split("; ")[0])
        return StretchReading(entry, end, calls, reading.found, layer)


def _kind(reading: StepReading) -> StepKind:
    if reading.found is None or reading.opaque:
        return StepKind.OPAQUE
    bare = factored(reading.found.expression)[1]
    if bare == z:
        return StepKind.SAME if reading.found.expression == z else StepKind.SCALED
    if isinstance(bare, Normaliser) and not bare.atoms(Dense):
        return StepKind.NORM
    if isinstance(bare, Dense):
        return StepKind.DENSE
    if isinstance(bare, sp.Add):
        terms = [factored(term)[1] for term in bare.args]
        if z in terms or all(map(is_drawn, terms)) or any(map(_is_gated, terms)):
            return StepKind.SUM
    return StepKind.OTHER


def _is_gated(term: sp.Expr) -> bool:
    """Whether a summand is the stream times what dense layers make of it, as in highway networks."""
    return isinstance(term, sp.Mul) and z in term.args and term.has(Dense)


def is_drawn(term: sp.Expr) -> bool:
    """Whether a summand is what a dense layer gives, or a norm of that."""
    return isinstance(term.args[0] if isinstance(term, Normaliser) else term, Dense)
