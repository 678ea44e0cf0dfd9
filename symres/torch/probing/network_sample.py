"""What one network shows of some inputs: arrays over its places, inputs and probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from ...activations.formula_parser import nearest
from ...core.errors import DeclarationError
from ..models.call_arguments import CallArguments
from ..models.choosing import ChosenModules, some_of
from ..models.keeping import first_line
from ..models.model_state import (
    active_dropout,
    first_nonfinite,
    input_changes,
    mixes_inputs,
    outputs_of,
    varies,
    where_passes_differ,
)
from ..models.observing import Site, names_of, sites_of
from .network_passes import (
    LossFunction,
    Passes,
    ReverseGraph,
    accurate,
    counts_inputs,
    no_fused_encoders,
    reverse_norms,
    tangent_norms,
)

PAIRED = 128  # inputs of which all pairs are compared: their number grows with the square


@dataclass(frozen=True)
class NetworkSample:
    """What one network shows.

    Args:
        names: of the places.
        sites: these places.
        start: where Jacobians begin.
        axes: what the axes of the tensor at each place are taken for.
        entries: N, the number of entries (features and positions) of one input at each place.
        arrays: by the names of measured numbers, averages over the entries of each input, shape (places, inputs):
            "kernel", "mean" and "token_cosine", nan with one position, and "loss", squared gradients of the loss, if
            there is one; "gram", (1/N) sum of products of two inputs, (places, pairs, pairs) for the first ``PAIRED``
            inputs; "apjn_forward" and "apjn_backward", (places, inputs, probes).
        forward_method: in words.
        backward_method: in words.
        output_entries: N_L; None where the output has no numbers for each input.
        dtype: of the tensor at the first place.
        notes: for the user.
    """

    names: tuple[str, ...]
    sites: tuple[Site, ...]
    start: str
    axes: tuple[str, ...]
    entries: tuple[int, ...]
    arrays: Mapping[str, np.ndarray]
    forward_method: str
    backward_method: str
    output_entries: int | None
    dtype: torch.dtype
    notes: tuple[str, ...]


def _statistics(tensor: torch.Tensor, size: int, has_features_first: bool) -> dict[str, np.ndarray]:
    """Averages over the entries of each input of a tensor, whose first axis counts inputs."""
    numbers = accurate(tensor.detach())
    rows = numbers.reshape(size, -1)
    features = numbers.movedim(1, -1) if has_features_first else numbers
    features = features.reshape(size, -1, features.shape[-1])
    gram = rows[:PAIRED] @ rows[:PAIRED].T / rows.shape[1]
    averages = {"kernel": rows.square().mean(dim=1), "mean": rows.mean(dim=1), "gram": gram}
    averages["token_cosine"] = _mean_cosine(features)
    return {name: average.cpu().numpy().astype(float) for name, average in averages.items()}


def _axes(tensor: torch.Tensor, module: nn.Module) -> tuple[str, bool]:
    """What the axes mean, and whether that of the features is the second one.

    Three axes are (inputs, channels, length) where the module there has one-dimensional convolutions; dense layers and
    norms of the last axis have the features there.
    """
    if tensor.ndim <= 2:
        return ("inputs, features" if tensor.ndim == 2 else "inputs"), False
    if tensor.ndim == 3:
        one = (nn.Conv1d, nn.ConvTranspose1d)
        channels = any(isinstance(part, one) for part in module.modules())
        return ("inputs, channels, positions", True) if channels else ("inputs, tokens, features", False)
    positions = ", ".join(["positions"] * (tensor.ndim - 2))
    if isinstance(module, nn.Linear) or len(getattr(module, "normalized_shape", ())) == 1:
        return f"inputs, {positions}, features", False
    return f"inputs, channels, {positions}", True


def _mean_cosine(features: torch.Tensor) -> torch.Tensor:
    """The mean cosine of two different rows of each matrix; the square of the sum of unit vectors has all of them."""
    count = features.shape[1]
    if count < 2 or features.shape[2] < 2:
        return torch.full((features.shape[0],), torch.nan, dtype=features.dtype)
    units = features / features.norm(dim=2, keepdim=True)
    return (units.sum(dim=1).square().sum(dim=1) - count) / (count * (count - 1))


@dataclass(frozen=True)
class Plan:
    """What is measured of every network.

    Args:
        probes: random directions for each Jacobian norm.
        exact: True: all directions; False: never; None: where there are no more of them than probes.
        start: the place where Jacobians begin; None: the input, or the first place if the inputs are integers.
        seed: of the signs.
        steps: called after every pass.
    """

    probes: int
    exact: bool | None
    start: str | None
    seed: int
    steps: Callable[[str], None]


@no_fused_encoders()
def sample_network(
    model: nn.Module,
    chosen: ChosenModules,
    arguments: CallArguments,
    loss: LossFunction | None,
    plan: Plan,
    stream: tuple[int, ...],
) -> NetworkSample:
    """Measure one network, prepared by ``kept``, on some inputs.

    Signs are drawn anew for each stream: the numbers of the network and of the part of the inputs.

    Raises:
        DeclarationError: the model does not take the inputs, no place is reached, or there is no such start.
    """
    notes: list[str] = []
    sites, axes, arrays, dtype, outputs = _visited(model, chosen, arguments, notes)
    names = names_of(sites)
    plan.steps("kernels")
    begin = _start(names, sites, arguments, plan.start)
    with input_changes(model) as changes:
        stochastic, coupled = varies(model, arguments, outputs), mixes_inputs(model)
    if changes:
        notes.append(f"{some_of([*changes])} changes the model's input in place: each pass was given a copy of it")
    if stochastic and not active_dropout(model):
        where = where_passes_differ(model, arguments)
        notes.append(f"passes on the same inputs differ from {where} on: numbers are averages over this randomness")
    passes = Passes(model, arguments, chosen, tuple(sites), begin, stochastic, coupled)
    is_finite = np.isfinite(arrays["kernel"]).all(axis=1)
    if not is_finite.all():
        broken = names[int(np.argmin(is_finite))]
        notes.append(f"numbers are not finite at {broken}: {first_nonfinite(model, arguments)}")
    rngs = [
        [np.random.default_rng((plan.seed, *stream, direction, probe)) for probe in range(plan.probes)]
        for direction in (0, 1)  # forward and backward: streams of signs
    ]
    if begin is not None:
        entries = axes[sites.index(begin)][1]
    else:
        assert arguments.differentiable is not None
        entries = arguments.differentiable.numel() // passes.size
    arrays["apjn_forward"], forward_method = _forward(passes, rngs[0], plan, entries)
    backward, gradients, backward_method, output_entries = _backward(passes, rngs[1], plan, loss, notes)
    arrays |= {"apjn_backward": backward} if gradients is None else {"apjn_backward": backward, "loss": gradients}
    is_hidden = np.isnan(backward).all(axis=(1, 2)) & is_finite
    if is_hidden.any() and not np.isnan(backward).all():
        place = names[int(np.argmax(is_hidden))]
        notes.append(f"no norms to the output from {place}: torch.no_grad or a checkpoint hides its gradients")
    return NetworkSample(
        names=tuple(names),
        sites=tuple(sites),
        start="input" if begin is None else names[sites.index(begin)],
        axes=tuple(words for words, _ in axes),
        entries=tuple(entries for _, entries in axes),
        arrays=arrays,
        forward_method=forward_method,
        backward_method=backward_method,
        output_entries=output_entries,
        dtype=dtype,
        notes=tuple(notes),
    )


def _visited(
    model: nn.Module, chosen: ChosenModules, arguments: CallArguments, notes: list[str]
) -> tuple[list[Site], list[tuple[str, int]], dict[str, np.ndarray], torch.dtype, list[torch.Tensor]]:
    """The places of a pass with their axes, entries and statistics, and what it returned."""
    size = arguments.size
    statistics: list[dict[str, np.ndarray]] = []
    axes: list[tuple[str, int]] = []
    dtypes: list[torch.dtype] = []
    outputs: list[torch.Tensor] = []
    left: dict[str, tuple[int, ...]] = {}

    def visit(site: Site, tensor: torch.Tensor) -> bool:
        if not counts_inputs(tensor, size):
            left[site.module] = tuple(tensor.shape)
            return False
        words, has_features_first = _axes(tensor, chosen.modules[site.module])
        axes.append((words, tensor.numel() // size))
        statistics.append(_statistics(tensor, size, has_features_first))
        dtypes.append(tensor.dtype)
        return True

    def run() -> None:
        outputs.extend(outputs_of(model, arguments))

    sites = sites_of(chosen, run, visit)
    for name, shape in left.items():
        notes.append(f"{name} is left out: its shape {shape} does not begin with the number of inputs, {size}")
    seen = {*left, *(site.module for site in sites)}
    unseen = [name for name in chosen.modules if name not in seen]
    if not sites:
        raise DeclarationError(
            f"signals in {type(model).__name__}",
            "none of the chosen modules gives a tensor with numbers for each input",
            "choose other modules; the first axis of inputs counts them",
        )
    if unseen:
        notes.append(f"no tensor comes from {', '.join(unseen)}: not called in this pass, or its output has no numbers")
    arrays = {name: np.stack([of_place[name] for of_place in statistics]) for name in statistics[0]}
    return sites, axes, arrays, dtypes[0], outputs


def _start(names: list[str], sites: list[Site], arguments: CallArguments, start: str | None) -> Site | None:
    """The place where Jacobians begin; None for the input."""
    if start is None or start == "input":
        if arguments.differentiable is not None:
            return None
        if start is None:
            return sites[0]
        raise DeclarationError("start='input'", "the inputs are integers", f"begin at a place such as {names[0]!r}")
    if start not in names:
        guess = nearest(start, names) or f"the places are {', '.join(names)}"
        raise DeclarationError(f"start={start!r}", "the model has no place of this name", guess)
    return sites[names.index(start)]


def _forward(passes: Passes, rngs: list[np.random.Generator], plan: Plan, entries: int) -> tuple[np.ndarray, str]:
    """The norms from the start, which has so many entries of one input, and how they were found."""
    directions_there = passes.directions(entries)
    exact = plan.exact or (plan.exact is None and directions_there <= plan.probes)
    also = "; with derivatives by the other inputs of the batch, of order 1/inputs" if passes.coupled else ""
    directions = f"all {directions_there} directions" if exact else f"{plan.probes} random directions"
    try:
        norms = []
        for rng in rngs[:1] if exact else rngs:
            norms.append(passes.table())
            for position in range(directions_there) if exact else [None]:
                norms[-1] += tangent_norms(passes, rng, position)
                plan.steps("forward")
        return np.stack(norms, axis=2), f"forward-mode derivatives along {directions}{also}"
    except (NotImplementedError, RuntimeError) as error:
        if isinstance(error, torch.cuda.OutOfMemoryError):
            raise
        said = first_line(error)
    norms = []
    for rng in rngs[:1] if plan.exact else rngs:
        norms.append(reverse_norms(passes, rng, bool(plan.exact)))
        plan.steps("forward")
    directions = "from all entries" if plan.exact else f"from {plan.probes} random cotangents"
    because = f"because forward mode failed ({said})"
    return np.stack(norms, axis=2), f"reverse-mode derivatives {directions} of each place{also}, {because}"


def _backward(
    passes: Passes, rngs: list[np.random.Generator], plan: Plan, loss: LossFunction | None, notes: list[str]
) -> tuple[np.ndarray, np.ndarray | None, str, int | None]:
    """The norms to the output, squared gradients of the loss, how the norms were found, and N_L."""
    graph, gradients, entries = ReverseGraph(passes), None, None
    if loss is not None:
        gradients = graph.loss_gradients(loss)
        plan.steps("backward")
    if graph.output is not None:
        entries = graph.output.numel() // passes.size
    if entries is None or graph.output is None or not graph.output.requires_grad:
        notes.append("the output is not differentiable with respect to any place, so that there are no backward norms")
        return passes.table(np.nan)[:, :, None], gradients, "none: the output is not differentiable", entries
    all_of_them = passes.directions(entries)
    exact = plan.exact or (plan.exact is None and all_of_them <= plan.probes)
    norms: list[np.ndarray] = []
    for rng in rngs[:1] if exact else rngs:
        if passes.stochastic and norms:
            graph = ReverseGraph(passes)
        assert graph.output is not None
        total = passes.table()
        for position in range(all_of_them) if exact else [None]:
            total += graph.gradients(graph.output, passes.direction(position, rng, graph.output))
        norms.append(total / entries)
        plan.steps("backward")
    also = "; with derivatives of the other inputs of the batch, of order 1/inputs" if passes.coupled else ""
    directions = f"all {all_of_them} entries" if exact else f"{plan.probes} random cotangents"
    method = f"reverse-mode derivatives from {directions} of the output{also}"
    return np.stack(norms, axis=2), gradients, method, entries


def joined(parts: Sequence[NetworkSample]) -> NetworkSample:
    """One sample of all inputs from samples of parts; pairs of inputs are those inside of the parts."""
    first = parts[0]
    if any(part.names != first.names for part in parts):
        raise DeclarationError(
            "parts of the inputs", "the model calls different modules in each of them", "measure with batch_size=None"
        )
    names = first.arrays.keys() - {"gram"}
    arrays = {name: np.concatenate([part.arrays[name] for part in parts], axis=1) for name in names}
    sizes = [part.arrays["kernel"].shape[1] for part in parts]
    if "loss" in arrays:  # an average over its inputs: a part has its share of it
        arrays["loss"] *= np.repeat(np.array(sizes) / sum(sizes), sizes) ** 2
    blocks = [part.arrays["gram"] for part in parts]
    paired = min(PAIRED, sum(block.shape[1] for block in blocks))
    gram, begin = np.full((len(first.names), paired, paired), np.nan), 0
    for block in blocks:
        count = min(block.shape[1], paired - begin)
        gram[:, begin : begin + count, begin : begin + count] = block[:, :count, :count]
        begin += count
    arrays["gram"] = gram
    return replace(first, arrays=arrays, notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)))
