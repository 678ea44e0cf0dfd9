"""Weights are drawn part after part in the order of the stream, each from what the parts before it do to the inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import torch
from sympy.core.function import AppliedUndef

from ...core.errors import DeclarationError
from ...core.symbols import xi
from ...layers.normalisation import BatchNorm, Normaliser
from ...results.advice.parts import DIGITS
from ..equations.formula_values import factored, share_inside
from ..models.call_arguments import tensors
from ..tracing.run_record import RecordedCall, Rerun
from .advised_kinds import Adviser, KindAdvice, NoNumbers, NothingHolds, averaged
from .depth_check import PredictedStream
from .init_report import InitReason
from .model_parts import INSIDE, SCORES, ModelPart, PartRole, WeightUse
from .weight_store import WeightStore

Drawn: TypeAlias = tuple[float, float, InitReason, str]  # C_W, C_b, why
_USUAL = 1 / 3  # C_W of PyTorch's default, for which learning rates are usually chosen
_BALANCED = (
    "; C_W was multiplied by {:.3g}, so that all weights of the branch have one size and a step of Adam changes it less"
)
_BEFORE_NORM = "C_W = 1/3, PyTorch's default: a norm behind them undoes their size"
_JOINS = frozenset({"cat", "concat", "concatenate"})
_BRANCHES = "with xi = 1/sqrt(number of branches), as the theory knows no layer of this stream"
_MEASURED = {PartRole.RESIDUAL: PartRole.MEASURED_BRANCH, PartRole.LAYER: PartRole.MEASURED}  # without advice


@dataclass(frozen=True)
class Attempt:
    """What is done where a first network fails the measurement at its end.

    Args:
        share: what the weights of branches that stay measured are multiplied by.
        is_balanced: whether the weights of a branch are of one size: Adam changes all by the same, and where the last
            ones are much smaller it changes the branch by much more than its size.
        is_filled: whether weights of convolutions make up for the zeros beyond the border, which small images see much.
    """

    share: float = 1.0
    is_balanced: bool = False
    is_filled: bool = False


@dataclass
class StreamSetter:
    """Sets the weights of a model.

    Args:
        parts: of the model, in order.
        calls: of the run that the parts are of, all whose results reach the output, in order.
        adviser: what the theory says.
        store: the weights.
        stream: what goes into the model.
        is_guessed: whether nobody gave inputs; the mean square of what enters the first layer is then taken for 1.
        attempt: what is done otherwise than at first.
        predicted: the streams that were made, with what the theory says of them.
    """

    parts: list[ModelPart]
    calls: Sequence[RecordedCall]
    adviser: Adviser
    store: WeightStore
    stream: torch.Tensor
    is_guessed: bool
    attempt: Attempt
    predicted: list[PredictedStream] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.readout_entry: int | None = None  # of a readout that starts at 0, behind which there are no gradients
        # kinds some of whose branches start smaller than advised, and kinds some of whose branches do not
        self.smaller: list[KindAdvice] = []
        self.weighted: list[KindAdvice] = []
        self.is_unbalanced = False  # whether branches have weights of several sizes, whose product decides
        self._exits: dict[int, bool] = {}  # of parts, each a stream; whether weights were drawn that make it
        self._rerun, self._done = Rerun(self.stream), 0
        self._kernel = self._chi = math.nan  # of the stream, as predicted; chi_perp of the layer that it leaves
        self._course: object = None  # the kind of layer for whose kernel the stream is made
        self._stage = 0  # how often that kernel has changed
        self._layers = max(1, sum(part.role is PartRole.LAYER for part in self.parts))
        self._branches = sum(part.is_residual for part in self.parts)
        widths = [part.width for part in self.parts if part.role is PartRole.LAYER or part.is_residual]
        self._width = max(2, min(widths, default=next((part.width for part in self.parts if part.width), 2)))

    def set_all(self) -> None:
        """Every part."""
        of_roles = {PartRole.READ_IN: self._read_in, PartRole.LAYER: self._layer, PartRole.RESIDUAL: self._residual}
        for position, part in enumerate(self.parts):  # later ones may still become measured
            self._run_to(part.stretch.calls[0].number)
            self._join_tokens(part)
            self._look_at_entry(part)
            part = self._judged(position)
            if part.role is PartRole.READOUT:
                self._readout(part)
                return
            of_roles.get(part.role, self._measured)(position)
            is_drawn = not part.uses or not all(self.store.is_left(use) for use in part.uses)
            if not is_drawn:
                self._kernel = self._chi = math.nan
            self._note(position, is_drawn)

    def kind(self, part: ModelPart) -> KindAdvice:
        """What the theory advises for a layer of the model."""
        return self.adviser.ask(part.form, self._depth(part), self._width)

    def _depth(self, part: ModelPart) -> int:
        """Of layers with a role; before a readout: one hidden layer."""
        return {PartRole.RESIDUAL: self._branches, PartRole.READOUT: 1}.get(part.role, self._layers)

    def _judged(self, position: int) -> ModelPart:
        """A part; a layer for which the theory knows no numbers that hold stays measured, unless it is all there is.

        Raises:
            NoNumbers: the model consists of this kind of layer alone, besides its read-in and readout.
        """
        part = self.parts[position]
        try:
            if part.role in _MEASURED:
                self.kind(part)
        except NoNumbers as error:
            if part.role is PartRole.LAYER or isinstance(error, NothingHolds):
                self._require_others(part, error)
            said = f"no setting keeps signals in {self._depth(part)} layers of this kind and width {self._width}"
            reason = said if isinstance(error, NothingHolds) else error.found
            part = self.parts[position] = replace(part, role=_MEASURED[part.role], reason=reason)
        return part

    def _require_others(self, part: ModelPart, error: NoNumbers) -> None:
        """Refuse a model that has no other layers between its read-in and its readout."""
        for other in self.parts:
            is_end = other.role in (PartRole.READ_IN, PartRole.READOUT) or not other.uses
            is_same = other.is_layer and other.form.layer == part.form.layer
            if not is_end and not is_same:
                return
        raise error

    def _join_tokens(self, part: ModelPart) -> None:
        """Parameters that are joined to the stream as tokens get its mean square.

        The norms behind them would give gradients of a small one, a class token for instance, the inverse of its size.
        What comes before is another stream: from it the output of a class token is reached through attention alone.
        """
        for call in part.stretch.calls if part.role in (PartRole.IDLE, PartRole.MEASURED) else ():
            joined = tensors((call.args, call.kwargs)) if call.name in _JOINS else ()
            if names := list(filter(None, map(self.store.name_of, joined))):
                self._run_to(call.number)
                square = self._rerun.mean_square(call.sources[0])
                for name in names:
                    self.store.draw_token(name, math.sqrt(square), f"joined to a stream of mean square {square:.4g}")
                self._stage += 1

    def _look_at_entry(self, part: ModelPart) -> None:
        """A stream whose kernel is given, by an embedding: branches are made for it."""
        if math.isnan(self._kernel) and part.is_layer and part.role is not PartRole.READ_IN:
            self._kernel = self._rerun.mean_square(part.stretch.entry)
        if part.is_residual and self._course is None and self.adviser.kernel is None:
            self.adviser.kernel = self._rerun.mean_square(part.stretch.entry)

    def _read_in(self, position: int) -> None:
        """The variance that gives the first stream the kernel which the next layers need."""
        part, following = self.parts[position], self._following(position)
        self._kernel, bias, why = 1.0, 0.0, "gives the first stream the mean square 1 by convention"
        if following is not None:
            kind = self.kind(following)
            self._kernel = kind.kernel if self.adviser.kernel is None else self.adviser.kernel
            self._course = kind.form.layer
            bias = 0.0 if following.is_residual or part.uses[0].bias is None else kind.variances[1]
            why = f"read-in: gives the first stream the kernel {self._kernel:.{DIGITS}g} that the next layers need"
        said = "1 assumed" if self._is_assumed else f"{self._entering(part.uses[0]):.4g} measured"
        why += f"; computed from the mean square {said} for its inputs"
        self._draw_to(part, self._kernel, bias, self._entering(part.uses[0]), (InitReason.THEORY, why))

    def _draw_to(
        self, part: ModelPart, kernel: float, bias: float, square: float, reason: tuple[InitReason, str]
    ) -> bool:
        """Draw the weights of one dense layer that give the stream a kernel from the mean square of what enters."""
        factor = float(factored(part.form.forward)[0])  # behind the layer: 30 for the 30*Dense(sin(z)) of a SIREN
        needed = kernel / factor**2
        bias = bias if bias < needed else 0.0  # which leaves nothing to the weights
        return self._draw_run(part, {part.uses[0]: ((needed - bias) / square, bias, *reason)})

    @property
    def _is_assumed(self) -> bool:
        """Whether the mean square of what enters is: before the first layer, where no inputs were given."""
        return self.is_guessed and not self.predicted

    def _entering(self, use: WeightUse) -> float:
        """The mean square of what enters a dense layer."""
        if self._is_assumed:
            return 1.0
        self._run_to(use.call.number)
        square = self._rerun.mean_square(use.entering)
        if not 0 < square < math.inf:
            raise DeclarationError(
                f"the mean square of the input of {use.module or 'the model'}",
                f"it is {square:g}",
                "pass inputs with finite numbers that are not all 0",
            )
        return square

    def _following(self, position: int) -> ModelPart | None:
        """The part behind read-ins, if it has weights and the theory knows it; what has none changes the kernel."""
        behind = (k for k in range(position + 1, len(self.parts)) if self.parts[k].role is not PartRole.READ_IN)
        following = next(behind, None)
        if following is None or not self.parts[following].uses:
            return None
        part = self._judged(following)
        return part if part.is_layer else None

    def _wanted(self, position: int) -> float:
        """The kernel behind a part that the next layer needs, else that of the stream before it; nan without any."""
        if position + 1 < len(self.parts) and self.parts[position + 1].role is PartRole.LAYER:
            following = self._judged(position + 1)
            if following.role is PartRole.LAYER and not (kind := self.kind(following)).advice.any_scale:
                return kind.kernel
        before = [number for number, is_drawn in self._exits.items() if is_drawn] or [*self._exits]
        return self._rerun.mean_square(before[-1]) if before else math.nan

    def _layer(self, position: int) -> None:
        """A layer of a chain: the advised variances, or, between kinds, those that give the kernel needed next."""
        part = self.parts[position]
        before = self.parts[position - 1] if position else part
        if self.predicted and (before.role is PartRole.IDLE or not self._exits.get(before.stretch.exit, True)):
            self._behind_unread(position)
            return
        kind, following = self.kind(part), self._following(position)
        C_W, C_b = kind.variances
        wanted = kind
        if following is not None and following.role is not PartRole.READOUT:
            wanted = self.kind(following)
        is_on_course = self._course == kind.form.layer and wanted is kind
        if kind.advice.any_scale or is_on_course or len(part.uses) > 1:
            why = f"{kind.advice.origin} of {kind.form.text}"
            self._draw_run(part, {use: (C_W, C_b, InitReason.THEORY, why) for use in part.uses})
            self._kernel, self._chi = kind.step(self._kernel)
            return
        # the stream comes from another kind of layer, or goes to one: the kernel that is needed next
        square = self._entering(part.uses[0])
        why = f"gives the kernel {wanted.kernel:.{DIGITS}g} that the next layer needs; its input has {square:.4g}"
        self._draw_to(part, wanted.kernel, C_b, square, (InitReason.MEASURED, why))
        self._kernel, self._course, self._chi = wanted.kernel, wanted.form.layer, math.nan
        self._stage += 1

    def _behind_unread(self, position: int) -> None:
        """A layer behind operations without weights, or frozen ones, whose theory does not know what they do."""
        part, wanted = self.parts[position], self._wanted(position)
        before = self.parts[position - 1].place
        if len(part.uses) == 1:
            square = self._entering(part.uses[0])
            behind = f"computed from the mean square {square:.4g} measured after {before}"
            why = f"gives the stream the kernel {wanted:.{DIGITS}g}, {behind}"
            self._draw_to(part, wanted, 0.0, square, (InitReason.MEASURED, why))
        else:
            self._draw_rescaled(part, f"C_W = 1 (LeCun), measured after {before}", wanted)
        self._kernel, self._course, self._chi = wanted, None, math.nan

    def _draw_rescaled(self, part: ModelPart, why: str, wanted: float) -> None:
        """C_W = 1, but for the last weights, if these decide the kernel behind the part (a norm behind them does)."""
        self._draw_run(part, {use: (1.0, 0.0, InitReason.MEASURED, why) for use in part.uses})
        use = part.uses[-1]
        before = self._rerun.mean_square(part.stretch.exit)
        is_possible = 0 < wanted < math.inf and 0 < before < math.inf
        if use.part is not None or not is_possible or not self.store.is_drawn(use):
            return
        numbers = {call.number for call in part.stretch.calls}
        calls = [call for call in self.calls if call.number in numbers]
        weights, factor = use.tensor.detach().clone(), math.sqrt(wanted / before)
        self.store.refill(use.tensor, weights * factor)
        self._rerun.run(calls)
        after = self._rerun.mean_square(part.stretch.exit)
        if 0 < after < math.inf and abs(math.log(after / wanted)) <= abs(math.log(before / wanted)) / 2:
            why = f"keeps the kernel {wanted:.4g} of the stream; with C_W = 1 it was measured as {before:.4g}"
            self.store.note_factor(use, factor, why)
        else:
            self.store.refill(use.tensor, weights)
            self._rerun.run(calls)

    def _residual(self, position: int) -> None:
        """A branch: C_W at first, and xi^2 C_W in the dense layer that ends it."""
        part = self.parts[position]
        kind = self.kind(part)
        C_W, C_b = kind.variances
        weight, whole = self._branch_weights(part, kind.branch_weight)
        origin = "branches of weight 1" if kind.form.is_post_norm and weight == 1 else kind.advice.origin
        why = f"{origin} of {kind.form.text}, {self._branches} branches"
        first = last = (C_W, C_b, InitReason.THEORY, why)
        if xi in kind.values and whole >= kind.branch_weight:
            why += f": xi^2 C_W with xi = {weight:.{DIGITS}g}, C_W = {C_W:.{DIGITS}g}"
            last = (weight**2 * C_W, weight**2 * C_b, InitReason.THEORY, why)
        if not self._draw_run(part, {use: last if use.is_last else first for use in part.uses}):
            whole = 0.0
        (self.smaller if whole < kind.branch_weight else self.weighted).append(kind)
        self._kernel, self._chi = kind.step(self._kernel, whole)
        self._course = kind.form.layer

    def _branch_weights(self, part: ModelPart, advised: float) -> tuple[float, float]:
        """What the last weights of a branch are multiplied by, and the whole branch.

        A branch that starts smaller than advised stays so, whatever makes it small: training changes a small factor by
        much more than its size, and weights that made up for it would then be far too large.
        """
        if not any(end.factors or end.norm for end in part.ends):
            return advised, advised
        for end in part.ends:
            if end.size <= advised:
                size = f"starts at {end.size:.4g}, where {advised:.4g} is advised for branches"
                why = f"{size}: what starts small is kept"
                for name in filter(None, (*end.names, end.norm)):
                    self.store.keep(name, why)
                if len(end.names) < len(end.factors):
                    self.store.notes.append(f"a factor computed in {part.place} {why}")
                if end.norm_values is not None:  # it was 1 while the model was read
                    self.store.model.get_parameter(end.norm).detach().copy_(end.norm_values)
            elif end.norm:
                why = f"this norm is the end of a branch, whose weight is set to xi = {advised:.{DIGITS}g}"
                self.store.constant(end.norm, advised * end.norm_size / end.size, why)
        dense = max((end.size for end in part.ends if not end.norm), default=0.0)  # side by side the largest decides
        return min(1.0, advised / dense) if dense else 1.0, min(advised, max(end.size for end in part.ends))

    def _readout(self, part: ModelPart) -> None:
        """Outputs of mean square 1."""
        square, how = math.nan, InitReason.THEORY
        if not math.isnan(self._kernel) and not part.form.mixes_positions:
            square = averaged(part.form.forward.args[0], self._kernel)
        if not 0 < square < math.inf:
            square, how = self._entering(part.uses[0]), InitReason.MEASURED
        share = part.uses[0].fan_in * square  # of the tangent kernel: n <phi^2> from weights, 1 from biases
        if share < 1:
            self.store.notes.append(
                f"the input of the readout is small: in a gradient step its weights move the output {share:.2g} "
                "times as much as its biases, so that learning rates have to be small"
            )
        why = f"readout: outputs of mean square 1, computed from the mean square {square:.4g} of its input"
        if not self._draw_to(part, 1.0, 0.0, square, (how, why)):
            self.readout_entry = part.stretch.entry

    def _measured(self, position: int) -> None:
        """LeCun's variances; in a branch, the last dense layer times the xi of the layers on the same stream."""
        part = self.parts[position]
        because = f" ({part.reason})" if part.reason else ""
        self._kernel, why = math.nan, f"C_W = 1 (LeCun's), as the theory has no advice here{because}"
        if part.role is PartRole.MEASURED_BRANCH:
            near = (p for p in (*self.parts[position:], *self.parts[:position][::-1]) if p.role is PartRole.RESIDUAL)
            size = next((self.kind(p).values.get(xi) for p in near), None)
            said = f"with xi = {size:.{DIGITS}g} as in other branches" if size else _BRANCHES
            kernel, has_norm = self._rerun.mean_square(part.stretch.entry), part.form.forward.has(Normaliser)
            if not size:
                size = self._branches**-0.5
                if has_norm and not part.form.is_post_norm and 0 < kernel < 1:  # which makes branches large beside it
                    size = (kernel / self._branches) ** 0.5
                    said += f", times the root of the stream's mean square {kernel:.4g}"
            said += "" if self.attempt.share == 1 else f"; xi is {self.attempt.share:g} times as large, to keep signals"
            weight, _ = self._branch_weights(part, self.attempt.share * size)
            last = (weight**2, 0.0, InitReason.MEASURED, f"C_W = 1 times xi^2, {said}")
            first = (1.0, 0.0, InitReason.MEASURED, why)
            self._draw_run(part, {use: last if use.is_last else first for use in part.uses})
        elif part.uses:
            self._draw_rescaled(part, why, self._wanted(position))
            self._course = None
        else:
            self._run_to(part.stretch.calls[-1].number + 1)

    def _draw_run(self, part: ModelPart, settings: Mapping[WeightUse, Drawn]) -> bool:
        """Draw weights, and let the part act.

        Left are the last weights of a branch, and those of a readout, where they start at 0.

        Returns:
            whether all were drawn.
        """
        units = {use: (1.0, 0.0, *drawn[2:]) for use, drawn in settings.items() if use.role in INSIDE}
        settings = {use: drawn for use, drawn in {**settings, **units}.items() if not use.is_shortcut}
        zeros = []
        if part.is_residual or part.role is PartRole.READOUT:
            ends = [use for use in settings if use.is_last or not part.is_residual]
            zeros = [use for use in ends if not bool(use.weights(use.part).any())]
            what = "the branch starts" if part.is_residual else "the readout starts"
            for tensor in (tensor for use in zeros for tensor in (use.tensor, use.bias) if tensor is not None):
                if not bool(tensor.any()) and (name := self.store.name_of(tensor)):
                    self.store.keep(name, f"{what} at 0: what starts small is kept")
            settings = self._balanced({use: drawn for use, drawn in settings.items() if use not in zeros})
        for use, (C, bias, how, why) in settings.items():
            if self.attempt.is_filled:
                self._run_to(use.call.number)
                share = share_inside(use.call, self._rerun.values[use.entering])
                C, why = C / share, why + ("" if share == 1 else f", divided by the unpadded share {share:.4g}")
            if use.is_normed and C != 0:  # their size changes the stream only by the share that a step changes of it
                C, bias, why = _USUAL, bias * _USUAL / C, _BEFORE_NORM
            self.store.draw(use, C, bias, how, why)
        for use in part.uses:
            if use.is_shortcut:
                self._draw_shortcut(part, use)
        self._run_to(part.stretch.calls[-1].number + 1)
        return not zeros

    def _balanced(self, settings: dict[WeightUse, Drawn]) -> dict[WeightUse, Drawn]:
        """The weights of a branch with one size at its begin and end, if that is asked for; their product is kept."""
        sizes = {use: math.sqrt(s[0] / use.fan_in) for use, s in settings.items() if use.role not in SCORES}
        last, first = ([size for use, size in sizes.items() if use.is_last is end] for end in (True, False))
        if not last or not first or not 0 < max(last) < max(first):
            return settings
        self.is_unbalanced = True
        if not self.attempt.is_balanced:
            return settings
        ratio = max(last) / max(first)
        return settings | {
            use: (C * f, b * min(f, 1.0), how, why + _BALANCED.format(f))
            for use, (C, b, how, why) in settings.items()
            for f in [1 / ratio if use.is_last else ratio]
            if use in sizes
        }

    def _draw_shortcut(self, part: ModelPart, use: WeightUse) -> None:
        """What stands for the stream where its width changes: kernel and squared gradient change by the same factor.

        That is 1, but for the means over inputs and positions that batch norms take away.
        """
        assert part.form.shortcut is not None
        shortcut, kernel, why = part.form.shortcut, self._rerun.mean_square(part.stretch.entry), "shortcut: same kernel"
        square = self._entering(use)
        reference = part.stretch.entry if shortcut.has(Normaliser) else use.entering
        if part.shortcut_norms:
            self.store.draw(use, 1.0, 0.0, InitReason.MEASURED, why)
            self._run_to(use.call.number + 1)
            (reference,) = use.call.results
        variance = self._rerun.mean_square(reference)
        if shortcut.has(BatchNorm):
            variance = math.sqrt(variance * self._rerun.spread(reference, use.axis))
        if part.form.stream.atoms(AppliedUndef):  # a pool before the shortcut, for instance
            variance = kernel
        else:  # times 2 where a ReLU is on the stream in each block
            variance *= kernel / averaged(part.form.stream, kernel)
        for norm in part.shortcut_norms:
            self.store.constant(norm, math.sqrt(variance), why)
        if not part.shortcut_norms:
            self.store.draw(use, variance / square, 0.0, InitReason.MEASURED, why)

    def _run_to(self, number: int) -> None:
        """Let all calls act before one of them."""
        end = next((i for i, call in enumerate(self.calls) if call.number >= number), len(self.calls))
        self._rerun.run(self.calls[self._done : end])
        self._done = max(self._done, end)

    def _note(self, position: int, is_drawn: bool) -> None:
        """The stream behind a part as a place of the check, from the first part with weights or embedding on."""
        part, chi, self._chi = self.parts[position], self._chi, math.nan
        if part.role is PartRole.IDLE:  # the stream begins with the embedding of integers
            is_first = not self.stream.is_floating_point() and not self.predicted
            if not is_first or not any(following.uses for following in self.parts[position + 1 : position + 2]):
                return
        exit_ = part.stretch.exit
        if not self._rerun.values[exit_].is_floating_point():
            return
        is_whole = part.left == exit_
        is_next = bool(self.predicted) and self.predicted[-1].number == part.stretch.entry
        numbers = self._kernel if is_whole else math.nan, chi if is_next and is_whole else math.nan
        self.predicted.append(PredictedStream(part.place, part.left, *numbers, self._stage, is_drawn))
        self._exits[exit_] = is_drawn
