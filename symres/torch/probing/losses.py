"""Losses whose gradients are measured: by name with targets, or a function of what the model returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch.nn import functional

from ...core.errors import DeclarationError
from ..models.structures import first_tensor
from .cotangents import LossFunction

Loss: TypeAlias = str | LossFunction


def _mean_square(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    if output.shape != targets.shape:
        raise DeclarationError(
            "loss='mse'", f"outputs are {tuple(output.shape)}, targets {tuple(targets.shape)}", "give equal shapes"
        )
    return functional.mse_loss(output, targets.to(output))


def _cross_entropy(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    if output.shape[:-1] != targets.shape or targets.is_floating_point():
        raise DeclarationError(
            "loss='cross_entropy'",
            f"outputs are {tuple(output.shape)}, targets {tuple(targets.shape)} {targets.dtype}",
            "give the integer of the class for each row of the output, whose last axis counts classes",
        )
    return functional.cross_entropy(output.flatten(0, -2), targets.flatten())


_NAMED: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mse": _mean_square,
    "cross_entropy": _cross_entropy,
}


def loss_of_part(loss: Loss | None, targets: torch.Tensor | None, part: slice, size: int) -> LossFunction | None:
    """The loss of some of the inputs, as a function of what the model returns.

    Args:
        loss: a name, a function, or None.
        targets: for a name.
        part: which inputs.
        size: how many inputs there are.

    Raises:
        DeclarationError: an unknown name, missing targets, or (when it is called) a loss that is no single number.
    """
    if loss is None:
        return None
    if not isinstance(loss, str):
        return lambda returned: _single(loss(returned))
    if loss not in _NAMED:
        raise DeclarationError(f"loss={loss!r}", "unknown loss", f"use {' or '.join(_NAMED)}, or a function")
    if targets is None or targets.shape[:1] != (size,):
        raise DeclarationError(f"loss={loss!r}", f"it needs targets for the {size} inputs", "pass targets=")
    named, some = _NAMED[loss], targets[part]

    def judged(returned: object) -> torch.Tensor:
        output = first_tensor(returned)
        if output is None:
            raise DeclarationError(f"loss={loss!r}", "the model returns no floating-point numbers", "pass a function")
        return _single(named(output, some.to(output.device)))

    return judged


def _single(value: object) -> torch.Tensor:
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        raise DeclarationError("the loss", "it is not a tensor with a single number", "return a mean over the inputs")
    return value.reshape(())
