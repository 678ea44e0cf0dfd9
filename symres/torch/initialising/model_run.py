"""The run of a model that is to be initialised: its parts, the parameters that are left, and those of norms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import nn

from ...core.errors import DeclarationError
from ..equations.layering import read_stretches
from ..equations.norm_statistics import NORMS
from ..equations.pointwise_chains import KnownActivations
from ..models.arguments_of_models import CallArguments
from ..models.choosing import block_finder
from ..probing.adam_step import adam_changes
from ..tracing.prepared_runs import MeanDropout
from ..tracing.recording import record_run
from ..tracing.run_record import DROPOUTS, PRODUCTS, SUMS, RecordedCall, RunRecord, StreamStep, StreamValue
from .branch_ends import BranchEnd
from .model_parts import ModelPart, model_parts

_SUMMANDS = frozenset(name for name, sign in SUMS.items() if sign > 0)
_NORM_MODULES = (
    nn.LayerNorm,
    nn.GroupNorm,
    nn.modules.batchnorm._NormBase,
    *((nn.RMSNorm,) if "RMSNorm" in dir(nn) else ()),
)


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
        values = record_run(model, part).values
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


def norm_parameters(model: nn.Module, record: RunRecord) -> dict[str, float]:
    """The numbers that parameters of norms get, by qualified name.

    Parameters of PyTorch's norms count; those that are arguments of its norm functions; and in modules without
    submodules that divide their stream by a root, what has one number for each neuron and multiplies or is added.

    Args:
        model: the model.
        record: a run of it.
    """
    found: dict[int, float] = {}
    for module in model.modules():
        if isinstance(module, _NORM_MODULES):
            found |= {id(p): float(name == "weight") for name, p in module.named_parameters(recurse=False)}
    for call in record.calls:
        for tensor, value in (*_of_functions(call), *_written_out(record, call)):
            found.setdefault(id(tensor), value)
    return {name: found[id(parameter)] for name, parameter in model.named_parameters() if id(parameter) in found}


def _of_functions(call: RecordedCall) -> Iterator[tuple[torch.Tensor, float]]:
    """Weight and bias of a call of a norm function: the constants with one number for each neuron."""
    if call.name not in NORMS or call.name == "batch_norm":
        return
    for name, value in (("weight", 1.0), ("bias", 0.0)):
        if isinstance(tensor := call.by_name.get(name), torch.Tensor):
            yield tensor, value


def _written_out(record: RunRecord, call: RecordedCall) -> Iterator[tuple[torch.Tensor, float]]:
    """Parameters of a norm that is written out, such as Llama's."""
    inside = call.inside[-1]
    if call.name not in PRODUCTS | _SUMMANDS or next(inside.module.children(), None) is not None:
        return
    operations = {other.name for other in record.calls if other.inside and other.inside[-1] is inside}
    if not operations & {"mean", "var", "sum", "norm"} or not operations & {"rsqrt", "sqrt", "norm", "var"}:
        return
    for leaf in call.args:
        if isinstance(leaf, nn.Parameter) and not isinstance(leaf, StreamValue) and leaf.ndim == 1:
            yield leaf, float(call.name in PRODUCTS)
