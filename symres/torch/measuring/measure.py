"""Kernels and Jacobian norms of a model at the places that a user means: one call."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from ...core.errors import DeclarationError
from ...core.progress import Progress, Steps, reported
from ...core.scalars import whole
from ..models.call_arguments import CallArguments, Inputs, converted, tensors
from ..models.choosing import ChosenModules, ModuleChoice, chosen_places
from ..models.keeping import device_of, first_line, in_train_mode, kept, seeded
from ..models.model_state import mixes_inputs, remarks_on
from ..probing.adam_step import LARGE, caution, changes_at_places
from ..probing.network_passes import Loss, loss_of_part
from ..probing.network_sample import NetworkSample, Plan, joined, sample_network
from .place_signals import (
    UNKNOWN,
    PlaceSignals,
    TheoryOfPlaces,
    average,
    average_of_pairs,
    error_of_directions,
    predictions_for,
    root_of_sums,
    units_of,
)
from .signals import Measurement

Model: TypeAlias = nn.Module | Callable[[], nn.Module]


def measure(
    model: Model,
    inputs: Inputs,
    modules: ModuleChoice = None,
    *,
    blocks: ModuleChoice = None,
    loss: Loss | None = None,
    targets: torch.Tensor | None = None,
    start: str | None = None,
    seeds: int = 1,
    seed: int = 0,
    probes: int = 8,
    exact: bool | None = None,
    mode: str | None = "eval",
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    batch_size: int | None = None,
    theory: TheoryOfPlaces | None = None,
    progress: bool | Progress = True,
) -> Measurement:
    """Measure kernels, cosines and averaged partial Jacobian norms (APJN) of a model, place by place.

    The kernel of a place is the mean square of its tensor over features and positions, of each input. The forward APJN
    is ``(1/N_l) sum_ij (dh^l_i/dh^0_j)^2`` from the start to the place, the backward one ``(1/N_L) sum_ij
    (dh^L_i/dh^l_j)^2`` from the place to the output; i and j run over all entries (features and positions) of one
    input, N_l and N_L count those of the place and of the output. Averages are taken over inputs, and over networks if
    there are several. Norms come from random directions with entries +-1 (Hutchinson), or from all directions. The
    change of a place is that of one step of Adam at 1e-3 on these inputs and random targets, in norm and relative.

    Args:
        model: an ``nn.Module``, measured with its present weights; or a function without arguments that builds one:
            then ``seeds`` networks are drawn, each after ``torch.manual_seed(seed + k)``.
        inputs: a tensor, a tuple (arguments by position) or a mapping (by name); the first axis counts the inputs.
        modules: where to measure, at what leaves these modules: types, patterns of names ("h.*"), or a function of name
            and module (see ``choose_modules``). None: what enters and leaves each residual block, the repeated modules
            of containers; without these, what leaves each dense or convolutional layer.
        blocks: instead of ``modules``: residual blocks, chosen in the same way; what enters them is a place, too.
        loss: "mse" or "cross_entropy" with ``targets``, or a function of what the model returns, a mean over the
            inputs; its gradient at each place is measured.
        targets: for a loss given by name.
        start: the place where forward Jacobians begin; None: the input, that is its first tensor of floating-point
            numbers, or the first place where the inputs are integers.
        seeds: number of networks; more than 1 needs a function that builds them.
        seed: of networks, masks of dropout and random directions.
        probes: random directions for each Jacobian norm.
        exact: True: all directions instead of random ones, one pass for each entry of the start and one for each entry
            of the output; False: never; None: where that takes no more passes than ``probes``.
        mode: "eval", "train", or None: as it is. In train mode batch normalisation makes inputs depend on each other;
            each input has signs of its own, so that derivatives by other inputs add their squares only, of order
            1/inputs.
        dtype: convert weights and inputs, such as ``torch.float64``; None: as they are.
        device: where to measure; None: where the model is.
        batch_size: inputs in one pass; None: all of them, and half as many after each failure for lack of memory.
        theory: what to compare with, one entry for each place (see ``predictions_for``).
        progress: whether a bar is shown, or a function that is told what is being done and which share is done.

    Returns:
        What was found. The model and the random numbers of the process are as before, also after an exception; weights
        are copied meanwhile, and their gradients are taken once.

    Raises:
        DeclarationError: an argument cannot be used, or the model does not take the inputs.

    Warns:
        UserWarning: dropout is active, passes on the same inputs differ for another reason, inputs or observed tensors
            are changed in place, numbers are not finite, a module is not called, one step of Adam changes a place by
            more than its own size; each names the module.

    Source:
        Doshi et al. (3), section 2.

    Examples:
        A layer that doubles its inputs:

        >>> layer = torch.nn.Linear(4, 4, bias=False)
        >>> layer.weight.data = 2*torch.eye(4)
        >>> measured = st.measure(torch.nn.Sequential(layer), torch.ones(3, 4), progress=False)
        >>> measured["0"].kernel, measured["0"].apjn_forward, measured["0"].apjn_backward
        (4.0, 4.0, 1.0)
    """
    networks, directions = whole(seeds, "seeds", 1), whole(probes, "probes", 1)
    first_seed, train = whole(seed, "seed", 0), in_train_mode(mode)
    _check(model, networks, dtype)
    arguments = CallArguments.of(inputs)
    most = arguments.size if batch_size is None else min(arguments.size, whole(batch_size, "batch_size", 1))
    where = None if device is None else torch.device(device)
    samples: list[NetworkSample] = []
    notes: list[str] = []
    with reported(progress, "measuring") as report:
        for number in range(networks):

            def done(what: str, share: float, number: int = number) -> None:
                report(f"{what}, network {number + 1} of {networks}", (number + share) / networks)

            plan = Plan(directions, exact, start, first_seed, Steps(done, 2 * directions + 1))
            with seeded(first_seed + number, where):
                built = _built(model)
                target = device_of(built, next(tensors(arguments.structure))) if where is None else where
                if not samples:
                    peak = watched_memory(target)
                moved = arguments.map(partial(converted, dtype=dtype, device=target))
                weights = [parameter for parameter in built.parameters() if parameter.requires_grad]
                with kept(built, train=train, dtype=dtype, device=where):
                    notes += remarks_on(built)
                    chosen = chosen_places(built, modules, blocks)
                    most, sample = _sample(built, chosen, moved, (loss, targets), plan, number, most)
                    parts = [part for _, part in moved.parts(most)]
                    sample = _with_adam_step(sample, built, chosen, parts, weights, first_seed + number)
            if samples and sample.names != samples[0].names:
                raise DeclarationError(
                    f"{networks} networks", "their modules have different names", "build the same model each time"
                )
            samples.append(sample)
            notes += sample.notes
    places = tuple(_place(samples, row) for row in range(len(samples[0].names)))
    large = [(float(place.adam_change), place.name) for place in places if place.adam_change > LARGE]
    if large:
        change, name = max(large)
        notes.append(caution(name, change))
    remarks = tuple(dict.fromkeys(notes))
    for remark in remarks:
        warnings.warn(remark, UserWarning, stacklevel=2)
    first = samples[0]
    return Measurement(
        places=places,
        start=first.start,
        networks=networks,
        inputs=arguments.size,
        probes=directions,
        forward_method=first.forward_method,
        backward_method=first.backward_method,
        mode=mode or "as it is",
        dtype=str(first.dtype).removeprefix("torch."),
        device=str(target),
        errors_over="networks" if networks > 1 else "inputs" if arguments.size > 1 else "probes",
        output_entries=first.output_entries,
        peak_bytes=peak(),
        notes=remarks,
        theory=() if theory is None else predictions_for(first.names, theory),
    )


def _check(model: Model, networks: int, dtype: torch.dtype | None) -> None:
    """Refuse numbers that are not floating-point numbers, and several networks of a model with one draw of weights."""
    if dtype is not None and not dtype.is_floating_point:
        raise DeclarationError(
            f"dtype={dtype}", "weights have to be floating-point numbers", "use torch.float32, float64 or bfloat16"
        )
    if isinstance(model, nn.Module) and networks > 1:
        raise DeclarationError(
            f"{networks} networks of {type(model).__name__}",
            "a model holds a single draw of its weights, and symres cannot draw them anew",
            "pass a function that builds it: measure(lambda: Net(...), inputs, seeds=30)",
        )


def _built(model: Model) -> nn.Module:
    """The model, or what the function of the user builds."""
    if isinstance(model, nn.Module):
        return model
    if not callable(model):
        raise DeclarationError(
            f"a model of the type {type(model).__name__}",
            "it is not an nn.Module",
            "pass an nn.Module, or a function that builds one",
        )
    built = model()
    if not isinstance(built, nn.Module):
        raise DeclarationError(
            "the function that builds the model",
            f"it returned an object of the type {type(built).__name__}",
            "return an nn.Module",
        )
    return built


def _sample(
    model: nn.Module,
    chosen: ChosenModules,
    arguments: CallArguments,
    loss: tuple[Loss | None, torch.Tensor | None],
    plan: Plan,
    number: int,
    most: int,
) -> tuple[int, NetworkSample]:
    """One network in parts of at most ``most`` inputs, or of fewer where memory is short."""
    size = arguments.size
    if most < size and mixes_inputs(model):
        raise DeclarationError(
            f"parts of {most} inputs", "batch normalisation averages over all inputs", "use batch_size=None"
        )
    while True:
        try:
            parts = []
            for position, (part, arguments_of_part) in enumerate(arguments.parts(most)):
                judged = loss_of_part(*loss, part, size)
                parts.append(sample_network(model, chosen, arguments_of_part, judged, plan, (number, position)))
            return most, joined(parts)
        except torch.cuda.OutOfMemoryError:
            if most == 1 or mixes_inputs(model):
                raise
            most = (most + 1) // 2


def _with_adam_step(
    sample: NetworkSample,
    model: nn.Module,
    chosen: ChosenModules,
    parts: list[CallArguments],
    weights: list[nn.Parameter],
    seed: int,
) -> NetworkSample:
    """The sample with what one step of Adam does to its places, "adam_change" of shape (places, 1); nan if unknown."""
    changes, notes = [math.nan] * len(sample.names), sample.notes
    try:
        changes = changes_at_places(model, chosen, sample.sites, parts, weights, seed)
    except RuntimeError as error:  # operations without derivatives, or memory too small for them
        notes = (f"the change by one step of Adam could not be computed: {first_line(error)}", *notes)
    return replace(sample, arrays={**sample.arrays, "adam_change": np.array(changes)[:, None]}, notes=notes)


def _place(samples: list[NetworkSample], row: int) -> PlaceSignals:
    """One place of all networks."""
    arrays = {name: np.stack([sample.arrays[name][row] for sample in samples]) for name in samples[0].arrays}
    gram, squared = arrays["gram"], arrays.get("loss")
    lengths = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = gram / (lengths[:, :, None] * lengths[:, None, :])
    names = ("kernel", "apjn_forward", "apjn_backward")
    units = {name: units_of(arrays[name]) for name in names}
    if squared is not None:
        units["gradient_norm"] = np.sqrt(squared.sum(axis=1))
    return PlaceSignals(
        name=samples[0].names[row],
        axes=samples[0].axes[row],
        entries=samples[0].entries[row],
        **{name: average(arrays[name]) for name in (*names, "mean", "token_cosine", "adam_change")},
        cosine=average_of_pairs(cosines),
        covariance=average_of_pairs(gram),
        gradient_norm=UNKNOWN if squared is None else root_of_sums(squared),
        gram=gram.mean(axis=0),
        units=units,
        errors_given_inputs={"kernel": 0.0, "token_cosine": 0.0}
        | {name: error_of_directions(arrays[name]) for name in names[1:]},
    )


def watched_memory(device: torch.device) -> Callable[[], int | None]:
    """Begin to watch.

    Returns:
        A function that returns the bytes at the peak since then: of an accelerator's tensors, those beyond what was
        allocated before; of the process on a CPU, the growth of its largest resident size. None where that is unknown:
        the process had been larger before.
    """
    if device.type == "cuda":
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        return lambda: int(torch.cuda.max_memory_allocated(device) - before)
    largest = _largest()
    return lambda: (_largest() - largest) or None


def _largest() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
