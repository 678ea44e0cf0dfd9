"""The run of anybody's model that is to be read: on the inputs of a user or on guessed ones, recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ...core.errors import DeclarationError, SymresError
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.keeping import device_of, kept, seeded
from ..models.observing import hooked
from ..models.structures import converted
from ..models.wording import on_one_line
from .recording import record_run
from .run_record import RunRecord

WIDE = (torch.float64, None)  # the numbers in which a model is run; some operations have no float64
_DROPOUTS = (functional.dropout, functional.dropout1d, functional.dropout2d, functional.dropout3d)


def inputs_or_guess(model: nn.Module, inputs: Inputs | None, most: int, guessed: int, call: str) -> CallArguments:
    """At most so many of a user's inputs, or all where the model needs them together.

    Where there are none, a number of Gaussian ones is guessed for a model that begins with an ``nn.Linear``; an error
    names what the user has called.

    Raises:
        DeclarationError: which inputs the model takes is not known.
    """
    if inputs is None:
        first = next((m for m in model.modules() if next(m.parameters(recurse=False), None) is not None), None)
        if not isinstance(first, nn.Linear):
            asked, remedy = f"the model {type(model).__name__}", f"pass inputs: {call}(model, inputs=...)"
            raise DeclarationError(asked, "symres cannot tell which inputs it takes", remedy)
        source = torch.Generator().manual_seed(0)
        inputs = torch.randn(guessed, first.in_features, generator=source, dtype=torch.float64).to(first.weight)
    given = CallArguments.of(inputs)
    part = next(part for _, part in given.parts(most))
    return part if part.size == given.size or _takes(model, part) else given


def _takes(model: nn.Module, arguments: CallArguments) -> bool:
    """Whether a model runs on some of the inputs: not if others are named among them, as the neighbours in a graph."""
    with seeded(0), kept(model, train=False, dtype=None, device=None):
        try:
            recorded(model, arguments, None)
        except DeclarationError:
            return False
    return True


def recorded(
    model: nn.Module,
    arguments: CallArguments,
    dtype: torch.dtype | None,
    inside: AbstractContextManager[None] | None = None,
) -> tuple[CallArguments, RunRecord]:
    """A run of a model that works on copies of its weights, as ``record_run``, and the arguments that it was run on.

    These are copies on the model's device, with floating-point numbers of the type ``dtype``, if there is one.

    Raises:
        DeclarationError: the model fails on the arguments, or its output does not depend on them.
    """
    label = type(model).__name__
    device = device_of(model, arguments.followed)
    arguments = arguments.map(partial(converted, dtype=dtype, device=device))
    try:
        record = record_run(model, arguments, inside)
    except SymresError:
        raise
    except Exception as error:  # whatever the user's code raises
        reason = f"it fails on the inputs: {on_one_line(error)}"
        raise DeclarationError(f"the model {label}", reason, "pass inputs that it takes") from error
    record.required_output(label)
    return arguments, record


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
        if func in _DROPOUTS and self._frames:
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
