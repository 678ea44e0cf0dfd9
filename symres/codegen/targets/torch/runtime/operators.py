"""Averages at entries as operators of PyTorch, and what their nodes are made of.

The number of nodes depends on the values: torch.compile calls operators, and does not trace what is inside them. They
find functions by their names in the module that they stand in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from ....arrays.runtime.entries import _few
from ....arrays.runtime.gauss_legendre import (
    _FEWER_POINTS,
    _FEWER_WEIGHTS,
    _GAUSS_NODES,
    _GAUSS_WEIGHTS,
    _POINTS,
    _STRIP_NODES,
    _STRIP_WEIGHTS,
    _WEIGHTS,
)


def _count(number: int, like: Tensor) -> Tensor:
    """0, 1, 2, ..."""
    return torch.arange(number, device=like.device)


def _rule(like: Tensor, fine: int | None) -> list[Tensor]:
    """The Gauss-Legendre rule on [0, 1], of fewer points if fine is 0."""
    rows = (_FEWER_POINTS, _FEWER_WEIGHTS) if fine == 0 else (_POINTS, _WEIGHTS)
    return [torch.tensor(row, dtype=like.dtype, device=like.device) for row in rows]


def _gauss(like: Tensor) -> list[Tensor]:
    """The rule of averages of signs."""
    return [torch.tensor(row, dtype=like.dtype, device=like.device) for row in (_GAUSS_NODES, _GAUSS_WEIGHTS)]


def _strip(like: Tensor) -> list[Tensor]:
    """The rule on the intervals between the changes of an integrand."""
    return [torch.tensor(row, dtype=like.dtype, device=like.device) for row in (_STRIP_NODES, _STRIP_WEIGHTS)]


def _sorted(places: Sequence[Tensor]) -> list[Tensor]:
    """Anchors in increasing order, entry by entry."""
    return list(torch.sort(torch.stack(places, -1), -1).values.unbind(-1))


def _flat(
    function: Callable[..., Tensor],
    step: int,
    *arguments: Tensor,
    slopes: Callable[..., Sequence[Tensor]] | None = None,
) -> Tensor:
    """Evaluate a function of tensors of one axis, on so many entries at a time; computed in float64.

    Its derivatives are what ``slopes`` gives; if there is none, it has none.
    """
    names = function.__name__, "" if slopes is None else slopes.__name__
    return _FLAT.flat(*names, step, torch.broadcast_tensors(*arguments))


class _Flat(torch.autograd.Function):
    """The same, the functions by their names: in reverse and in forward mode, and in batches."""

    @staticmethod
    def forward(name: str, slopes: str, step: int, *arguments: Tensor) -> Tensor:
        return _FLAT.flat_values(name, slopes, step, arguments)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: Tensor) -> None:
        ctx.name, ctx.slopes, _, *arguments = inputs
        ctx.save_for_backward(*arguments)
        ctx.save_for_forward(*arguments)
        ctx.set_materialize_grads(False)

    @staticmethod
    def parts(ctx: FunctionCtx, factors: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The factors times the derivative in each argument."""
        if not ctx.slopes:
            raise NotImplementedError(f"{ctx.name} has no derivative: averages have first derivatives only")
        slopes = globals()[ctx.slopes]([factor is not None for factor in factors], *ctx.saved_tensors)
        return [None if factor is None else factor * slope for factor, slope in zip(factors, slopes)]

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        factors = [gradient if needed else None for needed in ctx.needs_input_grad[3:]]
        return None, None, None, *_Flat.parts(ctx, factors)

    @staticmethod
    def jvp(ctx: FunctionCtx, name: str, slopes: str, step: int, *tangents: Tensor) -> Tensor:
        return sum(part for part in _Flat.parts(ctx, tangents) if part is not None)

    @staticmethod
    def vmap(info: object, axes: tuple, name: str, slopes: str, step: int, *arguments: Tensor) -> tuple:
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(arguments, axes[3:])]
        return _Flat.apply(name, slopes, step, *torch.broadcast_tensors(*moved)), 0


def _differentiable(name: str, slopes: str, step: int, arguments: Sequence[Tensor]) -> Tensor:
    """The values and their derivatives, under the transforms of torch.func too."""
    return _Flat.apply(name, slopes, step, *arguments)


def _like(name: str, slopes: str, step: int, arguments: Sequence[Tensor]) -> Tensor:
    """A tensor like the values."""
    return torch.empty_like(arguments[0], memory_format=torch.contiguous_format)


def _at_entries(name: str, slopes: str, step: int, arguments: Sequence[Tensor]) -> Tensor:
    """The values of a function, nan where an argument is no finite number."""
    shape, kind = arguments[0].shape, arguments[0].dtype
    known = torch.isfinite(sum(arguments)).reshape(-1)
    out = _few(globals()[name], step, *(torch.where(known, a.reshape(-1).to(torch.float64), 1.0) for a in arguments))
    return torch.where(known, torch.cat([*out, known[:0]]), math.nan).reshape(shape).to(kind)


def _operators(
    name: str,
    signature: str,
    differentiable: Callable[..., Tensor],
    like: Callable[..., Tensor],
    values: Callable[..., Tensor],
) -> torch._ops._OpNamespace:
    """Operators of this text, under a name that no other text has, whenever it is loaded.

    Args:
        name: of the operator with derivatives.
        signature: of it, and of the one that computes values, which begins with the name of the first.
        differentiable: the first one, in terms of the second.
        like: a tensor like the values.
        values: the second one.
    """
    names = (f"symres_DIGEST_OF_THIS_TEXT_{number}" for number in range(1 << 30))
    found = next(found for found in (getattr(torch.ops, own) for own in names) if not hasattr(found, name))
    first, second = f"{found.name}::{name}", f"{found.name}::{name}_values"
    for operator in (first, second):
        torch.library.define(operator, signature)
    torch.library.impl(first, ("CompositeImplicitAutograd", "FuncTorchDynamicLayerFrontMode"), differentiable)
    torch.library.register_fake(second, like)
    torch.library.impl(second, "default", values)
    return found


_FLAT = _operators(
    "flat", "(str name, str slopes, int step, Tensor[] arguments) -> Tensor", _differentiable, _like, _at_entries
)
