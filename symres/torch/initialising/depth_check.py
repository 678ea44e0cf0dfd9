"""Kernels and gradients along the depth of a model, measured on inputs, against the theory of its layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ...results.advice.advice import Advice
from ...results.advice.parts import FACTOR, spread
from ...results.annotated_numbers import DataFrame, EstimatedNumber, data_frame, row_of
from ..measuring.place_signals import UNKNOWN, average
from ..probing.adam_step import DESTRUCTIVE, RATE, change_in_words
from ..probing.network_passes import mean_products, squares
from ..tracing.run_record import RecordedCall, Rerun

NEAR = 2.0  # factor from the theory that one network may have
_PROBES = 4  # random directions for each gradient


@dataclass(frozen=True)
class StreamLevel:
    """A stream of a model.

    Args:
        place: what it leaves.
        kernel: mean square, over inputs, positions and neurons; its standard error over inputs, nan for one input.
        kernel_theory: what the theory of the layers before it predicts; nan behind what stays measured.
        gradient: squared norm of the Jacobian from it to the output, for each entry of the output; error likewise.
        gradient_theory: the measured one at the end of the same layers, times chi_perp of those between; nan elsewhere.
        adam_change: the norm of what one step of Adam at 1e-3 on random targets adds, over its norm before; nan where
            that is not known.
    """

    place: str
    kernel: EstimatedNumber
    kernel_theory: float
    gradient: EstimatedNumber
    gradient_theory: float
    adam_change: float


@dataclass(frozen=True)
class DepthCheck:
    """Kernels and gradients of one network, stream by stream.

    Args:
        streams: what was measured, from the read-in's output to the readout's input.
        inputs: how many inputs.
    """

    streams: tuple[StreamLevel, ...]
    inputs: int

    @property
    def kernel_range(self) -> float:
        """The largest kernel over the smallest."""
        return spread([stream.kernel for stream in self.streams])

    @property
    def most_changed(self) -> StreamLevel | None:
        """The stream that one step of Adam changes most; None where no change is known."""
        changed = [stream for stream in self.streams if not math.isnan(stream.adam_change)]
        return max(changed, key=lambda stream: stream.adam_change, default=None)

    @property
    def steepest(self) -> str:
        """The place behind which kernel or squared gradient differ most from those at the place before it."""
        pairs = list(zip(self.streams, self.streams[1:], strict=False))
        ranges = [max(spread([a.kernel, b.kernel]), spread([a.gradient, b.gradient])) for a, b in pairs]
        return pairs[ranges.index(max(ranges))][1].place if pairs else self.streams[0].place

    @property
    def gradient_range(self) -> float:
        """The largest squared gradient over the smallest."""
        return spread([stream.gradient for stream in self.streams])

    @property
    def kernel_factor(self) -> float:
        """The largest factor between a kernel and its theory; nan without a theory."""
        return _factor([(stream.kernel, stream.kernel_theory) for stream in self.streams])

    @property
    def gradient_factor(self) -> float:
        """The largest factor between a squared gradient and its theory; nan without a theory."""
        return _factor([(stream.gradient, stream.gradient_theory) for stream in self.streams])

    @property
    def holds(self) -> bool:
        """Whether kernels and gradients change by less than 5 over the depth."""
        return max(self.kernel_range, self.gradient_range) <= FACTOR

    @property
    def is_near(self) -> bool:
        """Whether they are within a factor of 2 of the theory wherever there is one."""
        return not max(self.kernel_factor, self.gradient_factor, key=lambda f: -math.inf if math.isnan(f) else f) > NEAR

    @property
    def sentences(self) -> tuple[str, ...]:
        """In words."""
        if not self.streams:
            return ("No signal between two layers could be measured.",)
        kept = "within" if self.holds else "more than"
        changes = (
            f"In this network, on {self.inputs} inputs, kernels change by a factor of {self.kernel_range:.3g} over the "
            f"depth and squared gradients by a factor of {self.gradient_range:.3g}: {kept} a factor of {FACTOR:g}."
        )
        if (moved := self.most_changed) is not None:
            changes += (
                f" One step of Adam at {RATE:g} on random targets changes {moved.place} most, "
                f"by {moved.adam_change:.3g} times its norm."
            )
        if math.isnan(self.kernel_factor):
            return (changes, "The theory predicts none of these layers.")
        apart = f"kernels are off by factors up to {self.kernel_factor:.3g}"
        if not math.isnan(self.gradient_factor):
            apart += f", squared gradients up to {self.gradient_factor:.3g}"
        return (changes, f"Compared with the theory of infinite width, {apart}.")

    def frame(self) -> DataFrame:
        """A table with a row for each stream; columns as the fields of ``StreamLevel``, and the errors of two."""
        columns = list(row_of(StreamLevel("", UNKNOWN, math.nan, UNKNOWN, math.nan, math.nan)))  # also of no streams
        return data_frame([row_of(stream) for stream in self.streams], "an initialisation", columns)


@dataclass(frozen=True)
class PredictedStream:
    """A place to be measured, with what the theory says.

    Args:
        place: what the stream leaves.
        number: of the stream value.
        kernel: predicted; nan if it is not.
        chi_perp: of the layer that it leaves; nan if it is not known.
        stage: how often the theory has asked for another kernel before it; kernels of different stages differ.
        is_drawn: whether weights were drawn that make it.
    """

    place: str
    number: int
    kernel: float
    chi_perp: float
    stage: int = 0
    is_drawn: bool = True


def check_depth(
    stream: torch.Tensor,
    calls: Sequence[RecordedCall],
    output: int,
    predicted: Sequence[PredictedStream],
    changes: Sequence[float],
    generator: torch.Generator,
) -> DepthCheck:
    """Measure kernels and gradients at places, which one step of Adam changes so much.

    Raises:
        RuntimeError: PyTorch cannot differentiate the output.
    """
    inputs = int(stream.shape[0])
    if not predicted:
        return DepthCheck((), inputs)
    rerun = Rerun(stream, predicted[0].number)
    rerun.run(calls)
    tensors = [rerun.values[place.number] for place in predicted]
    final = rerun.values[output]
    # the first axis of a place may be the tokens, or both: parts of equal size have the same mean as inputs have
    gradients = [np.zeros(inputs) for _ in tensors]
    for _ in range(_PROBES):
        signs = torch.randint(0, 2, final.shape, generator=generator, dtype=torch.float64).to(final.device) * 2 - 1
        of_places = torch.autograd.grad((final * signs).sum(), tensors, retain_graph=True, allow_unused=True)
        for total, gradient in zip(gradients, of_places, strict=True):
            total += math.nan if gradient is None else squares(gradient, inputs) / _PROBES
    streams, level, behind = [], math.nan, math.nan
    # gradients of the theory begin at the end of each stretch that it knows, and go backwards
    for place, tensor, total, change in reversed(list(zip(predicted, tensors, gradients, changes, strict=True))):
        gradient = average(total[None] / (final.numel() / inputs))
        kernel = average(mean_products(tensor, tensor, inputs)[None])
        if not math.isnan(behind):
            level = level * behind
        else:
            level = math.nan if math.isnan(place.chi_perp) else float(gradient)
        behind = place.chi_perp
        streams.append(StreamLevel(place.place, kernel, place.kernel, gradient, level, change))
    return DepthCheck(tuple(reversed(streams)), inputs)


def failures(
    check: DepthCheck, places: Sequence[PredictedStream], advice: Sequence[Advice], scatter: float, smallest: float
) -> list[tuple[str, str]]:
    """What in a measurement forbids to keep a network, with what to do about it.

    Kernels that the theory wants to differ, and those that frozen weights make, are not compared.

    Args:
        check: the measurement.
        places: its streams.
        advice: for the kinds of layers, with trials in random networks.
        scatter: the factor by which one network may change more than networks do on average.
        smallest: the root mean square of the smallest trained tensor that is not 0. A step that changes streams by more
            than it changes any weights, as in chains of many wide layers, asks for a smaller learning rate only.
    """
    reasons = []
    stages: dict[int, list[StreamLevel]] = {}
    for level, place in zip(check.streams, places, strict=True):
        if place.is_drawn:
            stages.setdefault(place.stage, []).append(level)
    checks = [replace(check, streams=tuple(levels)) for levels in stages.values()]
    # where networks of infinite width survive and those of this width scatter, as far as they do
    tried = [max(each.trial.ranges) for each in advice if each.trial is not None]
    allowed = max([scatter * FACTOR, *(NEAR * most for most in tried if most > FACTOR)])
    ranges = [(one.kernel_range, "kernels", one.steepest) for one in checks]
    ranges += [(one.gradient_range, "squared gradients", one.steepest) for one in checks]
    worst, what, where = max(ranges, default=(1.0, "", ""))
    if worst > allowed:
        said = f"in this network {what} change by a factor of {worst:.3g} over the depth, most of it at {where}"
        remedy = "initialise it by hand or change the model there, or use force=True"
        reasons.append((f"{said}; up to {allowed:.3g} is usual for networks that can be trained", remedy))
    moved = check.most_changed
    if moved is not None and moved.adam_change > DESTRUCTIVE and smallest < RATE:
        rate = f"learning rates below about {RATE / moved.adam_change:.2g}"
        said = change_in_words(moved.place, moved.adam_change)
        reasons.append((said, f"use force=True and start with {rate}, or change the model"))
    return reasons


def _factor(pairs: Sequence[tuple[float, float]]) -> float:
    """The largest factor between two numbers of a pair; nan where no pair has both."""
    factors = [max(a / b, b / a) if a > 0 and b > 0 else math.inf for a, b in pairs if not math.isnan(b)]
    return max(factors, default=math.nan)
