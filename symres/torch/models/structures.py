"""Tensors inside of what goes into modules and comes out of them: tuples, lists, mappings, dataclasses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch


def tensors(value: object) -> Iterator[torch.Tensor]:
    """All tensors of a structure, in its order, depth first."""
    if isinstance(value, torch.Tensor):
        yield value
    for part in _parts(value).values():
        yield from tensors(part)


def first_tensor(value: object) -> torch.Tensor | None:
    """The first tensor of floating-point numbers, one with axes where there is one: a loss stands before outputs."""
    numbers = [tensor for tensor in tensors(value) if tensor.is_floating_point()]
    return next((tensor for tensor in numbers if tensor.ndim), numbers[0] if numbers else None)


def converted(tensor: torch.Tensor, dtype: torch.dtype | None, device: torch.device | None) -> torch.Tensor:
    """A copy on a device (None: on its own), without its graph, and of floating-point numbers in a type."""
    return tensor.detach().to(device, dtype if tensor.is_floating_point() else None, copy=True)


def mean_square(tensor: torch.Tensor) -> float:
    """Of all entries, in double precision."""
    return float(tensor.detach().double().square().mean())


def with_first_tensor(value: object, tensor: torch.Tensor) -> object:
    """The same structure with another tensor in the place of the first of floating-point numbers.

    Args:
        value: what has a first tensor; it is not changed.
        tensor: the new one.
    """
    first, new = first_tensor(value), iter([tensor])
    return mapped(value, lambda old: next(new, old) if old is first else old)


def mapped(value: object, function: Callable[[torch.Tensor], torch.Tensor]) -> object:
    """The same structure with a function applied to every tensor."""
    if isinstance(value, torch.Tensor):
        return function(value)
    parts = _parts(value)
    new = {key: mapped(part, function) for key, part in parts.items()}
    changed = {key: part for key, part in new.items() if part is not parts[key]}
    if not changed:
        return value
    if isinstance(value, Mapping):
        copied = copy.copy(value)
        for key, part in changed.items():
            copied[key] = part  # type: ignore[index]  # outputs of models are mutable mappings
        return copied
    if isinstance(value, (tuple, list)):
        make: Callable[..., object] = type(value)  # a namedtuple takes its fields one by one
        return make(*new.values()) if hasattr(value, "_fields") else make(new.values())
    assert is_dataclass(value) and not isinstance(value, type)
    return replace(value, **changed)


def _parts(value: object) -> dict[Any, object]:
    """What a structure is made of, with the key of each part; empty for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, list)):
        return dict(enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return {}
