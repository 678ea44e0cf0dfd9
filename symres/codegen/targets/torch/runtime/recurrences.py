"""Recursions through the layers of a network, and what procedures and curves begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from ....arrays.runtime.layer_recursion import _behind, _entries_at, _Layer, _Network, _replaced
from ....arrays.sloped.through_networks import _deep
from .tensors import _of_one_type, _of_type, _unread


def _deep_matrix(network: _Network, X1: Tensor, X2: Tensor | None, parameters: Sequence[tuple]) -> tuple[Tensor, ...]:
    """All layers for the rows of feature matrices; equal inputs, whose products were summed in another order, agree."""
    matrices = _of_one_type(*(X for X in (X1, X2) if X is not None))
    if any(X.ndim != 2 for X in matrices) or matrices[0].shape[1] != matrices[-1].shape[1] or not matrices[0].shape[1]:
        shapes = [tuple(X.shape) for X in matrices]
        raise ValueError(f"inputs are matrices with equally many columns, not of shapes {shapes}")
    first, *others = (X.to(torch.float64) for X in matrices)
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
    kernels = _deep(network, (K1[:, None],), (K2,), (C,), (0.0,), parameters, False)
    if X2 is None:
        kernels = tuple(torch.triu(a) + torch.triu(a, 1).T for a in kernels)
    return tuple([_of_type(a, matrices[0]) for a in kernels])


def _carried(layer: _Layer, near: Tensor, before: tuple, after: tuple, extras: tuple, row: tuple) -> tuple:
    """What is known behind a layer, with the distances of inputs that were near before it."""
    size, gap, determinant = after
    everywhere = _unread(gap)
    if not everywhere and not near.any():
        return after
    with torch.no_grad():
        if everywhere:
            _, distance, exact = _behind(layer, before, after, extras, row)
            gap = torch.where(near, distance, gap)
        else:
            chosen: list = [_entries_at(a, near) for a in (before, after, extras, row)]
            exact = determinant.clone()
            _, gap[near], exact[near] = _behind(layer, *chosen)
    return size, gap, _replaced(determinant, near, exact)


def _fixed(a: Tensor) -> Tensor:
    """A tensor without derivatives."""
    return a.detach()


def _quiet() -> AbstractContextManager:
    """Where nothing has a gradient."""
    return torch.no_grad()


def _repeated(
    function: Callable[..., tuple[Tensor, ...]], state: tuple[Tensor, ...], count: int, is_done: Callable[..., Any]
) -> tuple[Tensor, ...]:
    """A state after so many steps, or fewer if it is done."""
    for _ in range(count):
        if is_done(*state):
            break
        state = function(*state)
    return state


def _numbers(values: Sequence[float], like: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """A tensor of numbers, of the type of another one if there is such."""
    made = torch.tensor(values, dtype=torch.float64) if like is None else like.new_tensor(values)
    return made.reshape(shape)


def _columns(function: Callable[..., Tensor], *arguments: Tensor | float) -> Tensor:
    """The values of a function of tensors of one shape."""
    return function(*torch.broadcast_tensors(*_of_one_type(*arguments)))


def _powers(ratio: Tensor, first: int) -> Tensor:
    """ratio^first, ratio^(first + 1), ... as long as they are visible beside 1, along a new last axis."""
    sizes = ratio.detach().abs()
    size = float(sizes[sizes < 1].max()) if bool((sizes < 1).any()) else 0.0
    terms = 1 if size == 0 else min(int(-42.0 / torch.log(torch.tensor(size))) + 2, 1 << 22)
    exponents = torch.arange(first, first + terms, dtype=ratio.dtype, device=ratio.device)
    inside = torch.where(sizes < 1, ratio, torch.nan)
    return inside[..., None] ** exponents
