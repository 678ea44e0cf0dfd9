"""A model as layers of the theory: one call."""

from __future__ import annotations

import torch
from torch import nn

from ...core.errors import DeclarationError
from ..equations.layering import read_stretches
from ..equations.pointwise_chains import KnownActivations
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.blocks import block_finder
from ..models.keeping import kept, required_module, seeded
from ..tracing.narrow_places import stream_steps
from ..tracing.prepared_runs import WIDE, inputs_or_guess, recorded
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

    Examples:
        >>> from torch.nn import Linear, ReLU, Sequential
        >>> _ = torch.manual_seed(0)
        >>> model = Sequential(Linear(16, 64), ReLU(), Linear(64, 64), ReLU(), Linear(64, 1))
        >>> reading = st.read(model)
        >>> [block.text for block in reading.blocks]
        ["z' = Dense(z)", "z' = Dense(relu(z))", "z' = Dense(relu(z))"]
    """
    required_module(model)
    return reading_of_run(model, inputs_or_guess(model, inputs, _MOST_INPUTS, _GUESSED, "read"), check, seed)


def reading_of_run(model: nn.Module, arguments: CallArguments, check: bool, seed: int) -> Reading:
    """As ``read``, of all inputs."""
    for dtype in WIDE:
        with seeded(seed), kept(model, train=False, dtype=dtype, device=None):
            try:
                _, record = recorded(model, arguments, dtype)
            except DeclarationError as error:
                failure = error
                continue
            label = type(model).__name__
            steps = stream_steps(record, record.required_output(label))
            stretches = read_stretches(record, steps, block_finder(model), KnownActivations())
            return assembled(label, record, stretches, torch.Generator().manual_seed(seed) if check else None)
    raise failure
