"""Recursions through the layers of a network, and what procedures and curves begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import EllipsisType
from typing import TypeVar

import torch
from torch import Tensor

from ....arrays.runtime.error_free import _possible
from ....arrays.runtime.layer_recursion import _NEAR, _SMALLEST, _narrowed, _parted
from .tensors import _determinant, _tensor, _tensors

Entries = TypeVar("Entries")


def _deep(
    network: tuple,
    K1: Tensor | float,
    K2: Tensor | float,
    C: Tensor | float,
    Theta: Tensor | float,
    parameters: Sequence[tuple],
    every_layer: bool,
) -> tuple[Tensor, ...]:
    """All layers. Equal inputs keep the kernel of one, an excess over it is equality.

    The slope of a function with a kink changes with the root of the distance of C from sqrt(K1*K2), which rounding of
    C would hide for nearly parallel inputs: there the distance itself is carried from layer to layer.
    """
    layers, sharp, determined, directed, _ = network
    given = [K1, K2, C, Theta, *(value for row in parameters for value in row)]
    like = _tensors(*given)[0]
    given = [_tensor(a, torch.float64, like.device) for a in given]
    kind, shape = like.dtype, torch.broadcast_shapes(*(a.shape for a in given))
    K1, K2, C, Theta, *others = given
    rest = iter(others)
    parameters = [tuple([next(rest) for _ in row]) for row in parameters]
    C = torch.where(_possible(K1, K2, C, kind), C, torch.nan)
    (first, lost), (second, gone) = (_inputs(network, K, parameters) for K in (K1, K2))
    K1, K2, C, Theta = first[0][0], second[0][0], C.expand(shape), Theta.expand(shape)
    same, kept = (C == K1) & (C == K2), [(C, Theta)]
    everywhere = torch.compiler.is_compiling() or C.device.type != "cpu"
    determinant = _determinant(K1, K2, C) if determined else None
    if sharp:
        size, gap = _gap(K1, K2, C, determinant)
    for place, ((_, pair, slope, parallel, *_), row) in enumerate(zip(layers, parameters)):
        own = first[place][1:], second[place][1:]
        C, Theta = pair(K1, K2, C, Theta, determinant, *own, *row)
        before = None
        if sharp:
            near = (gap < _NEAR * size) & ~same
            if everywhere or near.any():  # what a compiler traces, or a GPU does, does not wait for an answer
                some = ... if everywhere else near
                before, own = _some((K1, K2, size, gap), near.shape, some), _some(own, near.shape, some)
        K1, K2, C, Theta = first[place + 1][0], second[place + 1][0], C.expand(shape), Theta.expand(shape)
        C = C + torch.where(same, K1 - C, 0.0).detach()
        kept.append((C, Theta))
        if determined:
            determinant = _determinant(K1, K2, C)
        if sharp:
            with torch.no_grad():
                size, gap = _gap(K1, K2, C, determinant)
                if before is not None:
                    row = _some(row, near.shape, some)
                    narrowed, doubt = _narrowed(slope, before, own, row)
                    found = narrowed + _parted(pair, parallel, before, size[some], own, row)
                    settled = near[some] & (doubt <= 1e-16 * size[some])  # slopes may change fast
                    gap[some] = torch.where(settled, found, gap[some])
                carried = torch.where((gap < _NEAR * size) & ~same, gap * (2.0 * size - gap) - determinant, 0.0)
            determinant = determinant + carried
    if directed:
        kept = [tuple([torch.where(a | b, torch.nan, v) for v in row]) for a, b, row in zip(lost, gone, kept)]
    if every_layer:
        return tuple(torch.stack(rows).to(kind) for rows in zip(*kept))
    return tuple(v.to(kind) for v in kept[-1])


def _deep_matrix(network: tuple, X1: Tensor, X2: Tensor | None, parameters: Sequence[tuple]) -> tuple[Tensor, ...]:
    """All layers for the rows of feature matrices; equal inputs, whose products were summed in another order, agree."""
    given = _tensors(*(X for X in (X1, X2) if X is not None))
    if any(X.ndim != 2 for X in given) or given[0].shape[1] != given[-1].shape[1] or not given[0].shape[1]:
        shapes = [tuple(X.shape) for X in given]
        raise ValueError(f"inputs are matrices with equally many columns, not of shapes {shapes}")
    kind, first, *others = given[0].dtype, *(X.to(torch.float64) for X in given)
    second = others[0] if others else first
    K1, K2 = ((X * X).sum(-1) / X.shape[-1] for X in (first, second))
    C = first @ second.T / first.shape[-1]
    with torch.no_grad():
        equal = ((C - K1[:, None]).abs() <= 1e-12 * K1[:, None]) & ((C - K2).abs() <= 1e-12 * K2)
        weights = torch.cos(1.0 + torch.arange(first.shape[-1], dtype=first.dtype, device=first.device))
        equal &= (first * weights).sum(-1)[:, None] == (second * weights).sum(-1)
        exact = torch.where(equal, K1[:, None], C)
        same = torch.where(equal.any(0), torch.where(equal, K1[:, None], 0.0).amax(0), K2)
        size = torch.sqrt(K1)[:, None] * torch.sqrt(K2)
        exact = torch.where(equal, exact, torch.clamp(exact, -size, size))
    C, K2 = C + (exact - C).detach(), K2 + (same - K2).detach()
    found = _deep(network, K1[:, None], K2, C, 0.0, parameters, False)
    if X2 is None:
        found = tuple(torch.triu(a) + torch.triu(a, 1).T for a in found)
    return tuple(a.to(kind) for a in found)


def _inputs(network: tuple, K: Tensor, parameters: Sequence[tuple]) -> tuple[tuple, list[Tensor]]:
    """For every layer the kernel of an input and what else the layer needs of that alone; last the final kernel.

    Returns:
        those, and where there is none behind so many layers: an input of kernel 0 has no direction, which a normaliser
        needs. There the recursion goes on with another kernel, so that gradients of other inputs are what they are.
    """
    found, lost = [], [K < 0.0]
    K = K if network[3] else torch.where(K >= 0.0, K, torch.nan)
    for (one, *_, directed, _), row in zip(network[0], parameters):
        K = torch.where(K.abs() < _SMALLEST, K - K.detach(), K)
        if network[3]:
            none = ~(K > 0.0) if directed else ~(K >= 0.0)
            K = torch.where(none, 1.0, K)
            lost.append(lost[-1] | none)
        following, *own = one(K, *row)
        found.append((K, *own))
        K = following
    return (*found, (K,)), lost


def _gap(K1: Tensor, K2: Tensor, C: Tensor, determinant: Tensor) -> tuple[Tensor, Tensor]:
    """The size sqrt(K1*K2) and how far C is below it, by the determinant where the inputs are near."""
    with torch.no_grad():
        size = (torch.sqrt(K1) * torch.sqrt(K2)).expand(C.shape)
        gap = size - C
        return size, torch.where(gap < _NEAR * size, determinant / (size + C), gap)


def _some(a: Entries, shape: tuple[int, ...], some: Tensor | EllipsisType) -> Entries:
    """The chosen entries of a tensor, or of each of a tuple, without their history."""
    if isinstance(a, tuple):
        return tuple([_some(entry, shape, some) for entry in a])  # type: ignore[return-value]
    return a.detach().expand(shape)[some]  # type: ignore[attr-defined]


def _arguments(K: Tensor | float, parameters: Mapping[str, Tensor | float]) -> tuple[Tensor, dict[str, Tensor]]:
    """The kernel in the shape that all arguments have together, and the parameters."""
    kernel, *values = _tensors(K, *parameters.values())
    kernel = torch.broadcast_to(kernel, torch.broadcast_shapes(kernel.shape, *(a.shape for a in values)))
    return kernel, dict(zip(parameters, values))


def _quiet() -> AbstractContextManager:
    """Where nothing has a gradient."""
    return torch.no_grad()


def _numbers(found: Sequence[float], like: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """A tensor of numbers, of the type of another one if there is such."""
    made = torch.tensor(found, dtype=torch.float64) if like is None else like.new_tensor(found)
    return made.reshape(shape)


def _columns(function: Callable[..., Tensor], *arguments: Tensor | float) -> Tensor:
    """The values of a function of tensors of one shape."""
    return function(*torch.broadcast_tensors(*_tensors(*arguments)))


def _powers(ratio: Tensor, first: int) -> Tensor:
    """ratio^first, ratio^(first + 1), ... as long as they are visible beside 1, along a new last axis."""
    sizes = ratio.detach().abs()
    size = float(sizes[sizes < 1].max()) if bool((sizes < 1).any()) else 0.0
    terms = 1 if size == 0 else min(int(-42.0 / torch.log(torch.tensor(size))) + 2, 1 << 22)
    exponents = torch.arange(first, first + terms, dtype=ratio.dtype, device=ratio.device)
    inside = torch.where(sizes < 1, ratio, torch.nan)
    return inside[..., None] ** exponents
