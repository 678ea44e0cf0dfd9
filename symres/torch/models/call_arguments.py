"""The arguments of a call of a model, and tensors inside of what goes into modules and comes out of them.

Arguments are given as a tensor, a tuple or a mapping; they are moved, cloned, split into parts. Structures are tuples,
lists, mappings and dataclasses, inside of each other.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np
import torch

from ...core.errors import DeclarationError

Inputs: TypeAlias = torch.Tensor | tuple[object, ...] | list[object] | Mapping[str, object]


@dataclass(frozen=True)
class CallArguments:
    """The arguments of a call of a model.

    Args:
        args: by position.
        kwargs: by name.
    """

    args: tuple[object, ...]
    kwargs: Mapping[str, object]

    @classmethod
    def of(cls, inputs: Inputs) -> CallArguments:
        """What a user passes: a tensor, a tuple (by position) or a mapping (by name).

        Raises:
            DeclarationError: it is none of these, has no tensor, or its first tensor has no axis of inputs.
        """
        if isinstance(inputs, Mapping):
            arguments = cls((), {str(name): value for name, value in inputs.items()})
        elif isinstance(inputs, (tuple, list)):
            arguments = cls(tuple(inputs), {})
        elif isinstance(inputs, torch.Tensor):
            arguments = cls((inputs,), {})
        else:
            raise DeclarationError(
                "inputs", f"they are of the type {type(inputs).__name__}", "pass a tensor, a tuple or a dict of tensors"
            )
        first = next(tensors(arguments.structure), None)
        if first is None or first.ndim == 0 or first.shape[0] == 0:
            said = "they contain no tensor" if first is None else f"the shape is {tuple(first.shape)}"
            raise DeclarationError("inputs", said, "pass tensors whose first axis counts the inputs, at least one")
        return arguments

    @property
    def structure(self) -> tuple[object, ...]:
        """Everything, by position and then by name."""
        return (self.args, dict(self.kwargs))

    @property
    def size(self) -> int:
        """The number of inputs: the length of the first axis of the first tensor."""
        return int(next(tensors(self.structure)).shape[0])

    @property
    def differentiable(self) -> torch.Tensor | None:
        """The first tensor of floating-point numbers; None where all are integers."""
        return first_tensor(self.structure)

    @property
    def followed(self) -> torch.Tensor:
        """The tensor that a run is followed from: the first of floating-point numbers, or else the first."""
        return next(tensors(self.structure)) if self.differentiable is None else self.differentiable

    def map(self, function: Callable[[torch.Tensor], torch.Tensor]) -> CallArguments:
        """The same arguments with a function applied to every tensor."""
        return CallArguments(*cast(tuple[Any, Any], mapped(self.structure, function)))

    def call(self, model: Callable[..., object]) -> object:
        """What a model returns; it gets copies, which it may change in place."""
        copies = self.map(torch.clone)
        return model(*copies.args, **copies.kwargs)

    def with_differentiable(self, tensor: torch.Tensor) -> CallArguments:
        """The same arguments with another first tensor of floating-point numbers."""
        return CallArguments(*cast(tuple[Any, Any], with_first_tensor(self.structure, tensor)))

    def parts(self, most: int) -> Iterator[tuple[slice, CallArguments]]:
        """Parts of at most so many inputs."""
        size = self.size
        for start in range(0, size, most):
            part = slice(start, min(start + most, size))
            yield part, self.some(part)

    def some(self, inputs: slice | np.ndarray) -> CallArguments:
        """The arguments for some of the inputs; tensors whose first axis does not count inputs stay as they are."""
        size = self.size
        return self.map(lambda tensor: tensor[inputs] if tensor.ndim and len(tensor) == size else tensor)


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
