"""A model as layers of the theory: one call."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ..equations.layering import read_stretches
from ..equations.pointwise_chains import KnownActivations
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.blocks import residual_blocks
from ..models.keeping import device_of, kept, seeded
from ..models.structures import tensors
from ..tracing.narrow_places import stream_steps
from ..tracing.recording import record_run
from ..tracing.run_record import RunRecord
from .assembling import assembled
from .model_reading import Reading

_MOST_INPUTS = 16  # that are run
_GUESSED = 4  # random inputs where none are given


def read(model: nn.Module, inputs: Inputs | None = None, *, check: bool = True, seed: int = 0) -> Reading:
    """Which layers of the theory a model is made of.

    The model is run once on the inputs, in evaluation mode and in float64. The calls of PyTorch's functions on what
    depends on the input are cut where the whole stream goes through one tensor, and read as forward equations: dense
    layers and convolutions, activations, LayerNorm, RMSNorm, BatchNorm, sums, factors, gates, slices of one dense layer
    for value and gate. Whatever mixes tokens, and whatever else is not read, stays measured and is named with its place
    in the code. Each layer is compared with networks of random weights before it is believed.

    Args:
        model: an ``nn.Module``.
        inputs: a tensor, a tuple (by position) or a mapping (by name); the first 16 inputs are used. None: Gaussian
            inputs, for models that begin with an ``nn.Linear``.
        check: whether kernel and Jacobian norm of each kind of block are compared with random networks.
        seed: of the comparison.

    Returns:
        The blocks with the variances of their weights. The model is as before, also after an exception.

    Raises:
        DeclarationError: the model cannot be run on the inputs, its output does not depend on them, or it makes Python
            numbers of them outside of any submodule.

    Source:
        Doshi et al. (1) for the convention of variances: C_W = fan_in*Var(w), C_b = Var(b).
    """
    if not isinstance(model, nn.Module):
        raise DeclarationError(f"a model of the type {type(model).__name__}", "it is no nn.Module", "pass one")
    given = _first(CallArguments.of(_guessed(model) if inputs is None else inputs))
    return reading_of_run(model, given, check, seed)


def reading_of_run(model: nn.Module, given: CallArguments, check: bool, seed: int) -> Reading:
    """As ``read``, of all inputs given."""
    label = type(model).__name__
    device = device_of(model, next(tensors(given.structure)))
    blocks = residual_blocks(model)

    def block_of(name: str) -> str:
        return next((block for block in blocks if f"{name}.".startswith(f"{block}.")), "")

    for dtype in (torch.float64, None):  # some operations have no float64
        with seeded(seed), kept(model, train=False, dtype=dtype, device=None):
            try:
                record = _recorded(model, given.map(partial(_moved, device=device, dtype=dtype)))
            except SymresError:
                raise
            except Exception as error:  # whatever the user's code raises
                failure = error
                continue
            output = record.required_output(label)
            stretches = read_stretches(record, stream_steps(record, output), block_of, KnownActivations())
            return assembled(label, record, stretches, torch.Generator().manual_seed(seed) if check else None)
    reason = " ".join(str(failure).split())[:200] or type(failure).__name__
    raise DeclarationError(f"the model {label}", f"it fails on the inputs: {reason}", "pass others") from failure


def _moved(tensor: torch.Tensor, device: torch.device, dtype: torch.dtype | None) -> torch.Tensor:
    return tensor.detach().to(device, dtype if tensor.is_floating_point() else None)


def _recorded(model: nn.Module, given: CallArguments) -> RunRecord:
    stream = given.differentiable
    stream = next(tensors(given.structure)) if stream is None else stream
    return record_run(model, given.args, given.kwargs, stream)


def _guessed(model: nn.Module) -> torch.Tensor:
    first = next(
        (module for module in model.modules() if next(module.parameters(recurse=False), None) is not None), None
    )
    if not isinstance(first, nn.Linear):
        raise DeclarationError(
            f"the model {type(model).__name__}", "which inputs it takes is not known", "pass some: read(model, inputs)"
        )
    generator = torch.Generator().manual_seed(0)
    return torch.randn(_GUESSED, first.in_features, generator=generator)


def _first(given: CallArguments) -> CallArguments:
    return next(part for _, part in given.parts(_MOST_INPUTS))
