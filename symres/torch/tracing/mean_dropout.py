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


class MeanDropout:
    """Dropout that is idle in eval mode becomes the factor 1/sqrt(1 - p), where the model was in train mode.

    A mask keeps a share 1 - p of the entries and divides them by it, so that the mean squares of values, and of the
    derivatives that pass it backwards, grow by 1/(1 - p), over masks on average. Alpha dropout is left, which keeps
    mean squares, and what drops out inside of compiled operations, such as attention.

    Args:
        model: the model, in the mode that its user has it in.
    """

    def __init__(self, model: nn.Module) -> None:
        self.names: dict[str, None] = {}  # of the modules that called it, in the order of the run
        self._modules = dict(model.named_modules())
        self._training = frozenset(name for name, module in self._modules.items() if module.training)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replace it in all runs of the model inside of the context."""
        frames: list[str] = []

        def entering(name: str, module: nn.Module, args: Any, kwargs: Any) -> None:
            frames.append(name)

        def leaving(name: str, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            frames.pop()

        with hooked(self._modules, entering, leaving), _Replacing(self, frames):
            yield

    def replaced(self, module: str, input: torch.Tensor, p: float, inplace: bool) -> torch.Tensor:
        """What comes out of an idle dropout.

        Args:
            module: the name of the module that calls it.
            input: its argument.
            p: the share of entries that it drops.
            inplace: whether it changes its argument.
        """
        if module not in self._training or not 0 < p < 1:  # with p = 1 nothing is left to be set
            return input
        self.names[module or type(self._modules[""]).__name__] = None
        factor = (1 - p) ** -0.5
        return input.mul_(factor) if inplace else input * factor


class _Replacing(TorchFunctionMode):
    """Calls of dropout that eval mode makes idle, replaced by the factor; an operation that it is recorded as."""

    def __init__(self, dropout: MeanDropout, frames: list[str]) -> None:
        super().__init__()
        self._dropout, self._frames = dropout, frames

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _FUNCTIONS and self._frames:
            arguments = dict(zip(("input", "p", "training", "inplace"), args, strict=False)) | (kwargs or {})
            if not arguments.get("training", True):
                p, inplace = arguments.get("p", 0.5), arguments.get("inplace", False)
                return self._dropout.replaced(self._frames[-1], arguments["input"], p, inplace)
        return func(*args, **(kwargs or {}))
