"""Functions whose derivatives are given, where those that autograd finds lose digits, overflow or are not finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

Function: TypeAlias = Callable[..., Tensor]


class _Given(torch.autograd.Function):
    """A function with its derivative in each argument; None stands for one that has no part of its own in slopes.

    torch.compile wants to know how many arguments there are: those that are missing are None.
    """

    @staticmethod
    def forward(
        value: Function,
        slopes: Sequence[Function | None],
        a: Tensor,
        b: Tensor | None,
        c: Tensor | None,
        d: Tensor | None,
        e: Tensor | None,
        f: Tensor | None,
        g: Tensor | None,
        h: Tensor | None,
        i: Tensor | None,
        j: Tensor | None,
        k: Tensor | None,
        m: Tensor | None,
    ) -> Tensor:
        return value(*[v for v in (a, b, c, d, e, f, g, h, i, j, k, m) if v is not None])

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: Tensor) -> None:
        _, ctx.slopes, *arguments = inputs
        ctx.save_for_backward(*[a for a in arguments if a is not None])

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        arguments, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]
        found = [
            gradient * slope(*arguments) if needs and slope is not None else None
            for slope, needs in zip(ctx.slopes, needed)
        ]
        return None, None, *found, *[None] * (len(needed) - len(found))

    @staticmethod
    def vmap(
        info: object, axes: tuple, value: Function, slopes: Sequence[Function | None], *given: Tensor | None
    ) -> tuple:
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(given, axes[2:]) if a is not None]
        return _sloped(value, slopes, *moved), 0


def _sloped(value: Function, slopes: Sequence[Function | None], *arguments: Tensor) -> Tensor:
    """A function of arguments that broadcast, with its derivative in each of them; there are 12 at most."""
    missing = [None] * (12 - len(arguments))
    return _Given.apply(value, slopes, *torch.broadcast_tensors(*arguments), *missing)


def _of_erfcx(u: Tensor) -> Tensor:
    """exp(u**2)*erfc(u)."""
    return torch.special.erfcx(u)


def _erfcx(u: Tensor) -> Tensor:
    """exp(u**2)*erfc(u); its derivative is 2*u*erfcx(u) - 2/sqrt(pi), which cancels for large u."""
    return _sloped(_of_erfcx, (_erfcx_slope,), u)


def _erfcx_slope(u: Tensor) -> Tensor:
    """The derivative of exp(u**2)*erfc(u), by its series in v = 1/(2*u**2) where that holds."""
    far = u > 14.0
    v = 0.5 / torch.where(far, u, 14.0) ** 2
    series = torch.ones_like(v)
    for odd in range(21, 1, -2):
        series = 1.0 - odd * v * series
    near = torch.where(far, 14.0, u)
    return torch.where(far, -1.1283791670955126 * v * series, 2.0 * near * _erfcx(near) - 1.1283791670955126)


def _scaled_tail(u: Tensor, v: Tensor, w: Tensor) -> Tensor:
    """exp(u)*erfc(w) from v = u - w*w too: the tail is scaled where it is small."""
    small = w > 0.0
    tail = torch.where(small, _erfcx(torch.clip(w, 0.0, None)), torch.special.erfc(w))
    return torch.exp(torch.where(small, v, u)) * tail


def _of_expsinh(a: Tensor, b: Tensor) -> Tensor:
    """exp(a)*sinh(b)."""
    size = torch.abs(b)
    return -0.5 * torch.sign(b) * torch.exp(a + size) * torch.expm1(-2.0 * size)


def _expsinh(a: Tensor, b: Tensor) -> Tensor:
    """exp(a)*sinh(b), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    return _sloped(_of_expsinh, (_expsinh, _expcosh), a, b)


def _of_expcosh(a: Tensor, b: Tensor) -> Tensor:
    """exp(a)*cosh(b)."""
    size = torch.abs(b)
    return 0.5 * torch.exp(a + size) * (1.0 + torch.exp(-2.0 * size))


def _expcosh(a: Tensor, b: Tensor) -> Tensor:
    """exp(a)*cosh(b), without overflow where a + abs(b) <= 0."""
    return _sloped(_of_expcosh, (_expcosh, _expsinh), a, b)


def _of_expcoshm1(a: Tensor, b: Tensor) -> Tensor:
    """exp(a)*(cosh(b) - 1)."""
    size = torch.abs(b)
    half = torch.expm1(-size)
    return 0.5 * torch.exp(a + size) * half * half


def _expcoshm1(a: Tensor, b: Tensor) -> Tensor:
    """exp(a)*(cosh(b) - 1), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    return _sloped(_of_expcoshm1, (_expcoshm1, _expsinh), a, b)


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


def _dawson_slope(x: Tensor) -> Tensor:
    """Its derivative."""
    return 1.0 - 2.0 * x * _dawson(x)


def _dawson(x: Tensor) -> Tensor:
    """exp(-x**2) times the integral of exp(t**2) from 0 to x."""
    return _sloped(_of_dawson, (_dawson_slope,), x)
