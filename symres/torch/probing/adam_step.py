"""How far the first step of Adam moves the streams of a network, on random targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from ..models.call_arguments import CallArguments, first_tensor
from ..models.choosing import ChosenModules
from ..models.keeping import kept
from ..models.observing import Site
from .network_passes import Passes, no_fused_encoders

RATE, _EPSILON = 1e-3, 1e-8  # of Adam, as PyTorch has them unless a user says otherwise
# A stream whose change is as large as itself is not the one whose kernel was measured; of one whose change is ten times
# as large nothing is left: its mean square has grown about a hundredfold.
LARGE, DESTRUCTIVE = 1.0, 10.0

Streams = Callable[[CallArguments], Sequence[torch.Tensor]]


def adam_changes(
    model: nn.Module, parts: Sequence[CallArguments], weights: Sequence[nn.Parameter], streams: Streams, seed: int
) -> list[float]:
    """The norm of the change of each stream over its norm before, after one step on a mean squared error.

    Args:
        model: the network; its weights are put back.
        parts: the inputs, in parts that are run one after the other.
        weights: those that the step changes.
        streams: the tensors of a run without gradients, all of them in the same order each time.
        seed: of the targets, standard normal numbers in the shape of the output, drawn for one row after the other
            (so that parts change nothing), and of whatever the model draws.

    Returns:
        A number for each stream, over all inputs; nan where it is 0 before the step or changes its shape, and
        everywhere if the output depends on no weight.

    Raises:
        RuntimeError: PyTorch cannot differentiate the output.
    """
    stepped = _after_step(model, parts, weights, seed)
    squares: list[list[tuple[float, float]]] = []  # of each part: the change, and what was there, of each stream
    for part in parts:
        torch.manual_seed(seed)
        before = streams(part)
        with kept(model), torch.no_grad():
            for weight, new in zip(weights, stepped, strict=False):  # there are none where nothing depends on them
                weight.copy_(new)
            torch.manual_seed(seed)
            after = streams(part)
        pairs = zip(before, after, strict=True)
        squares.append(
            [(_square(new - old) if old.shape == new.shape else math.nan, _square(old)) for old, new in pairs]
        )
    totals = [tuple(map(sum, zip(*of_parts, strict=True))) for of_parts in zip(*squares, strict=True)]
    return [math.sqrt(change / size) if stepped and size > 0 else math.nan for change, size in totals]


@no_fused_encoders()
def changes_at_places(
    model: nn.Module,
    chosen: ChosenModules,
    sites: Sequence[Site],
    parts: Sequence[CallArguments],
    weights: Sequence[nn.Parameter],
    seed: int,
) -> list[float]:
    """The same of what is at places among the chosen modules of a model; nan at one that a run does not come by."""

    def streams(part: CallArguments) -> list[torch.Tensor]:
        seen: dict[Site, torch.Tensor] = {}
        passes = Passes(model, part, chosen, tuple(sites), None, stochastic=False, coupled=False)
        with torch.no_grad():
            passes.run(lambda site, tensor: seen.update({site: tensor.clone()}))
        return [seen.get(site, torch.empty(0)) for site in sites]

    return adam_changes(model, parts, weights, streams, seed)


def change_in_words(place: str, change: float) -> str:
    """What the step does to a stream."""
    return f"one step of Adam at {RATE:g} on random targets changes {place} by {change:.3g} times its norm"


def caution(place: str, change: float) -> str:
    """What the step does to a stream, and how to begin a training: one step does not say which rates are too large."""
    start = f"start training with learning rates below about {RATE / change:.2g}, or with a warm-up"
    return f"{change_in_words(place, change)}; {start} (larger rates may work: this is a single step)"


def _after_step(
    model: nn.Module, parts: Sequence[CallArguments], weights: Sequence[nn.Parameter], seed: int
) -> list[torch.Tensor]:
    """The weights after the step: both averages of Adam are those of the first gradient alone."""
    generator, entries = torch.Generator().manual_seed(seed), 0
    with kept(model), torch.enable_grad():
        for weight in weights:
            weight.requires_grad_(True)
        for part in parts:
            torch.manual_seed(seed)
            output = first_tensor(part.call(model))
            if output is None or not output.requires_grad:
                return []
            rows = output.reshape(output.shape[0] if output.ndim else 1, -1)
            targets = torch.stack([torch.randn(rows.shape[1], generator=generator, device="cpu") for _ in rows])
            (rows - targets.to(rows)).square().sum().backward()
            entries += output.numel()
        gradients = [torch.zeros_like(w) if w.grad is None else w.grad.to_dense() / entries for w in weights]
        return [w.detach() - RATE * g / (g.abs() + _EPSILON) for w, g in zip(weights, gradients, strict=True)]


def _square(tensor: torch.Tensor) -> float:
    return float(tensor.detach().double().square().sum())
