"""Averages at entries as operators of PyTorch.

The number of nodes depends on the values: torch.compile calls operators, and does not trace what is inside them. They
find functions by their names in the module that they stand in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from ....arrays.runtime.entries import _few
from ....arrays.runtime.gauss_legendre import _GAUSS_NODES, _GAUSS_WEIGHTS

Key: TypeAlias = tuple
Values: TypeAlias = Callable[..., Tensor]
Slopes: TypeAlias = Callable[[Key, Sequence[bool], Sequence[Tensor]], list[Tensor | None]]


def _gauss(like: Tensor) -> list[Tensor]:
    """The rule of averages of signs."""
    return [torch.tensor(row, dtype=like.dtype, device=like.device) for row in (_GAUSS_NODES, _GAUSS_WEIGHTS)]


class _Differentiable(torch.autograd.Function):
    """Values by an operator, derivatives by a function of its key: in reverse and in forward mode, and in batches.

    Values may have more axes than the arguments, before theirs.
    """

    @staticmethod
    def forward(values: Values, slopes: Slopes, key: Key, *arguments: Tensor) -> Tensor:
        return values(*key, arguments)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: Tensor) -> None:
        _, ctx.slopes, ctx.key, *arguments = inputs
        ctx.save_for_backward(*arguments)
        ctx.save_for_forward(*arguments)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor | None) -> tuple[Tensor | None, ...]:
        if gradient is None:
            return (None,) * len(ctx.needs_input_grad)
        slopes = ctx.slopes(ctx.key, ctx.needs_input_grad[3:], ctx.saved_tensors)
        gradients = [slope if slope is None else gradient * slope for slope in slopes]
        axes = tuple(range(gradient.ndim - ctx.saved_tensors[0].ndim))
        return None, None, None, *(a.sum(axes) if axes and a is not None else a for a in gradients)

    @staticmethod
    def jvp(ctx: FunctionCtx, values: Values, slopes: Slopes, key: Key, *tangents: Tensor) -> Tensor:
        computed = ctx.slopes(ctx.key, [tangent is not None for tangent in tangents], ctx.saved_tensors)
        return sum(tangent * slope for tangent, slope in zip(tangents, computed) if slope is not None)

    @staticmethod
    def vmap(info: object, axes: tuple, values: Values, slopes: Slopes, key: Key, *arguments: Tensor) -> tuple:
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(arguments, axes[3:])]
        moved = torch.broadcast_tensors(*moved)
        result = _Differentiable.apply(values, slopes, key, *moved)
        return result, result.ndim - moved[0].ndim


def _operators(name: str, keys: str, values: Values, like: Values, slopes: Slopes) -> torch._ops._OpNamespace:
    """Operators of this text, under a name that no other text has, whenever it is loaded.

    Args:
        name: of the operator with derivatives; that of values alone has the same with ``_values``.
        keys: the arguments before a sequence of tensors of one shape, as a signature has them.
        values: computes values from both.
        like: a tensor like the values.
        slopes: the key, which derivatives are needed, the tensors -> the derivative in each, None where none is needed.
    """
    names = (f"symres_DIGEST_OF_THIS_TEXT_{number}" for number in range(1 << 30))
    space = next(space for space in (getattr(torch.ops, n) for n in names) if not hasattr(space, name))
    first, second = f"{space.name}::{name}", f"{space.name}::{name}_values"
    for operator in (first, second):
        torch.library.define(operator, f"({keys}, Tensor[] arguments) -> Tensor")

    def differentiable(*arguments: Sequence[Tensor]) -> Tensor:
        return _Differentiable.apply(getattr(space, f"{name}_values"), slopes, arguments[:-1], *arguments[-1])

    torch.library.impl(first, ("CompositeImplicitAutograd", "FuncTorchDynamicLayerFrontMode"), differentiable)
    torch.library.register_fake(second, like)
    torch.library.impl(second, "default", values)
    return space


def _flat(
    function: Callable[..., Tensor],
    step: int,
    *arguments: Tensor,
    slopes: Callable[..., Sequence[Tensor]] | None = None,
) -> Tensor:
    """Evaluate a function of tensors of one axis, on so many entries at a time; computed in float64.

    Its derivatives are what ``slopes`` gives; if there is none, asking for one is an error.
    """
    names = function.__name__, "" if slopes is None else slopes.__name__
    return _FLAT.flat(*names, step, torch.broadcast_tensors(*arguments))


def _at_entries(name: str, slopes: str, step: int, arguments: Sequence[Tensor]) -> Tensor:
    """The values of a function, nan where an argument is no finite number: there it is not evaluated."""
    finite = torch.isfinite(sum(arguments)).reshape(-1)
    out = _few(globals()[name], step, *(a.reshape(-1)[finite].to(torch.float64) for a in arguments))
    value = torch.full(finite.shape, math.nan, dtype=torch.float64, device=finite.device)
    value[finite] = torch.cat([*out, value[:0]])
    return value.reshape(arguments[0].shape).to(arguments[0].dtype)


def _like_entries(name: str, slopes: str, step: int, arguments: Sequence[Tensor]) -> Tensor:
    """A tensor like the values."""
    return torch.empty_like(arguments[0], memory_format=torch.contiguous_format)


def _slopes_at_entries(key: Key, needed: Sequence[bool], arguments: Sequence[Tensor]) -> list[Tensor | None]:
    """The derivatives that a function has by another one of the module."""
    slopes = globals()[key[1]] if key[1] else _all_refused
    return [slope if wanted else None for slope, wanted in zip(slopes(needed, *arguments), needed)]


def _all_refused(needed: Sequence[bool], *arguments: Tensor) -> list[Tensor]:
    """The derivatives of a function that has none."""
    return [_flat(_refused, 1, *arguments)] * len(arguments)


class NoDerivative(NotImplementedError):
    """A derivative that a function does not have; symres, where it loads a module, puts a SymresError there."""

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        super().__init__(f"{asked}: {found}; {remedy}")


def _refused(*arguments: Tensor) -> Tensor:
    """The derivative that is asked of a function that has none: an error, if there is an entry to compute it for."""
    if arguments[0].shape[0]:
        raise NoDerivative(
            "a further derivative",
            "averages by quadrature have first derivatives only",
            "take fewer derivatives, or differences of first ones",
        )
    return arguments[0]


_FLAT = _operators("flat", "str name, str slopes, int step", _at_entries, _like_entries, _slopes_at_entries)
