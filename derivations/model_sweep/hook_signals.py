"""Sizes of activations and gradients over the depth of a model, by hooks of PyTorch; shares no code with symres.

What is looked at leaves the modules that multiply by matrices: those without children whose parameters include one with
two or more axes, embeddings left out. In the order of execution, the size of the last tenth of them is compared with
that of the first tenth; the very last one, which makes the output, is left out, because how large outputs should be is
a convention.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_TABLES = (nn.Embedding, nn.EmbeddingBag)


@dataclass(frozen=True)
class HookSignals:
    """Signals of one model.

    Args:
        activations: root mean squares of what leaves the modules, in the order of execution.
        gradients: Euclidean norms of the gradients of a random linear function of the output there; 0 where the output
            does not depend on it.
    """

    activations: tuple[float, ...]
    gradients: tuple[float, ...]

    @property
    def activation_ratio(self) -> float:
        """Size in the last tenth over that in the first; nan without sizes."""
        return ratio_of_ends(self.activations[:-1])

    @property
    def gradient_ratio(self) -> float:
        """Size of gradients in the first tenth over that in the last; nan without sizes."""
        return ratio_of_ends(self.gradients[:-1][::-1])


def ratio_of_ends(sizes: tuple[float, ...]) -> float:
    """Geometric mean of the last tenth (one at least) over that of the first; zeros are left out.

    Returns:
        nan where all are zeros, or one is not a number.
    """
    sizes = tuple(size for size in sizes if size)
    count = max(1, len(sizes) // 10)
    first, last = sizes[:count], sizes[-count:]
    if not sizes or not all(map(math.isfinite, sizes)):
        return math.nan
    logarithm = sum(map(math.log, last)) / len(last) - sum(map(math.log, first)) / len(first)
    return math.exp(min(logarithm, 700.0))


def hook_signals(model: nn.Module, inputs: Any, seed: int = 0) -> HookSignals:
    """Measure a copy of a model: in evaluation mode, but batch norms take the averages of these inputs.

    Args:
        model: stays as it is.
        inputs: a tensor, a tuple (by position) or a dictionary (by name).
        seed: of the random function of the output.
    """
    model = copy.deepcopy(model).eval()
    for module in model.modules():
        if isinstance(module, _BATCH_NORMS):
            module.train()
    activations: list[float] = []
    gradients: list[float] = []

    def seen(module: nn.Module, args: Any, output: Any) -> None:
        tensor = next(float_tensors(output), None)
        if tensor is None:
            return
        position = len(activations)
        activations.append(float(tensor.detach().double().square().mean().sqrt()))
        gradients.append(0.0)
        if tensor.requires_grad:
            tensor.register_hook(lambda gradient: gradients.__setitem__(position, _norm(gradient)))

    for module in model.modules():
        if is_weighted(module):
            module.register_forward_hook(seen)
    torch.manual_seed(seed)
    output = next(tensor for tensor in float_tensors(called(model, inputs)) if tensor.requires_grad)
    (output * torch.randn_like(output)).sum().backward()
    return HookSignals(tuple(activations), tuple(gradients))


def _norm(gradient: torch.Tensor) -> float:
    return float(gradient.detach().double().norm())


def is_weighted(module: nn.Module) -> bool:
    """Whether a module multiplies by a matrix of its own."""
    has_matrix = any(parameter.dim() > 1 for parameter in module.parameters(recurse=False))
    return has_matrix and not list(module.children()) and not isinstance(module, _TABLES)


def called(model: nn.Module, inputs: Any) -> Any:
    """What a model makes of inputs."""
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)


def float_tensors(value: Any) -> Iterator[torch.Tensor]:
    """Tensors of floating-point numbers in what a module returns, in order."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from float_tensors(part)
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from float_tensors(part)
