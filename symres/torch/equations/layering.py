"""Steps of a model put together to layers: from one stream to the next."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path

import sympy as sp
from torch import nn

from ...activations.activation import Activation
from ...core.errors import SymresError
from ...core.symbols import z
from ...layers.layer import Layer
from ...layers.nodes import Drawn
from ...layers.normalisation import Normaliser
from ..tracing.run_record import SUMS, ModuleCall, RecordedCall, RunRecord, StreamStep
from .attention_groups import KINDS_OF_ATTENTION, MIXING, PRODUCTS_OF_STREAMS, FoundAttention, find_attention
from .call_rules import SLICES
from .formula_values import DENSE, Interpretation, NotRead, OpaquePart, factored
from .interpreting import Interpreter

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


_UNDRAWN = frozenset({StepKind.NORM, StepKind.SCALED})


@dataclass(frozen=True)
class StretchReading:
    """A part of a model, from one stream to another.

    Args:
        entry: the number of the stream value that goes in.
        exit: the number of the one that comes out.
        calls: in order.
        equation: its forward equation, opaque parts being functions in it; None if nothing of it was read.
        opaque: what was not read.
    """

    entry: int
    exit: int
    calls: tuple[RecordedCall, ...]
    equation: Interpretation | None
    opaque: tuple[OpaquePart, ...] = ()

    @cached_property
    def _judged(self) -> tuple[Layer | None, str]:
        """The layer that it is, or why it is not a layer."""
        if self.equation is None or self.opaque:
            return None, "; ".join(dict.fromkeys(part.reason for part in self.opaque))
        if self.equation.is_uneven:
            return None, "the weights or biases of its norm differ between neurons"
        try:
            return Layer(self.equation.expression), ""
        except SymresError as error:
            return None, error.found.split("; ")[0]

    @property
    def layer(self) -> Layer | None:
        """The layer of the theory; None if it is not one."""
        return self._judged[0]

    @property
    def is_gaussian(self) -> bool:
        """Whether the stream behind it may be Gaussian; no, if all of it was read, and it is not a layer."""
        is_read = self.equation is not None and not self.opaque and not self.equation.is_uneven
        return self.layer is not None or not is_read

    @property
    def reason(self) -> str:
        """Why it is not a layer; empty if it is one."""
        return self._judged[1]


def read_stretches(
    record: RunRecord, steps: Sequence[StreamStep], block_of: Callable[[str], str], *, positions: bool = False
) -> list[StretchReading]:
    """Layers and what lies between them, in the order of the model.

    A layer ends behind a dense layer or a sum, and behind the norm that follows a sum in the same block (post-LN). A
    norm or a factor before a sum or before something opaque is a layer of its own. ``block_of`` gives the repeated
    block in which a module is, by its name; empty for none. What averages over positions is read where that is asked
    for.
    """
    calls = [call for step in steps for call in step.calls]
    found = find_attention(record, calls)
    return _Layering(record, _joined(steps, found), block_of, found, positions).stretches()


def _joined(steps: Sequence[StreamStep], found: FoundAttention) -> list[StreamStep]:
    """Steps that take a dense layer apart together with it, whose parts are draws of their own; attention as one."""
    joined: list[StreamStep] = []
    for step in steps:
        is_taken_apart = any(call.name in SLICES and call.sources == (step.entry,) for call in step.calls)
        numbers = {call.number for call in step.calls}
        ends = [min(group.calls) for group in found.groups if group.calls & numbers]
        if joined and is_taken_apart and joined[-1].calls[-1].name in DENSE:
            ends.append(joined[-1].calls[-1].number)
        calls = step.calls
        while joined and ends and min(ends) <= joined[-1].calls[-1].number:
            calls = joined.pop().calls + calls
        entry = joined[-1].exit if joined else steps[0].entry
        joined.append(StreamStep(entry, step.exit, calls))
    return joined


@dataclass
class _Layering:
    """The steps of a run, read one by one and then together as far as they make layers."""

    record: RunRecord
    steps: Sequence[StreamStep]
    block_of: Callable[[str], str]
    found: FoundAttention
    positions: bool

    def __post_init__(self) -> None:
        self.alone: list[StretchReading] = []  # each step by itself
        self.activations: dict[sp.Expr, Activation] = {}

    def stretches(self) -> list[StretchReading]:
        """Layers and what lies between them, in order."""
        for position in range(len(self.steps)):
            self.alone.append(self._read(position, position))
        kinds = list(map(_kind, self.alone))
        stretches: list[StretchReading] = []
        begun = position = 0
        while position < len(self.steps):
            kind = kinds[position]
            following = next((other for other in kinds[position + 1 :] if other is not StepKind.SAME), None)
            if kind is StepKind.OPAQUE:
                stretches += [*self._rest(begun, position, kinds), self.alone[position]]
            elif kind in (StepKind.DENSE, StepKind.SUM):
                last = self._last_step(position, kinds)
                whole = self._read(begun, last)
                is_divided = whole.equation is not None and whole.equation.is_uneven and last > position
                stretches += [self._read(begun, last - 1), self.alone[last]] if is_divided else [whole]
                position = last
            elif (
                kind in _UNDRAWN
                and all(other in {*_UNDRAWN, StepKind.SAME} for other in kinds[begun:position])
                and following in (StepKind.SUM, StepKind.OPAQUE)
            ):
                stretches.append(self._read(begun, position))
            else:
                position += 1
                continue
            position += 1
            begun = position
        return stretches + self._rest(begun, len(self.steps), kinds)

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
        return [self._read(begun, end - 1)]

    def _read(self, first: int, last: int) -> StretchReading:
        """Steps as one stretch, setting apart what cannot be read: as few calls as possible."""
        if first == last < len(self.alone):
            return self.alone[first]
        entry, end = self.steps[first].entry, self.steps[last].exit
        calls = tuple(call for step in self.steps[first : last + 1] for call in step.calls)
        before = self.alone[first - 1] if first else None
        axis = None if before is None or before.equation is None or before.opaque else before.equation.axis
        opaque: list[OpaquePart] = []
        for module in dict.fromkeys(inside[-1] for inside in self.record.reads):
            if group := frozenset(call.number for call in calls if module in call.inside):
                opaque = _merged([*opaque, _part(module, "", _BRANCHES, group)])
        while True:
            if any(part.calls >= {call.number for call in calls} for part in opaque):
                return StretchReading(entry, end, calls, None, tuple(opaque))
            try:
                mixing = self.found.groups, self.positions
                equation = Interpreter(self.record, self.activations, entry, axis, opaque, *mixing).read(calls, end)
                return StretchReading(entry, end, calls, equation, tuple(opaque))
            except NotRead as problem:
                call = problem.call or calls[-1]
                module = call.inside[-1]
                inner = [c for c in calls if c is call or (module.name and module in c.inside)]
                if len(inner) == len(calls) and call is not calls[-1] and calls[-1].name in SUMS:
                    inner = inner[:-1]  # the sum of stream and branch can be read, also in a module that cannot
                why = [self.found.reasons[c.number] for c in inner if c.number in self.found.reasons]
                reason = (why or [MIXING])[0] if _is_attention(inner) else problem.reason
                part = _part(module, call.name, reason, frozenset(c.number for c in inner))
                cause = next((old.reason for old in opaque if old.calls < part.calls), reason)  # the others follow
                part = replace(part, reason=cause)
                if any(part.calls <= old.calls for old in opaque):  # even as it is it cannot stand in an equation
                    part = _part(module, call.name, cause, frozenset(c.number for c in calls))
                opaque = _merged([*opaque, part])


def _kind(step: StretchReading) -> StepKind:
    """What a step does to the stream, by its equation."""
    if step.equation is None or step.opaque:
        return StepKind.OPAQUE
    bare = factored(step.equation.expression)[1]
    if bare == z:
        return StepKind.SAME if step.equation.expression == z else StepKind.SCALED
    if isinstance(bare, Normaliser) and not bare.atoms(Drawn):
        return StepKind.NORM
    if isinstance(bare, Drawn):
        return StepKind.DENSE
    if isinstance(bare, sp.Add):
        terms = [factored(term)[1] for term in bare.args]
        # the stream times what dense layers make of it, as in highway networks
        has_gate = any(isinstance(term, sp.Mul) and z in term.args and term.has(Drawn) for term in terms)
        if z in terms or all(map(is_drawn, terms)) or has_gate:
            return StepKind.SUM
    return StepKind.OTHER


def is_drawn(term: sp.Expr) -> bool:
    """Whether a summand is what a dense layer gives, or a norm of that."""
    return isinstance(term.args[0] if isinstance(term, Normaliser) else term, Drawn)


def _part(module: ModuleCall, operation: str, reason: str, calls: frozenset[int]) -> OpaquePart:
    kind = "" if module.name else operation
    return OpaquePart(module.name, kind or type(module.module).__name__, code_of(module.module), reason, calls)


def _is_attention(calls: Sequence[RecordedCall]) -> bool:
    """Whether positions are weighted by products of what is there."""
    names = {call.name for call in calls}
    products = any(call.name in PRODUCTS_OF_STREAMS and len(call.sources) > 1 for call in calls)
    return bool(names & KINDS_OF_ATTENTION - {"softmax"}) or ("softmax" in names and products)


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
