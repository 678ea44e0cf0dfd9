"""The ends of residual branches: what multiplies a branch before it is added, and small factors further inside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from ..equations.call_rules import COPIES, NORMS, VIEWS
from ..models.call_arguments import CallArguments, mean_square, tensors
from ..tracing.run_record import DROPOUTS, PRODUCTS, SUMS, RecordedCall, RunRecord, StreamStep, StreamValue

ALL_NORMS = NORMS | {"group_norm", "instance_norm"}
_NORM_MODULES = (
    nn.LayerNorm,
    nn.GroupNorm,
    nn.modules.batchnorm._NormBase,
    *((nn.RMSNorm,) if "RMSNorm" in dir(nn) else ()),
)
_SUMMANDS = frozenset(name for name, sign in SUMS.items() if sign > 0)
_PASSING = VIEWS | COPIES | DROPOUTS | SUMS.keys()  # with one stream value: a summand is a bias
_QUOTIENTS = frozenset({"div", "truediv", "true_divide"})
# a factor inside a branch that starts below is meant to be small, as LayerScale is; larger ones belong to the layer
_SMALL = 0.1


@dataclass(frozen=True, eq=False)
class BranchEnd:
    """How a branch ends: with numbers that training changes, such as those of LayerScale or ReZero, or without any.

    Args:
        join: the number of the call that adds the branch to the stream.
        start: the stream value that is multiplied, or normalised.
        factors: the numbers of the calls that multiply or divide by a tensor.
        names: of these tensors, as far as they are parameters; others are computed in the run, from parameters perhaps.
        norm: the name of the weights of the norm that ends the branch; empty without any.
        size: the product of the root mean squares of all factors (of divisors, its inverse) and of the norm's weights,
            as the model has them.
        norm_values: the weights of the norm as the model has them.
    """

    join: int
    start: int
    factors: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    norm: str = ""
    size: float = 1.0
    norm_values: torch.Tensor | None = None

    @property
    def norm_size(self) -> float:
        """The root mean square of the norm's weights; 1 without a norm."""
        return 1.0 if self.norm_values is None else math.sqrt(mean_square(self.norm_values))


def branch_ends(
    record: RunRecord, steps: Sequence[StreamStep], norms: Mapping[str, float], fixed: frozenset[str]
) -> list[BranchEnd]:
    """The ends of all branches of a model.

    A branch is one of two summands that end a step, unless it is what enters the step.

    Args:
        record: a run of the model.
        steps: of the run.
        norms: the parameters of norms: 1 for weights, 0 for biases.
        fixed: names of the parameters and buffers that are not trained.
    """
    all_ends = []
    for step in steps:
        join = step.calls[-1]
        if join.name in SUMS and len(set(join.sources)) == 2:
            walk = _Walk(record, {number: call for call in step.calls for number in call.results}, norms, fixed)
            for source in join.sources:
                ends = walk.backwards(BranchEnd(join.number, source))
                all_ends += [end for end in ends if end.start != step.entry]
    return all_ends


@dataclass(frozen=True)
class _Walk:
    """From a summand backwards through factors, up to a norm or anything that is neither."""

    record: RunRecord
    makers: Mapping[int, RecordedCall]
    norms: Mapping[str, float]
    fixed: frozenset[str]

    def backwards(self, end: BranchEnd) -> Iterator[BranchEnd]:
        """The ends of a branch, or of several that are added to each other."""
        call = self.makers.get(end.start)
        sources = () if call is None else tuple(dict.fromkeys(call.sources))
        if call is not None and call.name in SUMS and len(sources) == 2:
            for source in sources:
                yield from self.backwards(replace(end, start=source))
            return
        if call is None or len(sources) != 1:
            yield end
            return
        behind, trained = replace(end, start=sources[0]), self._trained(call)
        weight = next((name for name in trained if self.norms.get(name) == 1.0), "")
        if weight and call.name in ALL_NORMS | PRODUCTS:
            behind = replace(behind, norm=weight, norm_values=trained[weight].detach().clone())
            yield replace(behind, size=end.size * behind.norm_size)
        elif _is_scaling(call) and len(trained) == 1:
            yield from self.backwards(_with_factor(behind, call, trained))
        elif call.name in _PASSING or (_is_scaling(call) and not trained):
            yield from self.backwards(behind)
        else:
            yield self._with_inner_factors(end, behind.start)

    def _with_inner_factors(self, end: BranchEnd, number: int) -> BranchEnd:
        """With the small factors before the last dense layer, up to a norm, a sum or a product of two values."""
        call = self.makers.get(number)
        while call is not None and call.name not in ALL_NORMS and len(set(call.sources)) == 1:
            trained = self._trained(call)
            if _is_scaling(call) and len(trained) == 1:
                longer = _with_factor(end, call, trained)
                end = longer if longer.size <= _SMALL * end.size else end
            call = self.makers.get(call.sources[0])
        return end

    def _trained(self, call: RecordedCall) -> dict[str, torch.Tensor]:
        """The tensors of a call that training changes, by their names; "" for those computed in the run."""
        named = {self.record.name_of(tensor, ""): tensor for tensor in tensors((call.args, call.kwargs))}
        return {name: tensor for name, tensor in named.items() if name not in self.fixed}


def _with_factor(end: BranchEnd, call: RecordedCall, trained: Mapping[str, torch.Tensor]) -> BranchEnd:
    ((name, tensor),) = trained.items()
    size = math.sqrt(mean_square(tensor))
    size = size if call.name in PRODUCTS else 1.0 / size if size else math.inf
    names = (*end.names, *filter(None, [name]))
    return replace(end, factors=(*end.factors, call.number), names=names, size=end.size * size)


def _is_scaling(call: RecordedCall) -> bool:
    """Whether it multiplies or divides what comes in; ``g/x`` divides by it."""
    return call.name in PRODUCTS or (call.name in _QUOTIENTS and isinstance(call.args[0], StreamValue))


def without_factors(record: RunRecord, ends: Sequence[BranchEnd]) -> RunRecord:
    """The run as if all factors of branches were 1, in which branches can be read that begin at 0."""
    calls = list(record.calls)
    for number in {number for end in ends for number in end.factors}:
        ones = CallArguments(calls[number].args, calls[number].kwargs).map(torch.ones_like)
        calls[number] = replace(calls[number], args=ones.args, kwargs=ones.kwargs)
    return replace(record, calls=calls)


def norm_parameters(model: nn.Module, record: RunRecord) -> dict[str, float]:
    """The numbers that parameters of norms get, by qualified name: 1 for weights, 0 for biases.

    Parameters of PyTorch's norms count; those that are arguments of its norm functions; and in modules without
    submodules that divide their stream by a root, such as Llama's norms, what has one number for each neuron and
    multiplies or is added.
    """
    values: dict[int, float] = {}
    for module in model.modules():
        if isinstance(module, _NORM_MODULES):
            values |= {id(p): float(name == "weight") for name, p in module.named_parameters(recurse=False)}
    for call in record.calls:
        pairs: list[tuple[object, float]] = []
        if call.name in NORMS - {"batch_norm"}:
            pairs = [(call.by_name.get("weight"), 1.0), (call.by_name.get("bias"), 0.0)]
        elif call.name in PRODUCTS | _SUMMANDS and _is_in_norm(record, call):
            vectors = [leaf for leaf in call.args if isinstance(leaf, nn.Parameter) and leaf.ndim == 1]
            pairs = [(leaf, float(call.name in PRODUCTS)) for leaf in vectors]
        for tensor, value in pairs:
            values.setdefault(id(tensor), value)
    return {name: values[id(parameter)] for name, parameter in model.named_parameters() if id(parameter) in values}


def _is_in_norm(record: RunRecord, call: RecordedCall) -> bool:
    """Whether a call is in a module that divides its stream by a root, without submodules."""
    inside = call.inside[-1]
    if next(inside.module.children(), None) is not None:
        return False
    operations = {other.name for other in record.calls if other.inside and other.inside[-1] is inside}
    return bool(operations & {"mean", "var", "sum", "norm"} and operations & {"rsqrt", "sqrt", "norm", "var"})
