"""A model as layers of the theory: one call."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ...layers.layer import Layer
from ...layers.normalisation import BatchNorm
from ...theory.theory import derive
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.blocks import residual_blocks
from ..models.keeping import device_of, kept, seeded
from ..models.structures import tensors
from .dense_variances import remarks, variances
from .layering import StretchReading, read_stretches
from .model_reading import DenseNumbers, ReadBlock, Reading, common_name
from .narrow_places import stream_steps
from .places_of_streams import span_of
from .pointwise_chains import KnownActivations
from .recording import RunRecord, record_run
from .replaying import compare, own_kernel, value_of

_MOST_INPUTS = 16  # that are run
_GUESSED = 4  # random inputs where none are given
_FAR = 6.0  # standard deviations of an average over squares of n weights


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
    given = given.map(lambda t: t.detach().to(device, torch.float64 if t.is_floating_point() else None))
    stream = given.differentiable
    stream = next(tensors(given.structure)) if stream is None else stream
    blocks = residual_blocks(model)

    def block_of(name: str) -> str:
        return next((block for block in blocks if f"{name}.".startswith(f"{block}.")), "")

    with seeded(seed), kept(model, train=False, dtype=torch.float64, device=None):
        record = _recorded(model, given, stream, label)
        output = record.output
        if output is None or output == 0:
            raise DeclarationError(
                f"the model {label}", "its output does not depend on its first input", "pass inputs that it computes with"
            )
        stretches = read_stretches(record, stream_steps(record, output), block_of, KnownActivations())
        return _assembled(label, record, stretches, torch.Generator().manual_seed(seed) if check else None)


def _recorded(model: nn.Module, given: CallArguments, stream: torch.Tensor, label: str) -> RunRecord:
    try:
        record = record_run(model, given.args, given.kwargs, stream)
    except SymresError:
        raise
    except Exception as error:  # whatever the user's code raises
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DeclarationError(f"the model {label}", f"it fails on the inputs: {reason}", "pass others") from error
    if any(not inside or not inside[-1].name for inside in record.reads):
        raise DeclarationError(
            f"the model {label}",
            "its forward makes Python numbers of values that depend on the input, to branch on them for instance",
            "move that into a submodule, which is measured then",
        )
    return record


def _guessed(model: nn.Module) -> torch.Tensor:
    first = next((module for module in model.modules() if next(module.parameters(recurse=False), None) is not None), None)
    if not isinstance(first, nn.Linear):
        raise DeclarationError(
            f"the model {type(model).__name__}", "which inputs it takes is not known", "pass some: read(model, inputs)"
        )
    generator = torch.Generator().manual_seed(0)
    return torch.randn(_GUESSED, first.in_features, generator=generator)


def _first(given: CallArguments) -> CallArguments:
    return next(part for _, part in given.parts(_MOST_INPUTS))


def _assembled(
    label: str, record: RunRecord, stretches: Sequence[StretchReading], generator: torch.Generator | None
) -> Reading:
    """Equal stretches together, each kind checked once."""
    kinds: dict[tuple[Any, ...], list[tuple[int, StretchReading]]] = {}
    for position, stretch in enumerate(stretches):
        kinds.setdefault(_kind_of(stretch), []).append((position, stretch))
    blocks, order = [], {}
    for number, group in enumerate(kinds.values()):
        for which, (position, _) in enumerate(group):
            order[position] = (number, which)
        blocks.append(_block(record, [stretch for _, stretch in group], generator))
    return Reading(label, tuple(blocks), tuple(order[position] for position in sorted(order)))


def _kind_of(stretch: StretchReading) -> tuple[Any, ...]:
    """What makes two stretches the same block of a model."""
    pattern = re.sub(r"(?<![^.])\d+(?![^.])", "*", _place(stretch))
    opaque = tuple((part.kind, part.reason) for part in stretch.opaque)
    shape = None if stretch.found is None else tuple((d.made.fan_in, d.fan_out) for d in stretch.found.dense)
    said = "" if stretch.layer is not None else _equation(stretch)
    return pattern, stretch.layer, opaque, shape, said


def _place(stretch: StretchReading) -> str:
    """The innermost module that has the dense layers and the unknown parts of a stretch, or else its norms."""
    names = [part.place or part.kind for part in stretch.opaque]
    if stretch.found is not None:
        names = names or [dense.name for dense in stretch.found.dense] or list(stretch.found.norms)
    names = names or [call.inside[-1].name for call in stretch.calls]
    split = [name.split(".") for name in dict.fromkeys(names)]
    shared = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return ".".join(shared) or ", ".join(".".join(parts) for parts in split)


def _equation(stretch: StretchReading) -> str:
    if stretch.layer is not None:
        text = stretch.layer.text
        return text if text.startswith("z' =") else f"z' = {text}"
    return "" if stretch.found is None else f"z' = {stretch.found.expression}"


def _block(record: RunRecord, group: Sequence[StretchReading], generator: torch.Generator | None) -> ReadBlock:
    first = group[0]
    places = tuple(map(_place, group))
    block = ReadBlock(
        place=common_name(places),
        places=places,
        form=first.layer,
        text=_equation(first),
        dense=tuple(map(_numbers, group)),
        activations=() if first.found is None else first.found.activations,
        norms=_common_norms(group),
        opaque=first.opaque,
        reason=first.reason,
        remarks=_remarks(group),
        spans=tuple(span_of(record, stretch) for stretch in group),
    )
    return block if block.form is None or generator is None else _checked(record, first, block, block.form, generator)


def _numbers(stretch: StretchReading) -> tuple[DenseNumbers, ...]:
    uses = () if stretch.found is None else stretch.found.dense
    return tuple(
        DenseNumbers(use.name, use.made.fan_in, use.fan_out, *variances(use), (use.C_W.name, use.C_b.name))
        for use in uses
    )


def _common_norms(group: Sequence[StretchReading]) -> tuple[str, ...]:
    found = [stretch.found.norms for stretch in group if stretch.found is not None]
    return tuple(common_name(names) for names in zip(*found, strict=True)) if found else ()


def _remarks(group: Sequence[StretchReading]) -> tuple[str, ...]:
    found = [stretch.found for stretch in group if stretch.found is not None]
    said = [remark for each in found for use in each.dense for remark in remarks(use)]
    if any(each.expression.atoms(BatchNorm) for each in found):
        said.append("the theory normalises by averages over a batch (train mode), not by running statistics")
    return tuple(dict.fromkeys(said))


def _checked(
    record: RunRecord, stretch: StretchReading, block: ReadBlock, form: Layer, generator: torch.Generator
) -> ReadBlock:
    """The block with what was compared; as something that stays measured where the theory is contradicted."""
    numbers = block.numbers[0]
    try:
        comparisons = compare(record, stretch, derive(form), numbers, generator)
    except (RuntimeError, SymresError) as error:
        reason = " ".join(str(error).split())[:120]
        return replace(block, remarks=(*block.remarks, f"not compared with random networks: {reason}"))
    for comparison in comparisons:
        if not comparison.agrees:
            reason = f"{comparison} in {comparison.networks} networks with random weights, so it is read wrongly"
            return replace(block, form=None, reason=reason)
    if not comparisons:
        return replace(block, remarks=(*block.remarks, "too narrow to be compared with random networks"))
    said = tuple(f"{comparison}, {comparison.networks} networks" for comparison in comparisons)
    return replace(block, checks=said, remarks=(*block.remarks, *_of_own_weights(record, stretch, form, numbers, generator)))


def _of_own_weights(
    record: RunRecord, stretch: StretchReading, form: Layer, numbers: dict[str, float], generator: torch.Generator
) -> list[str]:
    """A remark where the model's own weights do not act like independent draws."""
    K = record.mean_squares[stretch.entry]
    K = K if 0 < K < float("inf") else 1.0
    own, theory = own_kernel(record, stretch, K, generator), value_of(derive(form).kernel_map, K, numbers)
    assert stretch.found is not None
    width = min([record.values[stretch.exit].shape[-1], *(use.fan_out for use in stretch.found.dense)])
    if abs(own - theory) <= _FAR * (2 / width) ** 0.5 * abs(theory):
        return []
    return [f"its own weights make a kernel of {own:.4g} from Gaussian inputs, independent ones {theory:.4g}"]
