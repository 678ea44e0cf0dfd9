"""What a model does besides computing: drops out, averages over a batch, gives numbers that are not finite."""

from __future__ import annotations

import torch
from torch import nn

from .arguments_of_models import CallArguments
from .observing import hooked
from .structures import first_tensor, tensors
from .wording import some_of

_BATCH_NORM = nn.modules.batchnorm._BatchNorm
_DROPOUT = (nn.modules.dropout._DropoutNd, nn.RReLU)


def mixes_inputs(model: nn.Module) -> bool:
    """Whether batch normalisation takes its averages from the inputs of a pass, which then depend on each other."""
    return any(
        isinstance(module, _BATCH_NORM) and (module.training or module.running_mean is None)
        for module in model.modules()
    )


def active_dropout(model: nn.Module) -> list[str]:
    """The names of modules that drop out in their present mode."""
    found = []
    for name, module in model.named_modules():
        if isinstance(module, _DROPOUT):
            share = getattr(module, "p", 1.0)
        elif isinstance(module, nn.MultiheadAttention):
            share = module.dropout
        elif isinstance(module, nn.RNNBase):
            share = module.dropout if module.num_layers > 1 else 0.0
        else:
            continue
        if module.training and share > 0:
            found.append(name or type(module).__name__)
    return found


def remarks_on(model: nn.Module) -> list[str]:
    """What a user should know about a model in its present mode; one line each."""
    found = []
    if dropping := active_dropout(model):
        found.append(
            f"dropout is active in {some_of(dropping)}: the numbers are those of random masks; use mode='eval'"
        )
    idle = [
        name
        for name, module in model.named_modules()
        if isinstance(module, _BATCH_NORM)
        and not module.training
        and module.num_batches_tracked is not None
        and int(module.num_batches_tracked) == 0
    ]
    if idle:
        found.append(
            f"{some_of(idle)} normalises by running statistics that were never updated (0 and 1): use mode='train'"
        )
    return found


def first_nonfinite(model: nn.Module, arguments: CallArguments) -> str:
    """Where numbers that are not finite appear first, in words."""
    for tensor in tensors(arguments.structure):
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            return "they are in the inputs"
    for name, parameter in model.named_parameters():
        if not bool(parameter.isfinite().all()):
            return f"they are in the weights {name}"
    told: list[str] = []

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        tensor = first_tensor(output)
        if not told and tensor is not None and not bool(tensor.isfinite().all()):
            told.append(f"they appear first in the output of {name or 'the model'} ({type(module).__name__})")

    with hooked(dict(model.named_modules()), leaving=leaving), torch.no_grad():
        arguments.call(model)
    return told[0] if told else "they appear between modules"
