"""The parts of a model in the order of its stream: read-in, layers, residual layers, readout, what stays measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import sympy as sp
import torch

from ...core.errors import SymresError
from ...core.symbols import z
from ...layers.layer import Layer
from ...layers.nodes import Dense
from ..equations.dense_variances import DENSE, weighted
from ..equations.formula_values import NotRead, WeightedCall
from ..equations.layering import StretchReading
from ..models.wording import enclosing_module
from ..tracing.run_record import CONVOLUTIONS, TRANSPOSED, RecordedCall, RunRecord, StreamValue
from .branch_ends import ALL_NORMS, BranchEnd
from .canonical_forms import CanonicalForm, canonical_form

_ATTENTION = "multi_head_attention_forward"


class PartRole(StrEnum):
    """What a part of a model does."""

    READ_IN = "read-in"
    LAYER = "layer"
    RESIDUAL = "residual layer"
    READOUT = "readout"
    MEASURED_BRANCH = "measured branch"
    MEASURED = "measured"
    IDLE = "without weights"


@dataclass(frozen=True, eq=False)
class WeightUse(WeightedCall):
    """Weights that a call multiplies by.

    Args:
        module: the qualified name of the module that calls.
        part: of the neurons that come out those that are meant; None for all.
        C_W: the symbol for fan_in*Var(weight) in the equation of the part; None where it has none.
        is_last: whether a branch ends with it.
        is_shortcut: whether it stands for the stream where its width changes.
        is_normed: whether a norm in the same part takes its size away.
    """

    module: str = ""
    part: tuple[int, ...] | None = None
    C_W: sp.Symbol | None = None
    is_last: bool = False
    is_shortcut: bool = False
    is_normed: bool = False

    @property
    def starts_at_zero(self) -> bool:
        """Whether all of these weights are 0."""
        return not bool(self.weights(self.part).any())


@dataclass(frozen=True, eq=False)
class ModelPart:
    """A part of a model.

    Args:
        place: a name for people.
        role: what it does.
        stretch: its calls, and what was read of them.
        form: what the theory is asked about it; None where nothing was read.
        layer: of that form; None for what stays measured.
        uses: its weights, in the order of the calls.
        width: neurons of the stream that comes out, of a convolution times the positions that it sees; 0 for none.
        reason: why it stays measured.
        ends: of its branches, as far as trained numbers multiply them there.
        shortcut_norms: the names of the weights of norms that end a shortcut.
        left: the number of the stream value that leaves its module: behind the activation that a block ends with.
    """

    place: str
    role: PartRole
    stretch: StretchReading
    form: CanonicalForm | None
    layer: Layer | None
    uses: tuple[WeightUse, ...]
    width: int
    reason: str = ""
    ends: tuple[BranchEnd, ...] = ()
    shortcut_norms: tuple[str, ...] = ()
    left: int = 0

    @property
    def is_residual(self) -> bool:
        """Whether the stream goes on beside a branch."""
        return self.role in (PartRole.RESIDUAL, PartRole.MEASURED_BRANCH)


def model_parts(record: RunRecord, stretches: Sequence[StretchReading], ends: Sequence[BranchEnd]) -> list[ModelPart]:
    """The parts with their roles.

    The first part with weights is the read-in, the last one the readout, if they are dense layers of the stream; a
    dense layer whose output goes through the activation of the layers before it is no readout. Linear layers that
    follow the first without an activation between are read-ins too, unless all of the model is linear.

    Args:
        record: the run.
        stretches: of the run, in order.
        ends: of the branches of the run.
    """
    pairs = zip(stretches, [*stretches[1:], None], strict=True)
    parts = [_part(record, stretch, following, ends) for stretch, following in pairs]
    heavy = [position for position, part in enumerate(parts) if part.uses]
    if not heavy:
        return parts
    first, last = heavy[0], heavy[-1]
    if _is_dense(parts[last]) and not _is_activated(parts, last):
        parts[last] = replace(parts[last], role=PartRole.READOUT)
    if first != last and _is_dense(parts[first]):
        end = next((position for position in range(first + 1, last) if not _is_linear(parts[position])), first + 1)
        for position in range(first, end):
            parts[position] = replace(parts[position], role=PartRole.READ_IN)
    return parts


def _is_dense(part: ModelPart) -> bool:
    is_layer = part.role is PartRole.LAYER and len(part.uses) == 1
    return is_layer and part.form is not None and isinstance(part.form.forward, Dense)


def _is_linear(part: ModelPart) -> bool:
    """Whether it is a dense layer on the stream as it is."""
    return _is_dense(part) and part.form is not None and part.form.forward.args[0] == z


def _is_activated(parts: Sequence[ModelPart], position: int) -> bool:
    """Whether the next part is the activation that this one has inside."""
    part = parts[position]
    behind = parts[position + 1].stretch if position + 1 < len(parts) else None
    if behind is None or behind.found is None or behind.opaque or part.stretch.found is None:
        return False
    return bool(set(behind.found.activations) & set(part.stretch.found.activations))


def _part(
    record: RunRecord, stretch: StretchReading, following: StretchReading | None, ends: Sequence[BranchEnd]
) -> ModelPart:
    numbers = {call.number for call in stretch.calls}
    ends = tuple(end for end in ends if end.join in numbers)
    form = _form(stretch, ends)
    uses = tuple(_with_norms(stretch, sorted(_uses(record, stretch, form), key=lambda use: use.call.number)))
    layer, reason = None, stretch.reason
    if form is not None and stretch.layer is not None and uses:
        try:
            layer = form.layer
        except SymresError as error:
            reason = error.found
    if not uses:
        role = PartRole.IDLE
    elif layer is None:
        role = PartRole.MEASURED_BRANCH if form is not None and form.is_residual else PartRole.MEASURED
    else:
        role = PartRole.RESIDUAL if form is not None and form.is_residual else PartRole.LAYER
    width = min((_width(use) for use in uses if use.is_last or len(uses) == 1), default=0)
    width = width or min(map(_width, uses), default=0)
    part = ModelPart(_place(stretch, uses), role, stretch, form, layer, uses, width, reason, left=stretch.exit)
    if not part.is_residual:
        return part
    shortcuts = {number for use in uses if use.is_shortcut for number in use.call.results}
    norms = tuple(end.norm for end in ends if end.norm and end.start in shortcuts)
    ends = tuple(end for end in ends if end.start not in shortcuts)
    return replace(part, ends=ends, shortcut_norms=norms, left=_left(record, part, following))


def _with_norms(stretch: StretchReading, uses: Sequence[WeightUse]) -> Iterator[WeightUse]:
    """Draws with whether all that reads them are norms."""
    for use in uses:
        readers = [call.name for call in stretch.calls if set(call.sources) & set(use.call.results)]
        yield replace(use, is_normed=bool(readers) and ALL_NORMS.issuperset(readers))


def _left(record: RunRecord, part: ModelPart, following: StretchReading | None) -> int:
    """What leaves the module of a residual layer, if that comes before the end of the next part."""
    call = next((call for call in part.stretch.calls[-1].inside if call.name == part.place), None)
    between = () if following is None else (number for call in following.calls for number in call.results)
    number = part.left if call is None else record.left.get(call, part.left)
    return number if number in between and following is not None and number != following.exit else part.left


def _form(stretch: StretchReading, ends: Sequence[BranchEnd]) -> CanonicalForm | None:
    return None if stretch.found is None else canonical_form(stretch.found, any(end.norm for end in ends))


def _width(use: WeightUse) -> int:
    return (use.fan_out if use.part is None else len(use.part)) * math.prod(use.tensor.shape[2:])


def _uses(record: RunRecord, stretch: StretchReading, form: CanonicalForm | None) -> Iterator[WeightUse]:
    """The weights that were read, and those in parts that were not."""
    read = () if stretch.found is None else stretch.found.dense
    for use in read:
        last = form is not None and use.C_W in form.outer
        shortcut = form is not None and form.shortcut is not None and form.shortcut.has(use.C_W)
        of_form = {"C_W": use.C_W, "is_last": last, "is_shortcut": shortcut}
        yield WeightUse(**vars(use.made), module=use.name, part=use.part, **of_form)
    known = {use.made.call.number for use in read}
    inside = frozenset().union(*(part.calls for part in stretch.opaque)) - known
    found = (_hidden_use(record, call) for call in stretch.calls if call.number in inside)
    hidden = [other for other in found if other is not None]
    ends = form is None or not form.is_weighted  # else what ends the branch was read
    for other in hidden:
        yield replace(other, is_last=ends and other is hidden[-1] and other.call.name != _ATTENTION)
        if other.call.name == _ATTENTION:
            # the second matrix of PyTorch's attention, which ends its branch
            yield replace(other, tensor=other.call.args[11], bias=other.call.args[12], is_last=True)


def _hidden_use(record: RunRecord, call: RecordedCall) -> WeightUse | None:
    """The weights of a call that multiplies by some; None for any other."""
    name = call.inside[-1].name
    if call.name in DENSE:
        try:
            made = weighted(call)
        except NotRead:
            return _grouped(call, name)
        if not record.is_weight(made.tensor):  # a constant of the run, such as a mask
            return None
        return WeightUse(**vars(made), module=name)
    if call.name in TRANSPOSED:
        return _grouped(call, name)
    if call.name == _ATTENTION and isinstance(call.args[5], torch.Tensor):
        return WeightUse(call, -1, call.args[5], 0, call.args[6], -1, module=name)
    return None


def _grouped(call: RecordedCall, name: str) -> WeightUse | None:
    """A convolution in groups, whose inputs are those of one group, or a transposed one; None for any other call."""
    if call.name not in CONVOLUTIONS | dict.fromkeys(TRANSPOSED):
        return None
    arguments = call.by_name
    tensor, entering = arguments["weight"], arguments["input"]
    if not isinstance(tensor, torch.Tensor):
        return None
    rows, spread = 0, 1
    if call.name in TRANSPOSED:
        stride = arguments.get("stride", 1)
        strides = [stride] * (tensor.ndim - 2) if isinstance(stride, int) else stride
        rows, spread = 1, arguments.get("groups", 1) * math.prod(strides)
    number = entering.number if isinstance(entering, StreamValue) else -1
    return WeightUse(call, number, tensor, rows, arguments.get("bias"), 1 - tensor.ndim, "", spread, module=name)


def _place(stretch: StretchReading, uses: Sequence[WeightUse]) -> str:
    """The innermost module that has all of the weights, or what was not read; else the last call's module."""
    names = [use.module for use in uses] or [part.place or part.kind for part in stretch.opaque]
    return enclosing_module(names or [stretch.calls[-1].inside[-1].name])
