"""Closed forms that are mended where their terms cancel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

Function: TypeAlias = Callable[..., Tensor]


class _At(torch.autograd.Function):
    """A function at some entries, and 0 at the others; its derivatives likewise, once."""

    @staticmethod
    def forward(some: Tensor, function: Function, slopes: Sequence[Function] | None, *arguments: Tensor) -> Tensor:
        some, *arguments = torch.broadcast_tensors(some, *arguments)
        value = torch.zeros_like(arguments[0])
        if bool(some.any()):
            value[some] = function(*(a[some] for a in arguments))
        return value

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: Tensor) -> None:
        some, _, ctx.slopes, *arguments = inputs
        ctx.save_for_backward(some, *arguments)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        some, *arguments = ctx.saved_tensors
        if ctx.slopes is None and bool(some.any()):
            raise NotImplementedError("averages have first derivatives only")
        out: list[Tensor | None] = []
        for slope, needed in zip(ctx.slopes or (), ctx.needs_input_grad[3:]):
            at = _At.apply(some, slope, None, *arguments) if needed else None
            if needed:  # what is not taken may be nan
                at = torch.where(gradient == 0.0, 0.0, gradient * at).sum_to_size(arguments[len(out)].shape)
            out.append(at)
        return None, None, None, *(out or [None] * len(arguments))

    @staticmethod
    def vmap(info: object, axes: tuple, some: Tensor, function: Function, slopes: object, *arguments: Tensor) -> tuple:
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip((some, *arguments), (axes[0], *axes[3:]))]
        return _At.apply(moved[0], function, slopes, *moved[1:]), 0


def _mended(
    closed: Function, doubt: Function, other: Function, slopes: Sequence[Function], *arguments: Tensor
) -> Tensor:
    """A closed form; by the other function where rounding may have cost more than 1e-12 of it.

    That is worse where it is farther off than rounding can have been.
    """
    arguments = torch.broadcast_tensors(*arguments)
    fixed = [a.detach() for a in arguments]
    first, error = closed(*fixed), 1.1e-16 * doubt(*fixed)
    poor = ~(error <= 1e-12 * torch.abs(first))
    found = _At.apply(poor, other, slopes, *arguments)
    worse = torch.abs(found.detach() - first) > 4.0 * error
    worse = worse | (torch.isnan(found.detach()) & (error <= 1e-6 * torch.abs(first)))
    taken = poor & ~worse
    value = closed(*(torch.where(taken, f, a) for f, a in zip(fixed, arguments)))
    return torch.where(taken, found, value)
