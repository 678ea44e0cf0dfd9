"""The run of a model that is to be initialised: its inputs, its parts, and the parameters that are left."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ..equations.layering import read_stretches
from ..equations.pointwise_chains import KnownActivations
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.blocks import residual_blocks
from ..models.keeping import device_of
from ..models.structures import tensors
from ..probing.adam_step import adam_changes
from ..tracing.narrow_places import StreamStep
from ..tracing.recording import record_run
from ..tracing.run_record import RunRecord
from .branch_ends import BranchEnd
from .model_parts import ModelPart, model_parts

_MOST_INPUTS = 64  # that are run
_GUESSED = 16  # Gaussian inputs where none are given


def inputs_or_guess(model: nn.Module, inputs: Inputs | None) -> tuple[CallArguments, float | None]:
    """What the model is run on, and the mean square that is assumed of it where the user gives none."""
    if inputs is not None:
        given = next(part for _, part in CallArguments.of(inputs).parts(_MOST_INPUTS))
        device = device_of(model, next(tensors(given.structure)))
        return given.map(lambda t: t.detach().to(device, copy=True)), None
    first = next((m for m in model.modules() if next(m.parameters(recurse=False), None) is not None), None)
    if not isinstance(first, nn.Linear):
        raise DeclarationError(
            f"the model {type(model).__name__}",
            "which inputs it takes is not known",
            "pass some: init_(model, inputs=...)",
        )
    drawn = torch.randn(_GUESSED, first.in_features, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return CallArguments.of(drawn.to(first.weight)), 1.0


def recorded(model: nn.Module, given: CallArguments, stream: torch.Tensor, label: str) -> RunRecord:
    """A run of a model.

    Args:
        model: it works on copies of its weights.
        given: the arguments.
        stream: the tensor among them that is followed.
        label: what the model is called in messages.

    Raises:
        DeclarationError: it fails on the arguments, or its output does not depend on the stream.
    """
    try:
        record = record_run(model, given.args, given.kwargs, stream)
    except SymresError:
        raise
    except Exception as error:  # whatever the user's code raises
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DeclarationError(f"the model {label}", f"it fails on the inputs: {reason}", "pass others") from error
    record.required_output(label)
    return record


def parts_of(
    model: nn.Module, record: RunRecord, steps: Sequence[StreamStep], ends: Sequence[BranchEnd], label: str
) -> tuple[ModelPart, ...]:
    """The parts of a model, with their roles.

    Args:
        model: the model.
        record: a run of it.
        steps: of the run.
        ends: of the branches of the run.
        label: what the model is called in messages.

    Raises:
        DeclarationError: there is no dense layer and no convolution.
    """
    blocks = residual_blocks(model)

    def block_of(name: str) -> str:
        return next((block for block in blocks if f"{name}.".startswith(f"{block}.")), "")

    stretches = read_stretches(record, steps, block_of, KnownActivations())
    parts = model_parts(record, stretches, ends)
    if not any(part.uses for part in parts):
        raise DeclarationError(
            f"the model {label}", "no dense layer or convolution was found in its run", "initialise it by hand"
        )
    return parts


def adam_changes_of(
    model: nn.Module, given: CallArguments, stream: torch.Tensor, numbers: Sequence[int], trained: Sequence[str]
) -> list[float]:
    """What one step of Adam does to stream values, as ``adam_changes``; nan where PyTorch takes no gradients.

    Args:
        model: it works on copies of its weights; its batch norms are in train mode from here on.
        given: the arguments.
        stream: the tensor among them that is followed.
        numbers: of the stream values in a record of the model.
        trained: the names of the weights that a step changes.
    """
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.train()

    def streams(part: CallArguments) -> list[torch.Tensor]:
        values = record_run(model, part.args, part.kwargs, stream).values
        return [values[number].detach() for number in numbers]

    try:
        return adam_changes(model, [given], [model.get_parameter(name) for name in trained], streams, 0)
    except (RuntimeError, ValueError):  # an operation without derivatives, or one input for a batch norm
        return [math.nan] * len(numbers)


def own_kernel(record: RunRecord, parts: tuple[ModelPart, ...]) -> float:
    """The kernel that the first layer makes of the inputs with its present weights."""
    first = next(part for part in parts if part.uses)
    number = first.stretch.entry if first.is_residual else first.stretch.exit
    kernel = record.mean_squares[number]
    if not 0 < kernel < float("inf"):
        raise DeclarationError(
            f"the kernel behind {first.place}", f"it is {kernel:g} with the present weights", 'use target="critical"'
        )
    return kernel


def kept_parameters(model: nn.Module, record: RunRecord, frozen: frozenset[str]) -> dict[str, str]:
    """The parameters that are left, with the reason: frozen ones, and tables from which integers choose."""
    given = [leaf for call in record.calls if call.name == "embedding" for leaf in call.args]
    tables = {id(leaf) for leaf in given if isinstance(leaf, nn.Parameter)}
    tables |= {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    found = {name: "an embedding" for name, p in model.named_parameters(remove_duplicate=False) if id(p) in tables}
    return found | dict.fromkeys(frozen, "it asks for no gradients")
