"""Averages of two smooth functions over a matrix as an operator of PyTorch: series in the correlation, and quadrature
of the entries for which they are too long.

By Price's theorem the derivatives of <f(z1) g(z2)> are averages of the same kind: <f'' g>/2 in K1, <f' g'> in C. So
they are series of their own, finite where the inputs are parallel, and have derivatives in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from ....arrays.hermite.hermite_series import _hermite_pair, _hermite_tile
from ....arrays.hermite.matrix_parts import _chunk, _parts
from ....arrays.runtime.entries import _few
from ....arrays.runtime.pair_series import _pair_average
from .operators import _operators

Function: TypeAlias = Callable[..., Tensor]

_TILE = 32768  # entries for each thread, whose scratch arrays stay in the cache
_SINGLE = 8192  # entries at a time where each has kernels of its own


def _smooth_average(name: str, K1: Tensor, K2: Tensor, C: Tensor, *parameters: Tensor) -> Tensor:
    """<f(z1) g(z2)>. globals()[name]() gives the rule of quadrature, and of f and of g their derivatives by names.

    A name has a letter for each derivative in a parameter, a, b, ... in order, then a z for each in z. Beside them is
    what quadrature has to know of the functions.
    """
    return _SMOOTH.smooth(name, "", "", torch.broadcast_tensors(K1, K2, C, *parameters))


class _Smooth(torch.autograd.Function):
    """The average of derivatives of two functions."""

    @staticmethod
    def forward(name: str, first: str, second: str, *arguments: Tensor) -> Tensor:
        return _SMOOTH.smooth_values(name, first, second, arguments)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: Tensor) -> None:
        ctx.name, ctx.first, ctx.second, *arguments = inputs
        ctx.save_for_backward(*arguments)
        ctx.save_for_forward(*arguments)
        ctx.set_materialize_grads(False)

    @staticmethod
    def parts(ctx: FunctionCtx, factors: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The factors times the derivative in each argument."""

        def average(more: str, other: str) -> Tensor | float:
            first, second = ("".join(sorted(found)) for found in (ctx.first + more, ctx.second + other))
            if _vanishes(ctx.name, first, second):
                return 0.0
            return _SMOOTH.smooth(ctx.name, first, second, ctx.saved_tensors)

        def slope(place: int) -> Tensor | float:
            if place == 2:
                return average("z", "z")
            if place < 2:
                return 0.5 * (average("", "zz") if place else average("zz", ""))
            letter = chr(94 + place)
            return average(letter, "") + average("", letter)

        return [None if factor is None else factor * slope(place) for place, factor in enumerate(factors)]

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        factors = [gradient if needed else None for needed in ctx.needs_input_grad[3:]]
        return None, None, None, *_Smooth.parts(ctx, factors)

    @staticmethod
    def jvp(ctx: FunctionCtx, name: str, first: str, second: str, *tangents: Tensor) -> Tensor:
        return sum(part for part in _Smooth.parts(ctx, tangents) if part is not None)

    @staticmethod
    def vmap(info: object, axes: tuple, name: str, first: str, second: str, *arguments: Tensor) -> tuple:
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(arguments, axes[3:])]
        return _Smooth.apply(name, first, second, *torch.broadcast_tensors(*moved)), 0


def _vanishes(name: str, first: str, second: str) -> bool:
    """Whether one of two derivatives is 0 everywhere."""
    _, (one, _), (two, _) = globals()[name]()
    if first not in one or second not in two:
        raise NotImplementedError(f"{name} has no such derivative: averages of smooth functions have two")
    return one[first] is None or two[second] is None


def _differentiable_average(name: str, first: str, second: str, arguments: Sequence[Tensor]) -> Tensor:
    """The values and their derivatives, under the transforms of torch.func too."""
    return _Smooth.apply(name, first, second, *arguments)


def _like_average(name: str, first: str, second: str, arguments: Sequence[Tensor]) -> Tensor:
    """A tensor like the values."""
    return torch.empty_like(arguments[0], memory_format=torch.contiguous_format)


def _average_values(name: str, first: str, second: str, arguments: Sequence[Tensor]) -> Tensor:
    """The values, computed in float64: series, in tiles, and quadrature of the entries that they leave."""
    rule, (one, fact_of_one), (two, fact_of_two) = globals()[name]()
    f, g, shape = one[first], two[second], arguments[0].shape
    out = torch.empty(shape or (1,), dtype=torch.float64, device=arguments[0].device)
    if not out.numel():
        return out.to(arguments[0].dtype)
    C = arguments[2].reshape(out.shape).to(torch.float64)
    K1, K2, *parameters = (_narrow(a.reshape(out.shape)).to(torch.float64) for a in (*arguments[:2], *arguments[3:]))
    own = [p.reshape(()) if p.numel() == 1 else p for p in parameters]

    few = 8 * (K1.numel() + K2.numel()) <= out.numel()
    both = _hermite_pair(f, g, K1, K2, *own) if few else None
    size = 1 << 20 if out.is_cuda else _TILE * torch.get_num_threads()
    left = torch.zeros(out.shape, dtype=torch.bool, device=out.device)
    for part in _parts(tuple(out.shape), size if few else _SINGLE):
        goal, k1, k2, c = out[part], _chunk(K1, part), _chunk(K2, part), _chunk(C, part)
        fine: list[Tensor] = []
        scratch = [goal, *(torch.empty_like(goal) for _ in range(3))]
        one, two = _hermite_pair(f, g, k1, k2, *own) if both is None else _chunk(both, part)
        _hermite_tile(k1, k2, c, one, two, scratch, fine)
        if fine:
            left[part] = ~fine[0]
    places = left.nonzero(as_tuple=True)
    if places[0].numel():
        entries = [a.expand(out.shape)[places] for a in (K1, K2, C, *parameters)]
        out[places] = _by_rule(rule, f, g, fact_of_one, fact_of_two, entries)
    return out.reshape(shape).to(arguments[0].dtype)


def _narrow(a: Tensor) -> Tensor:
    """A tensor of length 1 along the axes on which it is constant."""
    for axis in range(a.ndim):
        first = a.narrow(axis, 0, 1)
        if a.shape[axis] > 1 and (a.stride(axis) == 0 or bool((a == first).all())):
            a = first
    return a


def _by_rule(
    rule: tuple, f: Function, g: Function, of_f: Function, of_g: Function, entries: Sequence[Tensor]
) -> Tensor:
    """Averages at entries by quadrature, nan where an argument is no finite number."""
    known = torch.isfinite(sum(entries))

    def average(K1: Tensor, *others: Tensor) -> Tensor:
        parameters = others[2:]
        first = ((f,), *of_f(K1, *parameters))
        second = first if f is g else ((g,), *of_g(K1, *parameters))
        helper, cost, at_a_time = rule
        return _pair_average(helper, cost, at_a_time, first, second, K1, *others)

    found = _few(average, 1 << 22, *(torch.where(known, a, 1.0) for a in entries))
    return torch.where(known, torch.cat(found), math.nan)


def _placed(a: Tensor, like: Tensor) -> Tensor:
    """A tensor on the device of another one."""
    return a.to(like.device)


def _dense(a: Tensor) -> Tensor:
    """A tensor in the order of its axes in memory."""
    return a.contiguous()


def _add_product(total: Tensor, a: Tensor, b: Tensor, room: Tensor) -> None:
    """Add a*b to a tensor, in place."""
    total.addcmul_(a, b)


_SMOOTH = _operators(
    "smooth",
    "(str name, str first, str second, Tensor[] arguments) -> Tensor",
    _differentiable_average,
    _like_average,
    _average_values,
)
