"""Averages of two smooth functions as an operator of PyTorch: series in the correlation, and sums in the plane.

Derivatives are averages of the same kind. So they are series of their own, finite where the inputs are parallel, and
have derivatives in turn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from ....arrays.hermite.hermite_series import _hermite_pairs, _hermite_sum, _smooth_entries
from ....arrays.runtime.entries import _chunk, _parts
from ....arrays.sloped.product_sums_at_nodes import _derivative, _price
from .operators import Key, _operators

Function: TypeAlias = Callable[..., Tensor]

_TILE = 32768  # entries for each thread, whose scratch arrays stay in the cache


def _smooth_average(
    name: str, first: str, second: str, K1: Tensor, K2: Tensor, C: Tensor, *parameters: Tensor
) -> Tensor:
    """<f(z1) g(z2)> of two factors; name_factors(z, *parameters) gives all, NAME_SLOPES their derivatives."""
    return _SMOOTH.smooth(name, [first], [second], torch.broadcast_tensors(K1, K2, C, *parameters))[0]


def _slopes_of_averages(key: Key, needed: Sequence[bool], arguments: Sequence[Tensor]) -> list[Tensor | None]:
    """The derivatives of several averages along a new first axis; all are computed at once."""
    name, *pairs = key[0], *zip(*key[1:])
    sums = [[_price(argument, pair) if wanted else () for pair in pairs] for argument, wanted in enumerate(needed)]
    distinct = list(dict.fromkeys(pair for row in sums for terms in row for pair in terms))
    if not distinct:
        return [None for _ in needed]
    averages = dict(zip(distinct, _SMOOTH.smooth(name, *map(list, zip(*distinct)), arguments).unbind(0)))
    totals = [
        [functools.reduce(torch.add, [averages[pair] for pair in terms]) for terms in row if terms] for row in sums
    ]
    return [(0.5 if argument < 2 else 1.0) * torch.stack(row) if row else None for argument, row in enumerate(totals)]


@functools.lru_cache
def _function(name: str, derivative: str) -> Function:
    """A derivative of a factor."""
    return _derivative(globals()[f"{name}_factors"], globals()[f"{name.upper()}_SLOPES"], derivative)


def _average_values(name: str, firsts: Sequence[str], seconds: Sequence[str], arguments: Sequence[Tensor]) -> Tensor:
    """The values along a new first axis, computed in float64, in tiles; entry by entry what series leave."""
    pairs, shape = [(_function(name, f), _function(name, g)) for f, g in zip(firsts, seconds)], arguments[0].shape
    out = torch.empty((len(pairs), *(shape or (1,))), dtype=torch.float64, device=arguments[0].device)
    if not out.numel():
        return out.to(arguments[0].dtype)
    closer = globals().get(f"{name}_closer")
    C = arguments[2].reshape(out.shape[1:]).to(torch.float64)
    K1, K2, *parameters = (_narrow(a.reshape(C.shape)).to(torch.float64) for a in (*arguments[:2], *arguments[3:]))
    parameters = [p.reshape(()) if p.numel() == 1 else p for p in parameters]
    if 8 * (K1.numel() + K2.numel()) > C.numel():  # entries have kernels of their own
        flat = [a.expand(C.shape).reshape(-1) if a.ndim else a for a in (K1, K2, C, *parameters)]
        values = [_smooth_entries(f, g, *flat, closer=closer).reshape(C.shape) for f, g in pairs]
        return torch.stack(values).reshape((len(pairs), *shape)).to(arguments[0].dtype)

    earlier = {n: pairs.index(pair[::-1]) for n, pair in enumerate(pairs) if pair[::-1] in pairs[:n]}
    mirrored = earlier if earlier and _is_symmetric(K1, K2, C) else {}
    computed = [number for number in range(len(pairs)) if number not in mirrored]
    left = torch.zeros(out.shape, dtype=torch.bool, device=out.device)
    every = _hermite_pairs([pairs[n] for n in computed], K1, K2, C, *parameters)
    for part in _parts(tuple(C.shape), 1 << 20 if out.is_cuda else _TILE * torch.get_num_threads()):
        kernels = _chunk(K1, part), _chunk(K2, part), _chunk(C, part)
        for number, expansions in zip(computed, _chunk(every, part)):
            fine: list[Tensor] = []
            out[number][part] = _hermite_sum(*kernels, *expansions, fine)
            for good in fine:
                left[number][part] = ~good
    for number in computed:
        at = left[number].nonzero(as_tuple=True)
        if at[0].numel():
            entries = [a.expand(C.shape)[at] if a.ndim else a for a in (K1, K2, C, *parameters)]
            out[number][at] = _smooth_entries(*pairs[number], *entries, closer=closer)
    for number, other in mirrored.items():
        out[number] = out[other].T
    return out.reshape((len(pairs), *shape)).to(arguments[0].dtype)


def _is_symmetric(K1: Tensor, K2: Tensor, C: Tensor) -> bool:
    """Whether the inputs of a matrix are the same on both sides."""
    if C.ndim != 2 or (*K1.shape, *K2.shape) != (C.shape[0], 1, 1, C.shape[1]):
        return False
    return torch.equal(K1.reshape(-1), K2.reshape(-1)) and torch.equal(C, C.T)


def _narrow(a: Tensor) -> Tensor:
    """A tensor of length 1 along the axes on which it is constant."""
    for axis in range(a.ndim):
        first = a.narrow(axis, 0, 1)
        if a.shape[axis] > 1 and (a.stride(axis) == 0 or bool((a == first).all())):
            a = first
    return a


def _integers(count: int, like: Tensor) -> Tensor:
    """0, 1, 2, ..., where another tensor is."""
    return torch.arange(count, device=like.device)


_SMOOTH = _operators(
    "smooth",
    "str name, str[] firsts, str[] seconds",
    _average_values,
    lambda name, firsts, seconds, arguments: arguments[0].new_empty((len(firsts), *arguments[0].shape)),
    _slopes_of_averages,
)
