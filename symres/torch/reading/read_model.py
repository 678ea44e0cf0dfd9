"""A model as layers of the theory: one call. Equal stretches are put together, and compared with random networks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
import torch
from torch import nn

from ...core.errors import SymresError
from ...core.words import abbreviated
from ...layers.normalisation import BatchNorm
from ..equations.formula_values import remarks, variances
from ..equations.layering import StretchReading, read_stretches
from ..models.call_arguments import CallArguments, Inputs
from ..models.choosing import block_finder, enclosing_module
from ..models.keeping import on_one_line, required_module
from ..tracing.recording import inputs_or_guess, widest_run
from ..tracing.run_record import ModuleCall, RunRecord, stream_steps
from .model_reading import Reading
from .read_block import DenseNumbers, ReadBlock, StretchPlaces, common_name, layer_value
from .weight_checks import RandomStretch, unlike_draws
from .weight_sharing import shared_weights

_MOST_INPUTS = 16  # that are run
_GUESSED = 4  # random inputs where none are given
_LONG = 10**6  # denominators of decimals that nobody typed
_LONGEST = 600  # characters of an equation that nothing is derived from
_UNIFORM = "with rotary positions, random networks were compared where all keys weigh alike (queries of zero)"
_FAR = 6.0  # standard deviations of an average over squares of n weights


def read(model: nn.Module, inputs: Inputs | None = None, *, check: bool = True, seed: int = 0) -> Reading:
    """Which layers of the theory a model is made of.

    The model is run once on the inputs, in evaluation mode and in float64. The calls of PyTorch's functions on what
    depends on the input are cut where the whole stream goes through one tensor, and read as forward equations: dense
    layers and convolutions, activations, LayerNorm, RMSNorm, BatchNorm, sums, factors, gates, slices of one dense layer
    for value and gate, attention, pools over all positions. Whatever is not read stays measured and is named with its
    place in the code. Each layer is compared with networks of random weights before it is believed.

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
    label = type(model).__name__
    with widest_run(model, arguments, seed) as (_, record):
        steps = stream_steps(record, record.required_output(label))
        stretches = read_stretches(record, steps, block_finder(model), positions=True)
        generator = torch.Generator().manual_seed(seed) if check else None
        groups: dict[tuple[Any, ...], list[StretchReading]] = {}  # equal stretches together
        order = []
        for stretch in stretches:
            group = groups.setdefault(kind := _kind_of(stretch), [])
            order.append((list(groups).index(kind), len(group)))
            group.append(stretch)
        blocks = tuple(_block(record, group, generator) for group in groups.values())
        shared, notes = shared_weights(record, [stretch for stretch in stretches if stretch.layer is not None])
        return Reading(label, blocks, tuple(order), notes, shared)


def _kind_of(stretch: StretchReading) -> tuple[Any, ...]:
    """What makes two stretches the same block of a model."""
    pattern = re.sub(r"(?<![^. ])\d+(?![^.,])", "*", _place(stretch))
    opaque = tuple((part.kind, part.reason) for part in stretch.opaque)
    equation = stretch.equation
    shape = None if equation is None else tuple((d.made.fan_in, d.fan_out) for d in equation.dense)
    scores = None if equation is None else tuple(use.key for use in equation.attention)
    windows = None if equation is None else tuple(use.window for use in equation.dense)
    said = "" if stretch.layer is not None else _equation(stretch)
    return pattern, stretch.layer, opaque, shape, scores, windows, said


def _place(stretch: StretchReading) -> str:
    """The innermost module that has the dense layers and the unknown parts of a stretch, or else its norms."""
    names = [part.place or part.kind for part in stretch.opaque]
    if stretch.equation is not None:
        names = names or [dense.name for dense in stretch.equation.dense] or list(stretch.equation.norms)
    return enclosing_module(names or [call.inside[-1].name for call in stretch.calls])


def _equation(stretch: StretchReading) -> str:
    """The forward equation; decimals of many digits are rounded, and what is no layer is cut where it is long."""
    if stretch.equation is None:
        return ""
    long = {r: sp.Float(r, 6) for r in stretch.equation.expression.atoms(sp.Rational) if r.q > _LONG and r.p != 1}
    if stretch.layer is not None and not long:
        return f"z' = {stretch.layer.text}"
    text = abbreviated(stretch.equation.expression.xreplace(long), _LONGEST)
    return f"z' = {text}"


def _block(record: RunRecord, group: Sequence[StretchReading], generator: torch.Generator | None) -> ReadBlock:
    """Equal stretches as one block, compared with random networks if a generator is given."""
    first = group[0]
    places = tuple(map(_place, group))
    norms = [stretch.equation.norms for stretch in group if stretch.equation is not None]
    block = ReadBlock(
        place=common_name(places),
        places=places,
        form=first.layer,
        text=_equation(first),
        dense=tuple(map(_numbers, group)),
        activations=() if first.equation is None else first.equation.activations,
        norms=tuple(common_name(names) for names in zip(*norms, strict=True)),
        attention=() if first.equation is None else first.equation.attention,
        windows=() if first.equation is None else tuple(use.window for use in first.equation.dense),
        opaque=first.opaque,
        reason=first.reason,
        is_gaussian=first.is_gaussian,
        remarks=_remarks(group),
        spans=tuple(span_of(record, stretch) for stretch in group),
    )
    return block if block.form is None or generator is None else _checked(record, group, block, generator)


def _numbers(stretch: StretchReading) -> tuple[DenseNumbers, ...]:
    uses = () if stretch.equation is None else stretch.equation.dense
    return tuple(
        DenseNumbers(use.name, use.made.fan_in, use.fan_out, *variances(use), (use.C_W.name, use.C_b.name))
        for use in uses
    )


def _remarks(group: Sequence[StretchReading]) -> tuple[str, ...]:
    """What the theory leaves out of the weights and norms of equal stretches, with the names of the modules."""
    equations = [stretch.equation for stretch in group if stretch.equation is not None]
    names: dict[str, list[str]] = {}
    for use in (use for each in equations for use in each.dense):
        for remark in remarks(use):
            names.setdefault(remark, []).append(use.name)
    said = [f"{common_name(list(dict.fromkeys(those)))}: {remark}" for remark, those in names.items()]
    if any(each.expression.atoms(BatchNorm) for each in equations):
        said.append("the theory normalises by averages over a batch (train mode), not by running statistics")
    return tuple(said)


def _checked(
    record: RunRecord, group: Sequence[StretchReading], block: ReadBlock, source: torch.Generator
) -> ReadBlock:
    """The block with what was compared; as something that stays measured where the theory is contradicted."""
    assert block.form is not None
    numbers = block.numbers[0]
    K = record.mean_squares[group[0].entry]
    K = K if 0 < K < float("inf") else 1.0
    try:
        network = RandomStretch(record, group[0], source)
        comparisons = network.compared(block.form, K, numbers)
    except (RuntimeError, SymresError) as error:
        reason = on_one_line(error, 120)
        return replace(block, remarks=(*block.remarks, f"not compared with random networks: {reason}"))
    for comparison in comparisons:
        if not comparison.agrees:
            reason = f"{comparison} in {comparison.networks} networks with random weights, so that it is not this layer"
            return replace(block, form=None, reason=reason)
    if not comparisons:
        why = "too narrow" if network.is_narrow else "without a formula"
        return replace(block, remarks=(*block.remarks, f"{why} to be compared with random networks"))
    checks = tuple(f"{comparison}, {comparison.networks} networks" for comparison in comparisons)
    if block.form.program.has_positions:
        said = [_UNIFORM] if any(use.rope is not None for use in block.attention) else []
        return replace(block, checks=checks, remarks=(*block.remarks, *said))
    unlike, remarks_on_draws = unlike_draws(record, group, block)
    kernel, theory = network.own_kernel(K), layer_value(block.form, "kernel_map", K, numbers)
    width = min([record.values[group[0].exit].shape[-1], *(use.fan_out for use in network.uses)])
    if abs(kernel - theory) > _FAR * (2 / width) ** 0.5 * abs(theory):
        remark = f"on Gaussian inputs its own weights give the kernel {kernel:.4g}, independent weights {theory:.4g}"
        remarks_on_draws = (remark, *remarks_on_draws)
    return replace(block, checks=checks, remarks=(*block.remarks, *remarks_on_draws), unlike_draws=unlike)


_KERNELS = 16  # shares of positions


def span_of(record: RunRecord, stretch: StretchReading) -> StretchPlaces:
    """The places of a stretch, and the kernels at the first."""
    equation = stretch.equation
    dense = () if equation is None else equation.dense
    before, after = (-1, -1) if equation is None else (equation.entry_axis or -1, equation.axis or -1)
    shape = list(record.values[stretch.entry].shape)
    inputs, outputs = int(shape.pop(before)), int(record.values[stretch.exit].shape[after])
    entry = place_of(record, stretch.entry)
    inner = [use.fan_out for use in dense]
    if outputs in inner:  # the dense layer that makes the exit: nothing averages over its neurons
        inner.remove(outputs)
    if entry != "input" or (equation is not None and equation.norms):  # what is given does not fluctuate
        inner.append(inputs)
    return StretchPlaces(
        entry=entry,
        exit=place_of(record, stretch.exit),
        kernels=_kernels(record, stretch.entry, before),
        width=min(inner, default=max(inputs, outputs)),
        inputs=inputs,
        outputs=outputs,
        axis=before,
        positions=tuple(shape[1:]),
    )


def place_of(record: RunRecord, number: int) -> str:
    """The place at which a stream value can be observed: it leaves a module, or enters one; empty if neither."""
    times = Counter(call.name for call in record.left)

    def called_once(calls: Mapping[ModuleCall, int]) -> list[str]:
        return [call.name for call, value in calls.items() if value == number and call.name and times[call.name] == 1]

    places = called_once(record.left)
    places += ["input"] if number == 0 else []
    places += [f"input of {name}" for name in called_once(record.entered)]
    return places[0] if places else ""


def _kernels(record: RunRecord, number: int, axis: int) -> tuple[float, ...]:
    """Means of the mean square over the neurons, of equal shares of positions in order of size.

    Their mean is that of all, also where the number of positions is no multiple of that of shares: a position then
    belongs to two of them.
    """
    tensor = record.values[number].detach()
    if not tensor.is_floating_point() or number in record.overwritten:
        return ()
    squares = np.sort(tensor.square().mean(dim=axis).reshape(-1).double().cpu().numpy())
    shares = min(_KERNELS, len(squares))
    ends = np.linspace(0, len(squares), shares + 1)
    sums = np.interp(ends, np.arange(len(squares) + 1), np.concatenate([[0.0], np.cumsum(squares)]))
    return tuple(map(float, np.diff(sums) / np.diff(ends)))
