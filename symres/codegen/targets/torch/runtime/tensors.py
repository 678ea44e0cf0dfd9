"""Arguments as tensors, roots with finite derivatives, determinants and fits."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from ....arrays.runtime.error_free import _two_product
from .given_slopes import _sloped


def _tensors(*values: Tensor | float) -> list[Tensor]:
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


def _shaped(value: Tensor | float, *idle: Tensor) -> Tensor:
    """A value that does not depend on the idle arguments, in their common shape and with a gradient of 0 in them."""
    total = functools.reduce(torch.add, idle)
    value = _tensor(value, total.dtype, total.device)
    return torch.where(torch.ones_like(total, dtype=torch.bool), value, total)


def _alike(*values: Tensor | float) -> Sequence[Tensor]:
    """The arguments in their common shape; numbers become tensors."""
    like = next(v for v in values if isinstance(v, torch.Tensor))
    return torch.broadcast_tensors(*(_tensor(v, like.dtype, like.device) for v in values))


def _root(x: Tensor) -> Tensor:
    """The square root; its derivative at 0, which is infinite, is given as 0."""
    vanishes = x <= 0.0
    return torch.where(vanishes, 0.0, torch.sqrt(torch.where(vanishes, 1.0, x)))


def _radical(x: Tensor, power: float) -> Tensor:
    """x**power for x >= 0 and a power below 1; its derivative at 0, which is infinite, is given as 0."""
    vanishes = x <= 0.0
    return torch.where(vanishes, 0.0, torch.pow(torch.where(vanishes, 1.0, x), power))


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    """a/b; 0 where b = 0."""
    nonzero = b != 0.0
    return torch.where(nonzero, a / torch.where(nonzero, b, 1.0), 0.0)


def _difference_of_products(K1: Tensor, K2: Tensor, C: Tensor) -> Tensor:
    """K1*K2 - C**2 without cancellation; 0 where rounding made C a little too large."""
    wide = [v.to(torch.float64) for v in (K1, K2, C)]  # products of float32 numbers are exact in float64
    p, p_error = _two_product(wide[0], wide[1])
    q, q_error = _two_product(wide[2], wide[2])
    return torch.clamp((p - q) + (p_error - q_error), min=0.0).to(C.dtype)


def _slope_in_K1(K1: Tensor, K2: Tensor, C: Tensor) -> Tensor:
    """The derivative of K1*K2 - C**2 in K1."""
    return K2


def _slope_in_K2(K1: Tensor, K2: Tensor, C: Tensor) -> Tensor:
    """The derivative of K1*K2 - C**2 in K2."""
    return K1


def _slope_in_C(K1: Tensor, K2: Tensor, C: Tensor) -> Tensor:
    """The derivative of K1*K2 - C**2 in C."""
    return -2.0 * C


def _determinant(K1: Tensor, K2: Tensor, C: Tensor) -> Tensor:
    """K1*K2 - C**2 without cancellation; its derivative is that of the polynomial, on the boundary too.

    Autograd through a clamp would give 0 there.
    """
    return _sloped(_difference_of_products, (_slope_in_K1, _slope_in_K2, _slope_in_C), K1, K2, C)


def _correlation(K1: Tensor, K2: Tensor, C: Tensor) -> tuple[Tensor, Tensor]:
    """C/sqrt(K1*K2) and sqrt(1 - (C/sqrt(K1*K2))**2), without cancellation; 0 and 1 where a kernel vanishes."""
    wide = [v.to(torch.float64) for v in (K1, K2, C)]  # products of tiny float32 numbers
    size = _root(wide[0]) * _root(wide[1])
    vanishes = size == 0.0
    size = torch.where(vanishes, 1.0, size)
    ratio = torch.where(vanishes, 0.0, torch.clamp(wide[2] / size, -1.0, 1.0))
    rest = _root(_determinant(*wide)) / size
    rest = torch.where(size > 1e-140, rest, _root((1.0 - ratio) * (1.0 + ratio)))
    return ratio.to(C.dtype), torch.clamp(rest, max=1.0).to(C.dtype)


def _clipped(K1: Tensor, K2: Tensor, C: Tensor) -> Tensor:
    """Covariances, cut off at sqrt(K1*K2), where they keep their derivative."""
    with torch.no_grad():
        most = ((1.0 + 2.0 * torch.finfo(C.dtype).eps) * torch.sqrt(K1)) * torch.sqrt(K2)
        most = torch.where(K1 == K2, K1, most)
        more = torch.clamp(C, -most, most) - C
    return C + more


def _separation(K1: Tensor, K2: Tensor, C: Tensor) -> Tensor:
    """sqrt(K1*K2) - C without cancellation; 0 where rounding made C a little too large."""
    wide = [v.to(torch.float64) for v in (K1, K2, C)]
    size = _root(wide[0]) * _root(wide[1])
    both = size + torch.abs(wide[2])
    near = _determinant(*wide) / (both + (both == 0.0))
    return torch.where(wide[2] > 0.0, near, size - wide[2]).to(C.dtype)


def _piecewise(u: Tensor, edges: Sequence[float], table: Sequence[Sequence[float]]) -> Tensor:
    """The piecewise Chebyshev polynomial of u with the given inner and outer edges (Clenshaw's recursion)."""
    ends, rows = (torch.tensor(a, dtype=u.dtype).to(u.device, non_blocking=True) for a in (edges, table))
    u = torch.minimum(u, ends[-1])
    piece = torch.searchsorted(ends[1:-1].contiguous(), u.detach().contiguous(), right=True)
    left, right = ends[piece], ends[piece + 1]
    t = (2.0 * u - (left + right)) / (right - left)
    high, low = torch.zeros_like(t), torch.zeros_like(t)
    for k in range(rows.shape[0] - 1, 0, -1):
        high, low = rows[k][piece] + 2.0 * t * high - low, high
    return rows[0][piece] + t * high - low
