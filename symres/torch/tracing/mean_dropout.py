"""Dropout by what it does to mean squares: a factor in the place of random masks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ..models.observing import hooked

_FUNCTIONS = (functional.dropout, functional.dropout1d, functional.dropout2d, functional.dropout3d)


class MeanDropout(TorchFunctionMode):
    """Dropout that is idle in eval mode becomes the factor 1/sqrt(1 - p), where the model was in train mode.

    A mask keeps a share 1 - p of the entries and divides them by it, so that the mean squares of values, and of the
    derivatives that pass it backwards, grow by 1/(1 - p), over masks on average. Alpha dropout is left, which keeps
    mean squares, and what drops out inside of compiled operations, such as attention.

    Args:
        model: the model, in the mode that its user has it in.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.names: dict[str, None] = {}  # of the modules that called it, in the order of the run
        self._modules = dict(model.named_modules())
        self._training = frozenset(name for name, module in self._modules.items() if module.training)
        self._frames: list[str] = []  # the modules that are being run

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replace it in all runs of the model inside of the context, by an operation that it is recorded as."""
        self._frames.clear()

        def leaving(*call: object) -> None:
            self._frames.pop()

        with hooked(self._modules, lambda name, *call: self._frames.append(name), leaving), self:
            yield

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _FUNCTIONS and self._frames:
            arguments = dict(zip(("input", "p", "training", "inplace"), args, strict=False)) | (kwargs or {})
            if not arguments.get("training", True):
                return self._replaced(arguments["input"], arguments.get("p", 0.5), arguments.get("inplace", False))
        return func(*args, **(kwargs or {}))

    def _replaced(self, input: torch.Tensor, p: float, inplace: bool) -> torch.Tensor:
        """What comes out of an idle dropout, which changes its argument if it does so ``inplace``."""
        module = self._frames[-1]
        if module not in self._training or not 0 < p < 1:  # with p = 1 nothing is left to be set
            return input
        self.names[module or type(self._modules[""]).__name__] = None
        factor = (1 - p) ** -0.5
        return input.mul_(factor) if inplace else input * factor
