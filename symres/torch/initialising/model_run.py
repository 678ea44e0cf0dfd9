"""The run of a model that is to be initialised: its parts, and the parameters that are left."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from ...core.errors import DeclarationError
from ..equations.layering import read_stretches
from ..equations.pointwise_chains import KnownActivations
from ..models.arguments_of_models import CallArguments
from ..models.blocks import block_finder
from ..probing.adam_step import adam_changes
from ..tracing.mean_dropout import MeanDropout
from ..tracing.narrow_places import StreamStep
from ..tracing.recording import record_run
from ..tracing.run_record import DROPOUTS, RunRecord
from .branch_ends import BranchEnd
from .model_parts import ModelPart, model_parts


def parts_of(
    model: nn.Module, record: RunRecord, steps: Sequence[StreamStep], ends: Sequence[BranchEnd]
) -> list[ModelPart]:
    """The parts of a model, with their roles.

    Args:
        model: the model.
        record: a run of it.
        steps: of the run.
        ends: of the branches of the run.

    Raises:
        DeclarationError: there is no dense layer and no convolution.
    """
    parts = model_parts(record, read_stretches(record, steps, block_finder(model), KnownActivations()), ends)
    if not any(part.uses for part in parts):
        asked = f"the model {type(model).__name__}"
        raise DeclarationError(asked, "it calls no dense layer or convolution", "initialise it by hand")
    return parts


def adam_changes_of(
    model: nn.Module, arguments: CallArguments, numbers: Sequence[int], trained: Sequence[str], dropout: MeanDropout
) -> list[float]:
    """What one step of Adam does to stream values, as ``adam_changes``; nan where PyTorch takes no gradients.

    Args:
        model: it works on copies of its weights; its batch norms are in train mode from here on.
        arguments: of the run.
        numbers: of the stream values in a record of the model.
        trained: the names of the weights that a step changes.
        dropout: of the model.
    """
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.train()

    def streams(part: CallArguments) -> list[torch.Tensor]:
        values = record_run(model, part.args, part.kwargs, part.followed).values
        return [values[number].detach() for number in numbers]

    try:
        with dropout.applied():
            return adam_changes(model, [arguments], [model.get_parameter(name) for name in trained], streams, 0)
    except (RuntimeError, ValueError):  # an operation without derivatives, or one input for a batch norm
        return [math.nan] * len(numbers)


def own_kernel(record: RunRecord, parts: Sequence[ModelPart]) -> float:
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


def dropout_calls(record: RunRecord, training: frozenset[str]) -> tuple[list[str], list[str]]:
    """The modules whose dropout is at work in train mode, and those that call one which is at work in eval mode too.

    Args:
        record: a run in eval mode.
        training: the names of the modules that were in train mode before.
    """
    switched: dict[str, None] = {}  # in the order of the run, each once
    always: dict[str, None] = {}
    for call in record.calls:
        inputs = call.by_name if call.name in DROPOUTS else {"p": 0}
        if inputs.get("p", 0.5) > 0:
            module = call.inside[-1].name
            if inputs.get("training", True):
                always[module or type(call.inside[0].module).__name__] = None
            elif module in training:
                switched[module or type(call.inside[0].module).__name__] = None
    return list(switched), list(always)
