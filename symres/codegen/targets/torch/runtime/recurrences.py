"""Recursions through the layers of a network, and what procedures and curves begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from ....arrays.runtime.error_free import _possible
from ....arrays.runtime.layer_recursion import _behind, _inputs, _replaced, _separated, _some, _through_layers
from .tensors import _tensor, _tensors


def _deep(
    network: tuple,
    K1: Tensor | float,
    K2: Tensor | float,
    C: Tensor | float,
    Theta: Tensor | float,
    parameters: Sequence[tuple],
    every_layer: bool,
) -> tuple[Tensor, ...]:
    """All layers; an excess of C over the kernel of equal inputs is equality."""
    given = [K1, K2, C, Theta, *(value for row in parameters for value in row)]
    like = _tensors(*given)[0]
    given = [_tensor(a, torch.float64, like.device) for a in given]
    kind, shape = like.dtype, torch.broadcast_shapes(*(a.shape for a in given))
    K1, K2, C, Theta, *others = given
    rest = iter(others)
    parameters = [tuple([next(rest) for _ in row]) for row in parameters]
    C = torch.where(_possible(K1, K2, C, kind), C, torch.nan)
    (first, lost), (second, gone) = (_inputs(network, K, parameters) for K in (K1, K2))
    C, Theta = C.expand(shape), Theta.expand(shape)
    same = (C == first[0][0]) & (C == second[0][0])
    kept: list = list(_through_layers(network, first, second, C, Theta, same, parameters))
    if network[3]:
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


def _carried(layer: tuple, near: Tensor, before: tuple, after: tuple, own: tuple, row: tuple) -> tuple:
    """What is known behind a layer, with the distances of inputs that were near before it."""
    size, gap, determinant = after
    everywhere = torch.compiler.is_compiling() or gap.device.type != "cpu"  # neither waits for what data say
    if not everywhere and not near.any():
        return after
    with torch.no_grad():
        if everywhere:
            _, distance, exact = _behind(layer, before, after, own, row)
            gap = torch.where(near, distance, gap)
        else:
            chosen: list = [_some(a, near) for a in (before, after, own, row)]
            exact = determinant.clone()
            _, gap[near], exact[near] = _behind(layer, *chosen)
    return size, gap, _replaced(determinant, near, exact)


def _separated_behind(K1: Tensor, K2: Tensor, C: Tensor, same: Tensor, sharp: bool) -> tuple[Tensor, Tensor, Tensor]:
    """What is known behind a layer is as before the first one: derivatives go through it."""
    return _separated(K1, K2, C, same, sharp)


def _full(a: Tensor, like: Tensor) -> Tensor:
    """A tensor of the shape of another one."""
    return a.expand(like.shape)


def _fixed(a: Tensor) -> Tensor:
    """A tensor without derivatives."""
    return a.detach()


_LOST = 1.0  # so that gradients of other inputs are what they are


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
