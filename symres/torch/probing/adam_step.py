"""How far the first step of Adam moves the streams of a network, on random targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from ..models.arguments_of_models import CallArguments
from ..models.choosing import ChosenModules
from ..models.observing import Observer, Site
from ..models.structures import first_tensor
from .network_passes import no_fused_encoders

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
        model: a network that works on copies of its weights, which do not ask for gradients.
        parts: the inputs, in parts that are run one after the other.
        weights: those that the step changes; they are put back.
        streams: the tensors of a run without gradients, all of them in the same order each time.
        seed: of the targets, standard normal numbers in the shape of the output, drawn for one row after the other
            (so that parts change nothing), and of whatever the model draws.

    Returns:
        A number for each stream, over all inputs; nan where it is 0 before the step or changes its shape, and
        everywhere if the output depends on no weight.

    Raises:
        RuntimeError: PyTorch cannot differentiate the output.
    """
    steps = _first_step(model, parts, weights, seed)
    changes: list[list[float]] = []
    sizes: list[list[float]] = []
    for part in parts:
        torch.manual_seed(seed)
        before = streams(part)
        with _moved(weights, steps):
            torch.manual_seed(seed)
            after = streams(part)
        pairs = list(zip(before, after, strict=True))
        changes.append([_square(new - old) if old.shape == new.shape else math.nan for old, new in pairs])
        sizes.append([_square(old) for old in before])
    totals = zip(map(sum, zip(*changes, strict=True)), map(sum, zip(*sizes, strict=True)), strict=True)
    return [math.sqrt(change / size) if steps and size > 0 else math.nan for change, size in totals]


@no_fused_encoders()
def changes_at_places(
    model: nn.Module,
    chosen: ChosenModules,
    sites: Sequence[Site],
    parts: Sequence[CallArguments],
    weights: Sequence[nn.Parameter],
    seed: int,
) -> list[float]:
    """The same of what is at places of a model; nan at one that a run does not come by.

    Args:
        model: see ``adam_changes``.
        chosen: its modules.
        sites: the places at them.
        parts: see ``adam_changes``.
        weights: see there.
        seed: see there.
    """
    observer = Observer(model, chosen)

    def streams(part: CallArguments) -> list[torch.Tensor]:
        found: dict[Site, torch.Tensor] = {}

        def visit(site: Site, tensor: torch.Tensor) -> None:
            found[site] = tensor.clone()

        given = part.map(torch.clone)
        with torch.no_grad(), observer.watching(visit):
            model(*given.args, **given.kwargs)
        return [found.get(site, torch.empty(0)) for site in sites]

    return adam_changes(model, parts, weights, streams, seed)


def _first_step(
    model: nn.Module, parts: Sequence[CallArguments], weights: Sequence[nn.Parameter], seed: int
) -> list[torch.Tensor]:
    """What the step subtracts from each weight: both averages of Adam are those of the first gradient alone."""
    generator = torch.Generator().manual_seed(seed)
    gradients = [torch.zeros_like(weight) for weight in weights]
    entries = 0
    for weight in weights:
        weight.requires_grad_(True)
    try:
        for part in parts:
            torch.manual_seed(seed)
            given = part.map(torch.clone)
            with torch.enable_grad():
                output = first_tensor(model(*given.args, **given.kwargs))
                if output is None or not output.requires_grad:
                    return []
                rows = output.reshape(output.shape[0] if output.ndim else 1, -1)
                drawn = [torch.randn(rows.shape[1], generator=generator, device="cpu") for _ in rows]
                error = (rows - torch.stack(drawn).to(rows)).square().sum()
            entries += output.numel()
            found = torch.autograd.grad(error, weights, allow_unused=True)
            gradients = [g if new is None else g + new for g, new in zip(gradients, found, strict=True)]
    finally:
        for weight in weights:
            weight.requires_grad_(False)
    means = [gradient.to_dense() / entries for gradient in gradients]
    return [RATE * mean / (mean.abs() + _EPSILON) for mean in means]


@contextmanager
def _moved(weights: Sequence[nn.Parameter], steps: Sequence[torch.Tensor]) -> Iterator[None]:
    """Weights after the step; afterwards they are as they were."""
    before = [weight.detach().clone() for weight in weights]
    try:
        with torch.no_grad():
            for weight, step in zip(weights, steps, strict=False):  # there are none where nothing depends on them
                weight.sub_(step)
        yield
    finally:
        with torch.no_grad():
            for weight, old in zip(weights, before, strict=True):
                weight.copy_(old)


def _square(tensor: torch.Tensor) -> float:
    return float(tensor.detach().double().square().sum())
