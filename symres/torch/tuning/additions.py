"""The sums of two tensors of one shape that a pass comes by, in the order of execution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch.overrides import TorchFunctionMode

_SUMS = {torch.add, torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.__radd__}
_IN_PLACE = {torch.Tensor.add_, torch.Tensor.__iadd__}

SumAction: TypeAlias = Callable[[int, torch.Tensor, torch.Tensor], torch.Tensor | None]


class Additions(TorchFunctionMode):
    """A context in which something is done at every sum of two tensors of floating-point numbers of one shape.

    Args:
        action: of the number of the sum (from 0) and both terms; a tensor that it returns takes the place of the sum.
    """

    def __init__(self, action: SumAction) -> None:
        super().__init__()
        self._action = action
        self._paused = False
        self.count = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside of the context sums are neither counted nor acted upon."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if not self._paused and not kwargs and len(args) == 2 and (func in _SUMS or func in _IN_PLACE):
            left, right = args
            if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor) and _alike(left, right):
                number, self.count = self.count, self.count + 1
                new = self._action(number, left, right)
                if new is not None and func in _IN_PLACE:
                    left.data = new.detach()  # whoever holds the left term sees the sum
                    return left
                if new is not None:
                    return new
        return func(*args, **(kwargs or {}))


def _alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    parameter = isinstance(left, torch.nn.Parameter) or isinstance(right, torch.nn.Parameter)
    return left.is_floating_point() and right.is_floating_point() and left.shape == right.shape and not parameter
