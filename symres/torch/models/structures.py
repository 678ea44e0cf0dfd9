"""Tensors inside of what goes into modules and comes out of them: tuples, lists, mappings, dataclasses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import torch


def tensors(value: object) -> Iterator[torch.Tensor]:
    """All tensors of a structure, in its order, depth first."""
    if isinstance(value, torch.Tensor):
        yield value
    else:
        for _, part in _parts(value):
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
    for key, part in list(_parts(value)):
        new = mapped(part, function)
        if new is not part:
            value = _with_part(value, key, new)
    return value


def _parts(value: object) -> Iterator[tuple[object, object]]:
    """What a structure is made of, with the key of each part."""
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, (tuple, list)):
        yield from enumerate(value)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in fields(value))


def _with_part(value: object, key: object, part: object) -> object:
    if isinstance(value, Mapping):
        changed = copy.copy(value)
        changed[key] = part  # type: ignore[index]  # outputs of models are mutable mappings
        return changed
    if isinstance(value, (tuple, list)):
        items = [part if position == key else old for position, old in enumerate(value)]
        named = isinstance(value, tuple) and type(value) is not tuple  # a namedtuple takes its fields one by one
        make: Callable[..., object] = type(value)
        return make(*items) if named else make(items)
    assert is_dataclass(value) and not isinstance(value, type)
    return replace(value, **{str(key): part})
