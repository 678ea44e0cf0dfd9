"""A step of a model with what cannot be read in it set apart: as few calls as possible, under the module's name."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from ..tracing.run_record import SUMS, ModuleCall, RecordedCall, RunRecord
from .equation_state import HiddenCalls, Interpretation
from .formula_values import NotRead
from .interpreting import Interpreter
from .pointwise_chains import KnownActivations

_ATTENTION = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward"})
_PRODUCTS_OF_MATRICES = frozenset({"matmul", "bmm", "baddbmm", "einsum"})
_MIXING = "attention: it mixes positions"
_BRANCHES = "it converts values that depend on the input to Python numbers, to branch on them for instance"


@dataclass(frozen=True)
class OpaquePart:
    """Calls that are taken as they come.

    Args:
        place: the qualified name of the module in which they are; empty for the model itself.
        kind: the class of that module, or the operation if the model itself calls it.
        code: file and line of the class; empty where there is none, and for classes of PyTorch.
        reason: why they cannot be read.
        calls: their numbers.
    """

    place: str
    kind: str
    code: str
    reason: str
    calls: frozenset[int]


@dataclass(frozen=True)
class StepReading:
    """What a step of a model is.

    Args:
        found: its forward equation, opaque parts being functions in it; None if all of it is opaque.
        opaque: the parts that were not read.
    """

    found: Interpretation | None
    opaque: tuple[OpaquePart, ...]


def read_calls(
    record: RunRecord, known: KnownActivations, entry: int, end: int, calls: Sequence[RecordedCall], axis: int | None
) -> StepReading:
    """Read calls, setting apart what cannot be read.

    Args:
        record: the run.
        known: activations that were read before.
        entry: the stream value that goes in.
        end: the one that comes out.
        calls: in order.
        axis: of neurons in what goes in, negative; None if it is not known.
    """
    opaque: list[OpaquePart] = []
    for module in dict.fromkeys(inside[-1] for inside in record.reads):
        if group := frozenset(call.number for call in calls if module in call.inside):
            opaque = _merged([*opaque, _part(module, "", _BRANCHES, group)])
    while True:
        if any(part.calls >= {call.number for call in calls} for part in opaque):
            return StepReading(None, tuple(opaque))
        try:
            hidden = _hidden(calls, opaque, end)
            found = Interpreter(record, known, entry, axis, hidden).read(calls, end)
            return StepReading(found, tuple(opaque))
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


def _hidden(calls: Sequence[RecordedCall], opaque: Sequence[OpaquePart], end: int) -> list[HiddenCalls]:
    """What goes into opaque parts and comes out of them."""
    found = []
    for part in opaque:
        inner = [call for call in calls if call.number in part.calls]
        used = {end}.union(*(call.sources for call in calls if call.number not in part.calls))
        made = {number for call in inner for number in call.results}
        given = dict.fromkeys(number for call in inner for number in call.sources if number not in made)
        found.append(HiddenCalls(part.kind, part.calls, tuple(given), tuple(sorted(made & used))))
    return found


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
