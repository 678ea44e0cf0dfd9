"""Weights and biases of norms: set to 1 and 0 before a model is read, as the theory has them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from ..equations.norm_statistics import NORMS
from ..tracing.run_record import PRODUCTS, SUMS, RecordedCall, RunRecord, StreamValue

_SUMMANDS = frozenset(name for name, sign in SUMS.items() if sign > 0)
_NORM_MODULES = (
    nn.LayerNorm,
    nn.GroupNorm,
    nn.modules.batchnorm._NormBase,
    *((nn.RMSNorm,) if "RMSNorm" in dir(nn) else ()),
)


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
