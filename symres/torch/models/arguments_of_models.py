"""The arguments of a call of a model: given as a tensor, a tuple or a mapping; moved, cloned, split into parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import torch

from ...core.errors import DeclarationError
from .structures import first_tensor, mapped, tensors, with_first_tensor

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
            found = cls((), {str(name): value for name, value in inputs.items()})
        elif isinstance(inputs, (tuple, list)):
            found = cls(tuple(inputs), {})
        elif isinstance(inputs, torch.Tensor):
            found = cls((inputs,), {})
        else:
            raise DeclarationError(
                "inputs", f"they are of the type {type(inputs).__name__}", "pass a tensor, a tuple or a dict of tensors"
            )
        first = next(tensors(found.structure), None)
        if first is None or first.ndim == 0 or first.shape[0] == 0:
            said = "they contain no tensor" if first is None else f"the shape is {tuple(first.shape)}"
            raise DeclarationError("inputs", said, "pass tensors whose first axis counts the inputs, at least one")
        return found

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
        args, kwargs = cast(tuple[tuple[object, ...], dict[str, object]], mapped(self.structure, function))
        return CallArguments(args, kwargs)

    def call(self, model: Callable[..., object]) -> object:
        """What a model returns; it gets copies, which it may change in place."""
        copies = self.map(torch.clone)
        return model(*copies.args, **copies.kwargs)

    def with_differentiable(self, tensor: torch.Tensor) -> CallArguments:
        """The same arguments with another first tensor of floating-point numbers."""
        structure = with_first_tensor(self.structure, tensor)
        args, kwargs = cast(tuple[tuple[object, ...], dict[str, object]], structure)
        return CallArguments(args, kwargs)

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
