"""Functions whose derivatives are given, where those that autograd finds lose digits, overflow or are not finite."""

from __future__ import annotations

import math
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
        gradients = [
            gradient * slope(*arguments) if needs and slope is not None else None
            for slope, needs in zip(ctx.slopes, needed)
        ]
        return None, None, *gradients

    @staticmethod
    def vmap(info: object, axes: tuple, value: Function, slopes: Sequence[Function | None], *batched: Tensor) -> tuple:
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(batched, axes[2:])]
        return _sloped(value, slopes, *moved), 0


def _sloped(value: Function, slopes: Sequence[Function | None], *arguments: Tensor | float) -> Tensor:
    """A function of arguments that broadcast, tensors and numbers, with its derivative in each of them."""
    tensors = _alike(*arguments)
    if torch.compiler.is_compiling() and not (torch.is_grad_enabled() and any(a.requires_grad for a in tensors)):
        # torch.compile inlines forward then, and would pass a context to one with a variable number of arguments
        return value(*tensors)
    return _Given.apply(value, slopes, *tensors)


def _mended(
    closed: Function, doubt: Function, other: Function, slopes: Sequence[Function], *arguments: Tensor
) -> Tensor:
    """A closed form; by the other function where rounding may have cost more than 1e-12 of it.

    That is worse where it is farther off than rounding can have been. It and its slopes are nan where an argument is,
    and compute nothing there: they are asked for no other entries than those that are in doubt.
    """
    arguments = torch.broadcast_tensors(*arguments)
    fixed = [a.detach() for a in arguments]
    first, error = closed(*fixed), 1.1e-16 * doubt(*fixed)
    poor = ~(error <= 1e-12 * torch.abs(first))
    average = other(*(torch.where(poor, a, math.nan) for a in fixed))
    worse = torch.abs(average - first) > 4.0 * error
    worse = worse | (torch.isnan(average) & (error <= 1e-6 * torch.abs(first)))
    taken = poor & ~worse
    value = closed(*(torch.where(taken, f, a) for f, a in zip(fixed, arguments)))
    entries = [torch.where(taken, a, math.nan) for a in arguments]
    of_average = [lambda value, *at, slope=slope: slope(*at) for slope in slopes]
    mended = _sloped(lambda value, *at: value.clone(), (None, *of_average), average, *entries)
    return torch.where(taken, mended, value)
