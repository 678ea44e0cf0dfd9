"""Weights are drawn part after part in the order of the stream, each from what the parts before it do to the inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import torch

from ...core.errors import DeclarationError
from ...core.symbols import C_W, C_b, xi
from ..tracing.run_record import RecordedCall
from .advised_kinds import Adviser, KindAdvice, averaged
from .depth_check import PredictedStream
from .init_report import InitReason
from .model_parts import ModelPart, PartRole, WeightUse
from .rerunning import Rerun
from .weight_store import WeightStore

Drawn: TypeAlias = tuple[float, float, InitReason, str]  # C_W, C_b, why
_BRANCHES = "no layer of the theory on this stream: 1/sqrt(number of branches)"


@dataclass
class StreamSetter:
    """Sets the weights of a model.

    Args:
        parts: of the model, in order.
        calls: of the run that the parts are of, all whose results reach the output, in order.
        adviser: what the theory says.
        store: the weights.
        stream: what goes into the model.
        mean_square: of what enters the first layer, where no inputs were given; None where they were.
        share: what the weights of branches that stay measured are multiplied by.
    """

    parts: Sequence[ModelPart]
    calls: Sequence[RecordedCall]
    adviser: Adviser
    store: WeightStore
    stream: torch.Tensor
    mean_square: float | None
    share: float = 1.0
    predicted: list[PredictedStream] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.readout_entry: int | None = None  # of a readout that starts at 0, behind which there are no gradients
        self.smaller: list[KindAdvice] = []  # kinds some of whose branches start smaller than advised
        self.untouched: dict[int, str] = {}  # places of streams, by number, that frozen weights made
        self._rerun, self._done = Rerun(self.stream), 0
        self._kernel = math.nan  # of the stream, as predicted
        self._course: object = None  # the kind of layer for whose kernel the stream is made
        roles = [part.role for part in self.parts]
        self._layers = max(1, roles.count(PartRole.LAYER))
        self._branches = sum(part.is_residual for part in self.parts)
        widths = [part.width for part in self.parts if part.role is PartRole.LAYER or part.is_residual]
        self._width = max(2, min(widths, default=self.parts[0].width or 2))

    def set_all(self) -> None:
        """Every part."""
        for position, part in enumerate(self.parts):
            self._run_to(part.stretch.calls[0].number)
            self._before(part)
            if part.role is PartRole.READ_IN:
                self._read_in(position)
            elif part.role is PartRole.LAYER:
                self._layer(position)
            elif part.role is PartRole.RESIDUAL:
                self._residual(part)
            elif part.role is PartRole.READOUT:
                self._readout(part)
                return
            else:
                self._measured(part, position)
            if part.uses and all(self.store.is_frozen(use) for use in part.uses):
                self.untouched[part.stretch.exit] = part.place
                self._kernel = self._chi = math.nan
            self._note(part)

    def kind(self, part: ModelPart) -> KindAdvice:
        """What the theory advises for a layer of the model."""
        assert part.form is not None
        if part.role is PartRole.RESIDUAL:
            return self.adviser.ask(part.form, self._branches, self._width)
        if part.role is PartRole.READOUT:  # one hidden layer
            return self.adviser.ask(part.form, 1, self._width)
        return self.adviser.ask(part.form, self._layers, self._width)

    def _before(self, part: ModelPart) -> None:
        """A stream whose kernel is given, by an embedding: branches are made for it."""
        if math.isnan(self._kernel) and part.layer is not None and part.role is not PartRole.READ_IN:
            self._kernel = self._rerun.mean_square(part.stretch.entry)
        if part.is_residual and self._course is None and self.adviser.kernel is None:
            self.adviser.kernel = self._rerun.mean_square(part.stretch.entry)

    def _read_in(self, position: int) -> None:
        part, (use,) = self.parts[position], self.parts[position].uses
        following = self._following(position)
        target, bias, why = 1.0, 0.0, "keeps the mean square 1 of the stream, which no layer of the theory asks for"
        if following is not None:
            kind = self.kind(following)
            target = kind.kernel if self.adviser.kernel is None else self.adviser.kernel
            self._course = kind.form.layer
            bias = 0.0 if following.is_residual or use.bias is None else kind.values.get(C_b, 0.0)
            why = f"read-in: gives the first stream the kernel {target:.6g} that the layers behind it need"
        square = self._entering(use)
        said = f"of its inputs, measured as {square:.4g}" if self.mean_square is None else "1 assumed of its inputs"
        if target <= bias:
            bias = 0.0
        self._draw_run(
            part, {use: ((target - bias) / square, bias, InitReason.THEORY, f"{why}, from the mean square {said}")}
        )
        self._kernel = target

    def _entering(self, use: WeightUse) -> float:
        """The mean square of what enters a dense layer."""
        if self.mean_square is not None and not self.predicted:
            return self.mean_square
        self._run_until(use)
        assert use.entering is not None
        square = self._rerun.mean_square(use.entering)
        if not 0 < square < math.inf:
            raise DeclarationError(
                f"the mean square of what enters {use.module or 'the model'}",
                f"it is {square:g}",
                "pass inputs with finite numbers that are not all 0",
            )
        return square

    def _following(self, position: int) -> ModelPart | None:
        """The next part, if it has weights and the theory knows it; what has none in between changes the kernel."""
        found = self.parts[position + 1] if position + 1 < len(self.parts) else None
        return None if found is None or not found.uses or found.layer is None else found

    def _wanted(self, position: int) -> float:
        """The kernel behind a part that the next layer needs, else that of the stream before it; nan without any."""
        following = self._following(position)
        if following is not None and following.role is PartRole.LAYER:
            kind = self.kind(following)
            if not kind.advice.any_scale:
                return kind.kernel
        if not self.predicted:
            return math.nan
        drawn = [place.number for place in self.predicted if place.number not in self.untouched]
        return self._rerun.mean_square(drawn[-1] if drawn else self.predicted[-1].number)

    def _layer(self, position: int) -> None:
        part = self.parts[position]
        before = self.parts[position - 1] if position else part
        if self.predicted and (before.role is PartRole.IDLE or before.stretch.exit in self.untouched):
            self._behind_unread(position)
            return
        kind = self.kind(part)
        following = self._following(position)
        other = following is not None and following.role is not PartRole.READOUT and self.kind(following) is not kind
        if kind.advice.any_scale or (self._course == kind.form.layer and not other) or len(part.uses) > 1:
            why = f"{kind.advice.origin} of z' = {kind.form.layer.text}"
            values = (kind.values.get(C_W, 0.0), kind.values.get(C_b, 0.0))
            self._draw_run(part, {use: (*values, InitReason.THEORY, why) for use in part.uses})
            self._kernel, self._chi = kind.step(self._kernel)
            return
        # the stream comes from another kind of layer, or goes to one: the kernel that is needed next
        wanted = self.kind(following) if other and following is not None else kind
        (use,) = part.uses
        bias = kind.values.get(C_b, 0.0) if kind.values.get(C_b, 0.0) < wanted.kernel else 0.0
        square = self._entering(use)
        why = f"gives the stream the kernel {wanted.kernel:.6g} that the next layer needs; {square:.4g} enters"
        self._draw_run(part, {use: ((wanted.kernel - bias) / square, bias, InitReason.MEASURED, why)})
        self._kernel, self._course = wanted.kernel, wanted.form.layer
        self._chi = math.nan

    def _behind_unread(self, position: int) -> None:
        """A layer behind operations without weights, or frozen ones, whose theory does not know what they do."""
        part, wanted = self.parts[position], self._wanted(position)
        before = self.parts[position - 1].place
        if len(part.uses) == 1:
            square = self._entering(part.uses[0])
            why = (
                f"gives the stream the kernel {wanted:.6g}, from the mean square {square:.4g} measured behind {before}"
            )
            self._draw_run(part, {part.uses[0]: (wanted / square, 0.0, InitReason.MEASURED, why)})
        else:
            why = f"C_W = 1 (LeCun), measured behind {before}"
            self._draw_run(part, {use: (1.0, 0.0, InitReason.MEASURED, why) for use in part.uses})
            self._rescale(part, wanted)
        self._kernel, self._course, self._chi = wanted, None, math.nan

    def _rescale(self, part: ModelPart, wanted: float) -> None:
        """Give the stream behind a part a kernel by its last weights, if these decide it (a norm behind them does)."""
        use = max(part.uses, key=lambda use: use.call.number)
        before = self._rerun.mean_square(part.stretch.exit)
        if not (0 < wanted < math.inf and 0 < before < math.inf) or use.part is not None:
            return
        factor = math.sqrt(wanted / before)
        numbers = {call.number for call in part.stretch.calls}
        calls = [call for call in self.calls if call.number in numbers]
        weights, settings = use.tensor.detach().clone(), list(self.store.settings)
        why = f"gives the stream the kernel {wanted:.4g} that it had; with C_W = 1 it was measured as {before:.4g}"
        self.store.rescale(use, factor, why)
        self._rerun.run(calls)
        after = self._rerun.mean_square(part.stretch.exit)
        if not 0 < after < math.inf or abs(math.log(after / wanted)) > abs(math.log(before / wanted)) / 2:
            use.tensor.detach().copy_(weights)
            self.store.settings[:] = settings
            self._rerun.run(calls)

    def _residual(self, part: ModelPart) -> None:
        kind = self.kind(part)
        weight, whole = self._branch_weights(part, kind.branch_weight)
        settings = {}
        for use in part.uses:
            if use.is_shortcut:
                settings[use] = (1.0, 0.0, InitReason.THEORY, "shortcut: keeps the kernel of the stream")
                continue
            ends = use.is_last and xi in kind.values
            square = weight**2 if ends else 1.0
            values = (square * kind.values.get(C_W, 0.0), square * kind.values.get(C_b, 0.0))
            told = "whole branches" if kind.form.is_post_norm and weight == 1 else kind.advice.origin
            why = f"{told} of z' = {kind.form.layer.text}, {self._branches} branches"
            if ends:
                why += f": xi^2 C_W with xi = {weight:.4g}, C_W = {kind.values[C_W]:.4g}"
            settings[use] = (*values, InitReason.THEORY, why)
        drawn = self._without_zeros(part, settings)
        self._draw_run(part, drawn)
        if len(drawn) < len(settings):
            whole = 0.0
        if whole < kind.branch_weight:
            self.smaller.append(kind)
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
            names = (*end.names, end.norm) if end.norm else end.names
            if end.size <= advised:
                why = (
                    f"starts at {end.size:.4g}, where {advised:.4g} is advised for branches: what starts small is kept"
                )
                for name in names:
                    self.store.keep(name, why)
                if len(end.names) < len(end.factors):
                    self.store.notes.append(f"a factor that is computed in {part.place} {why}")
                if end.norm_values is not None:  # it was 1 while the model was read
                    self.store.model.get_parameter(end.norm).detach().copy_(end.norm_values)
            elif end.norm:
                value = advised * end.norm_size / end.size
                self.store.constant(
                    end.norm, value, f"the norm ends a branch, which gets the weight xi = {advised:.4g}"
                )
        normless = [end.size for end in part.ends if not end.norm]
        dense = max(normless, default=0.0)  # of branches side by side the largest decides
        weight = 1.0 if dense <= advised else advised / dense
        return weight, min(advised, max(end.size for end in part.ends))

    def _without_zeros(self, part: ModelPart, settings: dict[WeightUse, Drawn]) -> dict[WeightUse, Drawn]:
        """What is to be drawn: not the last weights of a branch, nor those of a readout, where they start at 0."""
        is_kept = {use: (use.is_last or part.role is PartRole.READOUT) and use.starts_at_zero for use in settings}
        for use in (use for use, kept in is_kept.items() if kept):
            what = "the readout starts" if part.role is PartRole.READOUT else "the branch starts"
            for tensor in (use.tensor, use.bias):
                if tensor is not None and not bool(tensor.any()) and (name := self.store.name_of(tensor)):
                    self.store.keep(name, f"{what} at 0: what starts small is kept")
        return {use: setting for use, setting in settings.items() if not is_kept[use]}

    def _readout(self, part: ModelPart) -> None:
        (use,) = part.uses
        square, how = math.nan, InitReason.THEORY
        if not math.isnan(self._kernel) and part.form is not None and part.layer is not None:
            square = averaged(part.form, self._kernel)
        if not 0 < square < math.inf:
            square, how = self._entering(use), InitReason.MEASURED
        if use.fan_in * square < 1:
            share = use.fan_in * square  # of the tangent kernel: n <phi^2> from weights, 1 from biases
            self.store.notes.append(
                f"the last stream is small: in a gradient step a layer's weights move the output {share:.2g} "
                "times as much as its biases, and learning rates have to be small"
            )
        why = f"readout: outputs of mean square 1, from the mean square {square:.4g} of what enters it"
        settings = self._without_zeros(part, {use: (1 / square, 0.0, how, why)})
        if not settings:
            self.readout_entry = part.stretch.entry
        self._draw_run(part, settings)

    def _measured(self, part: ModelPart, position: int) -> None:
        """LeCun's variances; in a branch, the last dense layer times the xi of the layers on the same stream."""
        weight, said = 1.0, ""
        if part.role is PartRole.MEASURED_BRANCH:
            near = [p for p in (*self.parts[position:], *self.parts[:position][::-1]) if p.role is PartRole.RESIDUAL]
            known = self.kind(near[0]).values.get(xi) if near else None
            said = f"xi = {known:.4g} of the other branches" if known else _BRANCHES
            said += "" if self.share == 1 else f", times {self.share:g} because these networks fail"
            weight, _ = self._branch_weights(part, self.share * (known or self._branches**-0.5))
        settings = {}
        for use in part.uses:
            if use.is_last and part.role is PartRole.MEASURED_BRANCH:
                why = f"C_W = 1 times xi^2, {said}; the branch is measured"
                settings[use] = (weight**2, 0.0, InitReason.MEASURED, why)
            else:
                settings[use] = (1.0, 0.0, InitReason.MEASURED, "C_W = 1 (LeCun); the part is measured: " + part.reason)
        if part.role is PartRole.MEASURED_BRANCH:
            settings = self._without_zeros(part, settings)
        self._draw_run(part, settings)
        self._kernel = math.nan
        if part.role is PartRole.MEASURED:
            self._rescale(part, self._wanted(position))
        if part.role is not PartRole.MEASURED_BRANCH and part.uses:
            self._course = None

    def _draw_run(self, part: ModelPart, settings: dict[WeightUse, Drawn]) -> None:
        """Draw weights, and let the part act."""
        for use, setting in settings.items():
            self.store.draw(use, *setting)
        self._run_to(part.stretch.calls[-1].number + 1)

    def _run_until(self, use: WeightUse) -> None:
        self._run_to(use.call.number)

    def _run_to(self, number: int) -> None:
        """Let all calls act before one of them."""
        end = next((i for i, call in enumerate(self.calls) if call.number >= number), len(self.calls))
        self._rerun.run(self.calls[self._done : end])
        self._done = max(self._done, end)

    _chi = math.nan

    def _note(self, part: ModelPart) -> None:
        """The stream behind a part, from the first with weights on, as a place of the check."""
        if part.role is PartRole.IDLE and not self._is_embedded(part):
            return
        value = self._rerun.values[part.stretch.exit]
        if value.is_floating_point():
            is_next = bool(self.predicted) and self.predicted[-1].number == part.stretch.entry
            chi = self._chi if is_next else math.nan
            self.predicted.append(PredictedStream(part.place, part.stretch.exit, self._kernel, chi))
        self._chi = math.nan

    def _is_embedded(self, part: ModelPart) -> bool:
        """Whether a part without weights ends the embedding of integers: there the stream begins."""
        following = self.parts[self.parts.index(part) + 1 :]
        return not self.stream.is_floating_point() and not self.predicted and bool(following and following[0].uses)
