"""Functions whose derivatives are given, where those that autograd finds lose digits, overflow or are not finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from .tensors import _alike

Function: TypeAlias = Callable[..., Tensor]


class _Given(torch.autograd.Function):
    """A function with its derivative in each argument; None stands for one that has no part of its own in slopes."""

    @staticmethod
    def forward(value: Function, slopes: Sequence[Function | None], *arguments: Tensor) -> Tensor:
        return value(*arguments)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: Tensor) -> None:
        _, ctx.slopes, *arguments = inputs
        ctx.save_for_backward(*arguments)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        arguments, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]
        found = [
            gradient * slope(*arguments) if needs and slope is not None else None
            for slope, needs in zip(ctx.slopes, needed)
        ]
        return None, None, *found

    @staticmethod
    def vmap(info: object, axes: tuple, value: Function, slopes: Sequence[Function | None], *given: Tensor) -> tuple:
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(given, axes[2:])]
        return _sloped(value, slopes, *moved), 0


def _sloped(value: Function, slopes: Sequence[Function | None], *arguments: Tensor | float) -> Tensor:
    """A function of arguments that broadcast, tensors and numbers, with its derivative in each of them."""
    tensors = _alike(*arguments)
    if torch.compiler.is_compiling() and not (torch.is_grad_enabled() and any(a.requires_grad for a in tensors)):
        # torch.compile inlines forward then, and would pass a context to one with a variable number of arguments
        return value(*tensors)
    return _Given.apply(value, slopes, *tensors)


def _of_dawson(x: Tensor) -> Tensor:
    """exp(-x**2) times the integral of exp(t**2): Rybicki's sum of Gaussians, exact to exp(-(2*pi)**2)."""
    n = torch.arange(1, 27, 2, dtype=x.dtype, device=x.device)
    small = torch.abs(x) < 1.0
    u = torch.where(small, x, 0.5)[..., None]
    near = torch.exp(-u * u) * (2.0 * torch.exp(-((0.25 * n) ** 2)) / n * torch.sinh(0.5 * n * u)).sum(-1, keepdim=True)
    size = torch.abs(x)
    u = torch.where(small, 2.0, torch.clamp(x, -1e9, 1e9))[..., None]
    even, n = 2.0 * torch.round(2.0 * u), torch.cat([-n, n])  # the node next to x
    far = (torch.exp(-((u - 0.25 * (even + n)) ** 2)) / (even + n)).sum(-1) * (1e9 / torch.clamp(size, min=1e9))
    return 0.5641895835477563 * torch.where(small, near[..., 0], far)
