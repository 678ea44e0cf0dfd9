"""Arguments as tensors, values that move with others, products in float64, tables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ....arrays.runtime.entries import _few
from ....arrays.runtime.error_free import _cross_difference


def _of_one_type(*values: Tensor | float) -> list[Tensor]:
    """The arguments as tensors of one floating type on one device (numbers alone: float64)."""
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    kinds = [v.dtype for v in tensors if v.dtype.is_floating_point]
    kind = functools.reduce(torch.promote_types, kinds) if kinds else torch.float64
    device = tensors[0].device if tensors else None
    return [_tensor(v, kind, device) for v in values]


def _tensor(value: Tensor | float, kind: torch.dtype, device: torch.device | None) -> Tensor:
    """A value as a tensor; a number is written by the device itself, since a copy to a GPU would be waited for."""
    if isinstance(value, int | float):
        return torch.full((), value, dtype=kind, device=device)
    made = torch.as_tensor(value)
    if made.is_complex():
        raise TypeError(f"arguments are real numbers, not {made.dtype}: pass the real parts")
    return made.to(dtype=kind, device=device)


def _widened(a: Tensor | float, like: Tensor) -> Tensor:
    """An argument as a tensor in float64, on the device of another one."""
    return _tensor(a, torch.float64, like.device)


def _shaped(value: Tensor | float, *idle: Tensor) -> Tensor:
    """A value that does not depend on the idle arguments, in their common shape and with a gradient of 0 in them."""
    total = functools.reduce(torch.add, idle)
    value = _tensor(value, total.dtype, total.device)
    return torch.where(torch.ones_like(total, dtype=torch.bool), value, total)


def _alike(*values: Tensor | float) -> Sequence[Tensor]:
    """The arguments in their common shape; numbers become tensors."""
    like = next(v for v in values if isinstance(v, torch.Tensor))
    return torch.broadcast_tensors(*(_tensor(v, like.dtype, like.device) for v in values))


def _unread(a: Tensor) -> bool:
    """Whether nothing may depend on what a tensor holds: while a compiler traces it, and on a device not waited for."""
    return torch.compiler.is_compiling() or a.device.type != "cpu"


def _rule_of_all(easy: Tensor) -> int | None:
    """The number of the rule that all entries take, the second where they are not read: it is good for easy ones too.

    None if some are easy and others are not.
    """
    if _unread(easy):
        return 1
    return 0 if easy.all() else None if easy.any() else 1


def _in_parts(function: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
    """The values of a function of entries, some at a time: each takes many nodes."""
    shape = arguments[0].shape
    return torch.cat(_few(function, 512, *(a.reshape(-1) for a in arguments)) or [arguments[0]]).reshape(shape)


def _moving_with(a: Tensor, value: Tensor) -> Tensor:
    """A value with the derivatives of ``a``."""
    return value.detach() + (a - a.detach())


def _for_products(a: Tensor) -> Tensor:
    """A tensor in float64, in which products of float32 numbers are exact."""
    return a.to(torch.float64)


def _of_type(a: Tensor, like: Tensor) -> Tensor:
    """A tensor in the type of another one."""
    return a.to(like.dtype)


def _determinant(K1: Tensor, K2: Tensor, C: Tensor) -> Tensor:
    """K1*K2 - C**2 without cancellation, at least 0; it moves like the polynomial, on the boundary too."""
    k1, k2, c = (a.to(torch.float64) for a in (K1, K2, C))  # products of float32 numbers are exact there
    with torch.no_grad():
        exact = torch.clamp(_cross_difference(k1, k2, c, c), min=0.0)
    return _moving_with(k1 * k2 - c * c, exact).to(C.dtype)


def _as_table(numbers: Sequence[float], like: Tensor) -> Tensor:
    """Numbers as a tensor of the type and on the device of another one, which is not waited for."""
    return torch.tensor(numbers, dtype=like.dtype).to(like.device, non_blocking=True)
