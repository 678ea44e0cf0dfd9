"""Weights are drawn part after part in the order of the stream, each from what the parts before it do to the inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import torch
from sympy.core.function import AppliedUndef
from torch.utils._pytree import tree_leaves

from ...core.errors import DeclarationError
from ...core.symbols import C_W, C_b, xi
from ...layers.normalisation import BatchNorm, Normaliser
from ...results.advice.parts import DIGITS
from ..equations.dense_variances import share_inside
from ..equations.formula_values import factored
from ..tracing.run_record import RecordedCall, Rerun
from .advised_kinds import Adviser, KindAdvice, NoNumbers, NothingHolds, averaged
from .depth_check import PredictedStream
from .init_report import InitReason
from .model_parts import ModelPart, PartRole, WeightUse
from .weight_store import WeightStore

Drawn: TypeAlias = tuple[float, float, InitReason, str]  # C_W, C_b, why
_USUAL = 1 / 3  # C_W of PyTorch's default, for which learning rates are usually chosen
_BALANCED = (
    "; C_W was multiplied by {:.3g}, so that all weights of the branch have one size and a step of Adam changes it less"
)
_JOINS = frozenset({"cat", "concat", "concatenate"})
_BRANCHES = "with xi = 1/sqrt(number of branches), as the theory knows no layer of this stream"


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
        mean_square: of what enters the first layer, where no inputs were given; None where they were.
        attempt: what is done otherwise than at first.
    """

    parts: list[ModelPart]
    calls: Sequence[RecordedCall]
    adviser: Adviser
    store: WeightStore
    stream: torch.Tensor
    mean_square: float | None
    attempt: Attempt
    predicted: list[PredictedStream] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.readout_entry: int | None = None  # of a readout that starts at 0, behind which there are no gradients
        # kinds some of whose branches start smaller than advised, and kinds some of whose branches do not
        self.smaller: list[KindAdvice] = []
        self.weighted: list[KindAdvice] = []
        self._exits: dict[int, bool] = {}  # of parts, each a stream; whether weights were drawn that make it
        self._rerun, self._done = Rerun(self.stream), 0
        self._kernel = self._chi = math.nan  # of the stream, as predicted; chi_perp of the layer that it leaves
        self._course: object = None  # the kind of layer for whose kernel the stream is made
        self.is_unbalanced = False  # whether branches have weights of several sizes, whose product decides
        self._stage = 0  # how often that kernel has changed
        roles = [part.role for part in self.parts]
        self._layers = max(1, roles.count(PartRole.LAYER))
        self._branches = sum(part.is_residual for part in self.parts)
        widths = [part.width for part in self.parts if part.role is PartRole.LAYER or part.is_residual]
        self._width = max(2, min(widths, default=next((part.width for part in self.parts if part.width), 2)))

    def set_all(self) -> None:
        """Every part."""
        of_roles = {PartRole.READ_IN: self._read_in, PartRole.LAYER: self._layer, PartRole.RESIDUAL: self._residual}
        for position in range(len(self.parts)):
            self._run_to(self.parts[position].stretch.calls[0].number)
            self._join_tokens(self.parts[position])
            self._before(self.parts[position])
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
        assert part.form is not None
        return self.adviser.ask(part.form, self._depth(part), self._width)

    def _depth(self, part: ModelPart) -> int:
        """Of layers with a role; before a readout: one hidden layer."""
        depths = {PartRole.RESIDUAL: self._branches, PartRole.READOUT: 1}
        return depths.get(part.role, self._layers)

    def _judged(self, position: int) -> ModelPart:
        """A part; a layer for which the theory knows no numbers that hold stays measured, unless it is all there is.

        Raises:
            NoNumbers: the model consists of this kind of layer alone, besides its read-in and readout.
        """
        part = self.parts[position]
        measured = {PartRole.RESIDUAL: PartRole.MEASURED_BRANCH, PartRole.LAYER: PartRole.MEASURED}
        if part.role not in measured:
            return part
        try:
            self.kind(part)
        except NoNumbers as error:
            if part.role is PartRole.LAYER or isinstance(error, NothingHolds):
                self._require_others(part, error)
            said = f"no setting keeps signals in {self._depth(part)} layers of this kind and width {self._width}"
            reason = said if isinstance(error, NothingHolds) else error.found
            part = replace(part, role=measured[part.role], layer=None, reason=reason)
            self.parts[position] = part
        return part

    def _require_others(self, part: ModelPart, error: NoNumbers) -> None:
        """Refuse a model that has no other layers between its read-in and its readout."""
        ends = (PartRole.READ_IN, PartRole.READOUT)
        if not any(o.uses and o.role not in ends and o.layer != part.layer for o in self.parts):
            raise error

    def _join_tokens(self, part: ModelPart) -> None:
        """Parameters that are joined to the stream as tokens get its mean square.

        The norms behind them would give gradients of a small one, a class token for instance, the inverse of its size.
        What comes before is another stream: from it the output of a class token is reached through attention alone.
        """
        for call in part.stretch.calls if part.role in (PartRole.IDLE, PartRole.MEASURED) else ():
            leaves = tree_leaves((call.args, dict(call.kwargs))) if call.name in _JOINS else ()
            names = [self.store.name_of(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]
            if any(names):
                self._run_to(call.number)
                square = self._rerun.mean_square(call.sources[0])
                for name in filter(None, names):
                    self.store.draw_token(name, math.sqrt(square), f"joined to a stream of mean square {square:.4g}")
                self._stage += 1

    def _before(self, part: ModelPart) -> None:
        """A stream whose kernel is given, by an embedding: branches are made for it."""
        if math.isnan(self._kernel) and part.layer is not None and part.role is not PartRole.READ_IN:
            self._kernel = self._rerun.mean_square(part.stretch.entry)
        if part.is_residual and self._course is None and self.adviser.kernel is None:
            self.adviser.kernel = self._rerun.mean_square(part.stretch.entry)

    def _read_in(self, position: int) -> None:
        part, (use,) = self.parts[position], self.parts[position].uses
        following = self._following(position)
        target, bias, why = 1.0, 0.0, "gives the first stream the mean square 1 by convention"
        if following is not None:
            kind = self.kind(following)
            target = kind.kernel if self.adviser.kernel is None else self.adviser.kernel
            self._course = kind.form.layer
            bias = 0.0 if following.is_residual or use.bias is None else kind.values.get(C_b, 0.0)
            why = f"read-in: gives the first stream the kernel {target:.{DIGITS}g} that the next layers need"
        square = self._entering(use)
        said = "1 assumed for its inputs" if self._is_assumed else f"{square:.4g} measured for its inputs"
        if target <= bias:
            bias = 0.0
        why = f"{why}; computed from the mean square {said}"
        self._draw_run(part, {use: ((target - bias) / square, bias, InitReason.THEORY, why)})
        self._kernel = target

    @property
    def _is_assumed(self) -> bool:
        """Whether the mean square of what enters is: before the first layer, where no inputs were given."""
        return self.mean_square is not None and not self.predicted

    def _entering(self, use: WeightUse) -> float:
        """The mean square of what enters a dense layer."""
        if self.mean_square is not None and self._is_assumed:
            return self.mean_square
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
        position += 1
        while position < len(self.parts) and self.parts[position].role is PartRole.READ_IN:
            position += 1
        if position == len(self.parts) or not self.parts[position].uses:
            return None
        following = self._judged(position)
        return None if following.layer is None else following

    def _wanted(self, position: int) -> float:
        """The kernel behind a part that the next layer needs, else that of the stream before it; nan without any."""
        for following in self.parts[position + 1 : position + 2]:
            is_layer = following.role is PartRole.LAYER and self._judged(position + 1).role is PartRole.LAYER
            if is_layer and not (kind := self.kind(following)).advice.any_scale:
                return kind.kernel
        before = [number for number, is_drawn in self._exits.items() if is_drawn] or [*self._exits]
        return self._rerun.mean_square(before[-1]) if before else math.nan

    def _layer(self, position: int) -> None:
        part = self.parts[position]
        before = self.parts[position - 1] if position else part
        if self.predicted and (before.role is PartRole.IDLE or not self._exits.get(before.stretch.exit, True)):
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
        needed = wanted.kernel / _factor_behind(part)
        bias = kind.values.get(C_b, 0.0) if kind.values.get(C_b, 0.0) < needed else 0.0
        square = self._entering(use)
        why = f"gives the kernel {wanted.kernel:.{DIGITS}g} that the next layer needs; its input has {square:.4g}"
        self._draw_run(part, {use: ((needed - bias) / square, bias, InitReason.MEASURED, why)})
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
            C = wanted / square / _factor_behind(part)
            self._draw_run(part, {part.uses[0]: (C, 0.0, InitReason.MEASURED, why)})
        else:
            self._draw_rescaled(part, f"C_W = 1 (LeCun), measured after {before}", wanted)
        self._kernel, self._course, self._chi = wanted, None, math.nan

    def _draw_rescaled(self, part: ModelPart, why: str, wanted: float) -> None:
        """C_W = 1, but for the last weights, if these decide the kernel behind the part (a norm behind them does)."""
        self._draw_run(part, {use: (1.0, 0.0, InitReason.MEASURED, why) for use in part.uses})
        use = max(part.uses, key=lambda use: use.call.number)
        before = self._rerun.mean_square(part.stretch.exit)
        if use.part is not None or not (0 < wanted < math.inf and 0 < before < math.inf):
            return
        numbers = {call.number for call in part.stretch.calls}
        calls = [call for call in self.calls if call.number in numbers]
        weights, settings = use.tensor.detach().clone(), list(self.store.settings)
        why = f"keeps the kernel {wanted:.4g} of the stream; with C_W = 1 it was measured as {before:.4g}"
        self.store.rescale(use, math.sqrt(wanted / before), why)
        self._rerun.run(calls)
        after = self._rerun.mean_square(part.stretch.exit)
        if not 0 < after < math.inf or abs(math.log(after / wanted)) > abs(math.log(before / wanted)) / 2:
            self.store.refill(use, weights)
            self.store.settings[:] = settings
            self._rerun.run(calls)

    def _residual(self, position: int) -> None:
        part = self.parts[position]
        kind = self.kind(part)
        weight, whole = self._branch_weights(part, kind.branch_weight)
        told = "branches of weight 1" if kind.form.is_post_norm and weight == 1 else kind.advice.origin
        why = f"{told} of z' = {kind.form.layer.text}, {self._branches} branches"
        values = (kind.values.get(C_W, 0.0), kind.values.get(C_b, 0.0))
        settings: dict[WeightUse, Drawn] = {use: (*values, InitReason.THEORY, why) for use in part.uses}
        if xi in kind.values and whole < kind.branch_weight:
            why += f": C_W = {values[0]:.{DIGITS}g} as for branches of weight 1, which start smaller by what is kept"
        elif xi in kind.values:
            why += f": xi^2 C_W with xi = {weight:.{DIGITS}g}, C_W = {values[0]:.{DIGITS}g}"
            last: Drawn = (weight**2 * values[0], weight**2 * values[1], InitReason.THEORY, why)
            settings |= {use: last for use in part.uses if use.is_last}
        if not self._draw_run(part, settings):
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
        (use,) = part.uses
        square, how = math.nan, InitReason.THEORY
        if not math.isnan(self._kernel) and part.form is not None and part.layer is not None:
            square = averaged(part.form.forward.args[0], self._kernel)
        if not 0 < square < math.inf:
            square, how = self._entering(use), InitReason.MEASURED
        if use.fan_in * square < 1:
            share = use.fan_in * square  # of the tangent kernel: n <phi^2> from weights, 1 from biases
            self.store.notes.append(
                f"the input of the readout is small: in a gradient step its weights move the output {share:.2g} "
                "times as much as its biases, so that learning rates have to be small"
            )
        why = f"readout: outputs of mean square 1, computed from the mean square {square:.4g} of its input"
        if not self._draw_run(part, {use: (1 / square, 0.0, how, why)}):
            self.readout_entry = part.stretch.entry

    def _measured(self, position: int) -> None:
        """LeCun's variances; in a branch, the last dense layer times the xi of the layers on the same stream."""
        part = self.parts[position]
        because = f" ({part.reason})" if part.reason else ""
        self._kernel, why = math.nan, f"C_W = 1 (LeCun's), as the theory has no advice here{because}"
        if part.role is PartRole.MEASURED_BRANCH:
            near = (p for p in (*self.parts[position:], *self.parts[:position][::-1]) if p.role is PartRole.RESIDUAL)
            advised = next((self.kind(p).values.get(xi) for p in near), None)
            size, of_size = self._size_of_branches(part)
            said = f"with xi = {advised:.{DIGITS}g} as in other branches" if advised else _BRANCHES + of_size
            said += "" if self.attempt.share == 1 else f"; xi is {self.attempt.share:g} times as large, to keep signals"
            weight, _ = self._branch_weights(part, self.attempt.share * (advised or size))
            last = (weight**2, 0.0, InitReason.MEASURED, f"C_W = 1 times xi^2, {said}")
            first = (1.0, 0.0, InitReason.MEASURED, why)
            self._draw_run(part, {use: last if use.is_last else first for use in part.uses})
        elif part.uses:
            self._draw_rescaled(part, why, self._wanted(position))
            self._course = None
        else:
            self._run_to(part.stretch.calls[-1].number + 1)

    def _size_of_branches(self, part: ModelPart) -> tuple[float, str]:
        """The weight of branches that stay measured, and why; a norm makes them large on a stream that is small."""
        assert part.form is not None
        kernel = self._rerun.mean_square(part.stretch.entry)
        if part.form.is_post_norm or not part.form.forward.has(Normaliser) or not 0 < kernel < 1:
            return self._branches**-0.5, ""
        return (kernel / self._branches) ** 0.5, f", times the root of the stream's mean square {kernel:.4g}"

    def _draw_run(self, part: ModelPart, settings: dict[WeightUse, Drawn]) -> bool:
        """Draw weights, and let the part act.

        Left are the last weights of a branch, and those of a readout, where they start at 0.

        Returns:
            whether all were drawn.
        """
        drawn = [use for use in settings if not use.is_shortcut]
        wanted = len(drawn)
        if part.is_residual or part.role is PartRole.READOUT:
            zeros = {use for use in drawn if (use.is_last or not part.is_residual) and use.starts_at_zero}
            drawn = [use for use in drawn if use not in zeros]
            what = "the branch starts" if part.is_residual else "the readout starts"
            for tensor in (tensor for use in zeros for tensor in (use.tensor, use.bias) if tensor is not None):
                if not bool(tensor.any()) and (name := self.store.name_of(tensor)):
                    self.store.keep(name, f"{what} at 0: what starts small is kept")
            settings = self._balanced({use: settings[use] for use in drawn})
        for use in drawn:
            self.store.draw(use, *_before_norm(use, *self._filled(use, *settings[use])))
        for use in (use for use in part.uses if use.is_shortcut):
            self._draw_shortcut(part, use)
        self._run_to(part.stretch.calls[-1].number + 1)
        return len(drawn) == wanted

    def _filled(self, use: WeightUse, C: float, bias: float, how: InitReason, why: str) -> Drawn:
        """Weights of a convolution that sees zeros beyond the border, if they are to make up for these."""
        if use.entering < 0 or not self.attempt.is_filled:
            return C, bias, how, why
        self._run_to(use.call.number)
        share = share_inside(use.call, self._rerun.values[use.entering])
        return C / share, bias, how, why + ("" if share == 1 else f", divided by the unpadded share {share:.4g}")

    def _balanced(self, settings: dict[WeightUse, Drawn]) -> dict[WeightUse, Drawn]:
        """The weights of a branch with one size at its begin and end, if that is asked for; their product is kept."""
        sizes = {use: math.sqrt(setting[0] / use.fan_in) for use, setting in settings.items()}
        last, first = ([size for use, size in sizes.items() if use.is_last is end] for end in (True, False))
        if not last or not first or not 0 < max(last) < max(first):
            return settings
        self.is_unbalanced = True
        ratio = max(last) / max(first) if self.attempt.is_balanced else 1.0
        why = "" if ratio == 1 else _BALANCED
        return {
            use: (C * f, b * min(f, 1.0), how, said + (why.format(f) if why else ""))
            for use, (C, b, how, said) in settings.items()
            for f in [1 / ratio if use.is_last else ratio]
        }

    def _draw_shortcut(self, part: ModelPart, use: WeightUse) -> None:
        """What stands for the stream where its width changes: kernel and squared gradient change by the same factor.

        That is 1, but for the means over inputs and positions that batch norms take away.
        """
        assert part.form is not None and part.form.shortcut is not None
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
        """The stream behind a part, from the first with weights on, as a place of the check."""
        part = self.parts[position]
        if part.role is PartRole.IDLE and not self._is_embedded(position):
            return
        chi, self._chi = self._chi, math.nan
        exit_ = part.stretch.exit
        if self._rerun.values[exit_].is_floating_point():
            is_next = bool(self.predicted) and self.predicted[-1].number == part.stretch.entry
            kernel = self._kernel if part.left == exit_ else math.nan
            chi = chi if is_next and part.left == exit_ else math.nan
            self.predicted.append(PredictedStream(part.place, part.left, kernel, chi, self._stage, is_drawn))
            self._exits[exit_] = is_drawn

    def _is_embedded(self, position: int) -> bool:
        """Whether a part without weights ends the embedding of integers: there the stream begins."""
        following = self.parts[position + 1 : position + 2]
        return not self.stream.is_floating_point() and not self.predicted and any(part.uses for part in following)


def _factor_behind(part: ModelPart) -> float:
    """The square of the number that multiplies a dense layer: 900 for the 30*Dense(sin(z)) of a SIREN."""
    return 1.0 if part.form is None else float(factored(part.form.forward)[0]) ** 2


def _before_norm(use: WeightUse, C: float, bias: float, how: InitReason, why: str) -> Drawn:
    """Weights behind which a norm stands: their size changes the stream only by the share that a step changes of it."""
    if not use.is_normed or C == 0:
        return C, bias, how, why
    return _USUAL, bias * _USUAL / C, how, "C_W = 1/3, PyTorch's default: a norm behind them undoes their size"
