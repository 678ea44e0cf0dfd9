"""The run of anybody's model that is to be read: on the inputs of a user or on guessed ones, recorded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial

import torch
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.keeping import device_of, kept, seeded
from ..models.structures import converted
from ..models.wording import on_one_line
from .recording import record_run
from .run_record import RunRecord

WIDE = (torch.float64, None)  # the numbers in which a model is run; some operations have no float64


def inputs_or_guess(model: nn.Module, inputs: Inputs | None, most: int, guessed: int, call: str) -> CallArguments:
    """The first inputs, or all where the model needs them together.

    Where there are none: Gaussian ones for a model that begins with an ``nn.Linear``.

    Args:
        model: the model.
        inputs: of a user, if any.
        most: how many of them.
        guessed: how many Gaussian ones.
        call: what a user calls, for the message.

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
    """A run of a model that works on copies of its weights.

    Args:
        model: the model.
        arguments: of the call.
        dtype: of the floating-point numbers among them; None: as they are.
        inside: as for ``record_run``.

    Returns:
        copies of the arguments in these numbers, on the model's device, and the run.

    Raises:
        DeclarationError: the model fails on the arguments, or its output does not depend on them.
    """
    label = type(model).__name__
    device = device_of(model, arguments.followed)
    arguments = arguments.map(partial(converted, dtype=dtype, device=device))
    try:
        record = record_run(model, arguments.args, arguments.kwargs, arguments.followed, inside)
    except SymresError:
        raise
    except Exception as error:  # whatever the user's code raises
        reason = f"it fails on the inputs: {on_one_line(error)}"
        raise DeclarationError(f"the model {label}", reason, "pass inputs that it takes") from error
    record.required_output(label)
    return arguments, record
