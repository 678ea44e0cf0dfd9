"""The parts of a model in the order of its stream: read-in, layers, residual layers, readout, what stays measured.

Equal layers have equal forms: one symbol C_W, one symbol C_b, and xi before the branch of a residual layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import sympy as sp
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ...core.symbols import C_W, C_b, xi, z
from ...layers.layer import Layer
from ...layers.mixing import Attention
from ...layers.nodes import Dense, Drawn, of_equal_positions
from ...layers.normalisation import Normaliser
from ..equations.formula_values import (
    DENSE,
    DenseUse,
    Interpretation,
    NotRead,
    WeightedCall,
    factored,
    is_grouped,
    weighted,
)
from ..equations.layering import StretchReading, is_drawn, read_stretches
from ..models.choosing import block_finder, enclosing_module
from ..tracing.run_record import TRANSPOSED, RecordedCall, RunRecord, StreamStep
from .branch_ends import ALL_NORMS, BranchEnd

SCORES = frozenset("QK")  # roles of draws in attention: what scores are made of
_ALONE = "attention without a skip connection: kernels depend on how alike tokens are"
INSIDE = SCORES | {"V"}


class PartRole(StrEnum):
    """What a part of a model does."""

    READ_IN = "read-in"
    LAYER = "layer"
    RESIDUAL = "residual layer"
    READOUT = "readout"
    MEASURED_BRANCH = "measured branch"
    MEASURED = "measured"
    IDLE = "without weights"


@dataclass(frozen=True)
class CanonicalForm:
    """A part of a model as the theory is asked about it.

    Args:
        forward: its equation, ``skip*z + xi*branch`` for residual layers.
        is_residual: whether the stream goes on beside a branch.
        is_weighted: whether xi stands in the equation.
        outer: the draws at the end of the branch, by C_W: those that xi multiplies.
        shortcut: what stands for the stream where its width changes; None where the stream itself goes on.
        stream: what goes on beside the branch, but for widths: a function of z.
        is_post_norm: whether a norm is behind the sum.
    """

    forward: sp.Expr
    is_residual: bool = False
    is_weighted: bool = False
    outer: frozenset[sp.Symbol] = frozenset()
    shortcut: sp.Expr | None = None
    stream: sp.Expr = z
    is_post_norm: bool = False

    @property
    def is_attention(self) -> bool:
        """Whether there is attention in it."""
        return self.forward.has(Attention)

    @property
    def mixes_positions(self) -> bool:
        """Whether it is another layer where all positions have the same neurons."""
        return of_equal_positions(self.forward) != self.forward

    @property
    def text(self) -> str:
        """Its equation for people."""
        return f"z' = {Layer(self.forward).text}{', of equal tokens' if self.is_attention else ''}"

    @property
    def layer(self) -> Layer:
        """The layer; what mixes positions is what it is where these are equal: attention a dense layer.

        Raises:
            SymresError: the equation is not one of a layer.
        """
        return Layer(of_equal_positions(self.forward))

    @property
    def is_linear(self) -> bool:
        """Whether it is a dense layer of the stream itself, with no activation before it."""
        return isinstance(self.forward, Dense) and self.forward.args[0] == z


@dataclass(frozen=True, eq=False)
class WeightUse(WeightedCall):
    """Weights that a call multiplies by.

    Args:
        module: the qualified name of the module that calls.
        part: of the neurons that come out those that are meant; None for all.
        is_last: whether a branch ends with it.
        is_shortcut: whether it stands for the stream where its width changes.
        is_normed: whether a norm in the same part takes its size away.
        role: "Q", "K", "V" or "O" of attention; "W" for any other.
    """

    module: str = ""
    part: tuple[int, ...] | None = None
    is_last: bool = False
    is_shortcut: bool = False
    is_normed: bool = False
    role: str = "W"

    @property
    def width(self) -> int:
        """The neurons that come out: channels of a convolution, as its positions see the same weights."""
        return self.fan_out if self.part is None else len(self.part)


@dataclass(frozen=True, eq=False)
class ModelPart:
    """A part of a model.

    Args:
        place: a name for people.
        role: what it does.
        stretch: its calls, and what was read of them.
        form: what the theory is asked about it; z where nothing was read.
        uses: its weights, in the order of the calls.
        reason: why it stays measured.
        ends: of its branches, as far as trained numbers multiply them there.
        shortcut_norms: the names of the weights of norms that end a shortcut.
        left: the number of the stream value that leaves its module: behind the activation that a block ends with.
    """

    place: str
    role: PartRole
    stretch: StretchReading
    form: CanonicalForm
    uses: tuple[WeightUse, ...]
    reason: str = ""
    ends: tuple[BranchEnd, ...] = ()
    shortcut_norms: tuple[str, ...] = ()
    left: int = 0

    @property
    def is_residual(self) -> bool:
        """Whether the stream goes on beside a branch."""
        return self.role in (PartRole.RESIDUAL, PartRole.MEASURED_BRANCH)

    @property
    def is_layer(self) -> bool:
        """Whether the theory has a layer for it; not for what stays measured, and for what has no weights."""
        return self.role not in (PartRole.MEASURED, PartRole.MEASURED_BRANCH, PartRole.IDLE)

    @property
    def width(self) -> int:
        """Neurons of the stream that comes out; 0 without weights."""
        last = (use.width for use in self.uses if use.is_last or len(self.uses) == 1)
        return min(last, default=0) or min((use.width for use in self.uses), default=0)


def model_parts(
    model: nn.Module, record: RunRecord, steps: Sequence[StreamStep], ends: Sequence[BranchEnd]
) -> list[ModelPart]:
    """The parts with their roles.

    The first part with weights is the read-in, the last one the readout, if they are dense layers of the stream; a
    dense layer whose output goes through the activation of the layers before it is no readout. Linear layers that
    follow the first without an activation between are read-ins too, unless all of the model is linear.

    Raises:
        DeclarationError: there is no dense layer and no convolution.
    """
    stretches = read_stretches(record, steps, block_finder(model), positions=True)
    pairs = zip(stretches, [*stretches[1:], None], strict=True)
    parts = [_part(record, stretch, following, ends) for stretch, following in pairs]
    heavy = [position for position, part in enumerate(parts) if part.uses]
    if not heavy:
        asked = f"the model {type(model).__name__}"
        raise DeclarationError(asked, "it calls no dense layer or convolution", "initialise it by hand")
    first, last = heavy[0], heavy[-1]
    if _is_dense(parts[last]) and not _is_activated(parts[last], parts[last + 1 : last + 2]):
        parts[last] = replace(parts[last], role=PartRole.READOUT)
    if first != last and _is_dense(parts[first]):
        end = next((k for k in range(first + 1, last) if not _is_dense(parts[k], is_linear=True)), first + 1)
        parts[first:end] = [replace(part, role=PartRole.READ_IN) for part in parts[first:end]]
    return parts


def _is_dense(part: ModelPart, is_linear: bool = False) -> bool:
    """Whether it is one dense layer, on the stream as it is perhaps."""
    is_layer = part.role is PartRole.LAYER and len(part.uses) == 1
    return is_layer and (part.form.is_linear if is_linear else isinstance(part.form.forward, Dense))


def _is_activated(part: ModelPart, following: Sequence[ModelPart]) -> bool:
    """Whether the next part is the activation that this one has inside."""
    stretches = [part.stretch, *(other.stretch for other in following if not other.stretch.opaque)]
    activations = [set(stretch.equation.activations) for stretch in stretches if stretch.equation is not None]
    return len(activations) == 2 and bool(set.intersection(*activations))


def _part(
    record: RunRecord, stretch: StretchReading, following: StretchReading | None, ends: Sequence[BranchEnd]
) -> ModelPart:
    """A stretch with its role, its weights and the ends of its branches."""
    numbers = {call.number for call in stretch.calls}
    ends = [end for end in ends if end.join in numbers]
    form = canonical_form(stretch.equation, any(end.norm for end in ends)) if stretch.equation else CanonicalForm(z)
    uses = []
    for use in sorted(_uses(record, stretch, form), key=lambda use: use.call.number):
        readers = {call.name for call in stretch.calls if set(call.sources) & set(use.call.results)}
        uses.append(replace(use, is_normed=bool(readers) and readers <= ALL_NORMS))
    is_layer, reason = False, stretch.reason
    if stretch.layer is not None and uses:
        try:
            is_layer = bool(form.layer) and (form.is_residual or not form.is_attention)
            reason = "" if is_layer else _ALONE
        except SymresError as error:
            reason = error.found
    if not uses:
        role = PartRole.IDLE
    elif is_layer:
        role = PartRole.RESIDUAL if form.is_residual else PartRole.LAYER
    else:
        role = PartRole.MEASURED_BRANCH if form.is_residual else PartRole.MEASURED
    # the innermost module that has all of the weights, or what was not read; else the last call's module
    names = [use.module for use in uses] or [part.place or part.kind for part in stretch.opaque]
    place = enclosing_module(names or [stretch.calls[-1].inside[-1].name])
    part = ModelPart(place, role, stretch, form, tuple(uses), reason, left=stretch.exit)
    if not part.is_residual:
        return part
    shortcuts = {number for use in uses if use.is_shortcut for number in use.call.results}
    return replace(
        part,
        ends=tuple(end for end in ends if end.start not in shortcuts),
        shortcut_norms=tuple(end.norm for end in ends if end.norm and end.start in shortcuts),
        left=_left(record, part, following),
    )


def _left(record: RunRecord, part: ModelPart, following: StretchReading | None) -> int:
    """What leaves the module of a residual layer, if that comes before the end of the next part."""
    call = next((call for call in part.stretch.calls[-1].inside if call.name == part.place), None)
    if call is None or following is None:
        return part.left
    number = record.left.get(call, part.left)
    is_between = number != following.exit and any(number in other.results for other in following.calls)
    return number if is_between else part.left


def _uses(record: RunRecord, stretch: StretchReading, form: CanonicalForm) -> Iterator[WeightUse]:
    """The weights that were read, and those in parts that were not."""
    hidden = {number for part in stretch.opaque for number in part.calls}
    for draw in stretch.equation.dense if stretch.equation else ():
        is_shortcut = form.shortcut is not None and form.shortcut.has(draw.C_W)
        use = WeightUse(**vars(draw.made), module=draw.name, part=draw.part, role=draw.role)
        yield replace(use, is_last=draw.C_W in form.outer, is_shortcut=is_shortcut)
        hidden.discard(draw.made.call.number)
    of_calls = (_hidden_use(record, call) for call in stretch.calls if call.number in hidden)
    uses = [use for use in of_calls if use is not None]
    for use in uses:
        yield replace(use, is_last=use is uses[-1] and not form.is_weighted)  # else what ends the branch was read


def _hidden_use(record: RunRecord, call: RecordedCall) -> WeightUse | None:
    """The weights of a call that multiplies by some; None for any other."""
    name = call.inside[-1].name
    if call.name not in DENSE and call.name not in TRANSPOSED:
        return None
    try:
        made = weighted(call)
    except NotRead:
        return None
    if call.name in DENSE and not is_grouped(call) and not record.is_weight(made.tensor):
        return None  # a constant of the run, such as a mask
    return WeightUse(**vars(made), module=name)


def canonical_form(reading: Interpretation, has_weighted_norm: bool) -> CanonicalForm:
    """The form of what was read.

    Draws without biases have ``C_b = 0``, norms epsilon = 0, which is a relative error of epsilon over their variance.
    Queries, keys and values of attention have variance 1/fan_in. One dense layer beside a branch of several, with or
    without a norm behind it (the shortcut of a residual network where its width changes), is the stream: its variance
    is chosen so that it keeps kernel and Jacobian norm.

    Args:
        reading: the equation with a C_W and a C_b for each draw.
        has_weighted_norm: whether the norm that ends a branch has weights, which xi can stand for.
    """
    inside = [use for use in reading.dense if use.role in INSIDE]
    units = {use.C_W: sp.S.One for use in inside} | {use.C_b: sp.S.Zero for use in inside}
    expression = reading.expression.xreplace(units)
    expression = expression.replace(lambda e: isinstance(e, Normaliser), lambda e: e.func(e.args[0]))
    factor, bare = factored(expression)
    is_post_norm = isinstance(bare, Normaliser) and isinstance(bare.args[0], sp.Add)
    inner = bare.args[0] if is_post_norm else expression
    if isinstance(bare, sp.Add):
        inner = sp.Add(*(factor * term for term in bare.args))
    form = _residual(inner, reading.dense, has_weighted_norm) if isinstance(inner, sp.Add) else None
    form = form or CanonicalForm(expression.xreplace(_common(reading.dense)))
    if is_post_norm and form.is_residual:
        return replace(form, forward=factor * bare.func(form.forward), is_post_norm=True)
    return form


def _residual(sum_: sp.Add, uses: Sequence[DenseUse], has_weighted_norm: bool) -> CanonicalForm | None:
    """A stream and a branch; None for any other sum."""
    terms = [factored(term) for term in sum_.args]
    stream, shortcut = z, None
    if all(bare != z for _, bare in terms):  # perhaps what a function makes of it: ReLU behind the sum of two summands
        bent = [bare for _, bare in terms if not bare.has(Drawn) and not isinstance(bare, Normaliser)]
        stream = bent[0] if len(bent) == 1 else z
    skip = sum((c for c, bare in terms if bare == stream), sp.Integer(0))
    branches = [(c, bare) for c, bare in terms if bare != stream]
    if skip == 0:
        projected = [(c, bare) for c, bare in branches if is_drawn(bare) and len(bare.atoms(Dense)) == 1]
        if len(projected) != 1 or len(branches) < 2:
            return None
        branches.remove(projected[0])
        skip, shortcut = projected[0]
        (draw,) = shortcut.atoms(Dense)
        if isinstance(shortcut, Normaliser) or not draw.has(Normaliser):  # else the norm is the branch's too
            stream = draw.args[0].replace(lambda e: isinstance(e, Normaliser), lambda e: e.args[0])
    branch = sum((c * bare for c, bare in branches), sp.Integer(0)).xreplace(_common(uses))
    outer = frozenset(bare.args[1] for _, bare in branches if isinstance(bare, Drawn))
    normed = sum(isinstance(bare, Normaliser) for _, bare in branches) if has_weighted_norm else 0
    # else a branch ends with neither a draw nor a norm that xi could multiply
    is_weighted = len(outer) + normed >= len(branches)
    forward = skip * stream + (xi * branch if is_weighted else branch)
    return CanonicalForm(forward, True, is_weighted, outer, shortcut, stream)


def _common(uses: Sequence[DenseUse]) -> dict[sp.Symbol, sp.Expr]:
    """The symbols of all layers in the place of those of each draw."""
    weights = {use.C_W: C_W for use in uses}
    return weights | {use.C_b: C_b if use.made.bias is not None else sp.Integer(0) for use in uses}
