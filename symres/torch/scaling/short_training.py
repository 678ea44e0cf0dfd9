"""A few steps of training of one network, and what its places hold before each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import torch
from torch import nn

from ...core.errors import DeclarationError
from ..models.arguments_of_models import CallArguments
from ..models.choosing import ModuleChoice, choose_modules
from ..models.observing import hooked
from ..models.structures import first_tensor, mean_square
from ..models.wording import passing

OUTPUT = "output"  # the place of what the model returns
Optimizer = Callable[[nn.Module, float], torch.optim.Optimizer]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

OPTIMIZERS: Mapping[str, Optimizer] = {
    "sgd": lambda model, rate: torch.optim.SGD(model.parameters(), rate),
    "adam": lambda model, rate: torch.optim.Adam(model.parameters(), rate),
}


def losses_of(
    model: nn.Module,
    arguments: CallArguments,
    targets: torch.Tensor,
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    steps: int,
    watch: Callable[[int], None] = lambda step: None,
) -> list[float]:
    """The loss before each step and after the last one; the model is changed.

    Args:
        model: the network.
        arguments: its inputs, the same in each step.
        targets: likewise.
        loss: of the output and the targets.
        optimizer: of its parameters.
        steps: how many.
        watch: called before the pass of each step, and before the last pass.

    Returns:
        Where it is no longer finite the training ends, and infinity stands in the place of what is missing.

    Raises:
        DeclarationError: the model returns no floating-point numbers, or raises an error of its own.
    """
    found: list[float] = []
    for step in range(steps + 1):
        watch(step)
        optimizer.zero_grad()
        with passing(model):
            output = first_tensor(arguments.call(model))
            if output is None:
                asked, remedy = f"the training of {type(model).__name__}", "pass a model with floating-point outputs"
                raise DeclarationError(asked, "it returns no floating-point numbers", remedy)
            value = loss(output, targets)
        if not math.isfinite(float(value.detach())):
            break
        found.append(float(value.detach()))
        if step < steps:
            value.backward()
            optimizer.step()
    return found + [math.inf] * (steps + 1 - len(found))


class WatchedPlaces:
    """Sizes of what leaves modules, and of how it has changed since the first step.

    Args:
        model: the network.
        modules: where; see ``choose_modules``.
    """

    def __init__(self, model: nn.Module, modules: ModuleChoice) -> None:
        self.modules = {**choose_modules(model, modules).modules, OUTPUT: model}
        self.sizes: dict[str, list[float]] = {}  # root mean squares, of each place step by step
        self.changes: dict[str, list[float]] = {}
        self.entries: dict[str, int] = {}  # of the tensor at each place
        self._first: dict[str, torch.Tensor] = {}
        self._step = 0

    def begin(self, step: int) -> None:
        """From here on a pass belongs to this step."""
        self._step = step

    def hooks(self) -> AbstractContextManager[None]:
        """A context in which passes of the model are watched."""
        return hooked(self.modules, leaving=self._leaving)

    def _leaving(self, name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        tensor = first_tensor(output)
        if tensor is None or len(self.sizes.setdefault(name, [])) > self._step:  # the first call of several
            return
        now = tensor.detach().clone()
        first, self.entries[name] = self._first.setdefault(name, now), now.numel()
        self.sizes[name].append(math.sqrt(mean_square(now)))
        self.changes.setdefault(name, []).append(math.sqrt(mean_square(now - first)))
