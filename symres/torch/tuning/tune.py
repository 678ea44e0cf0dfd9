"""Rescaling the residual blocks, or the layers, of a model in place: one call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TypeVar

from torch import nn

from ...core.errors import DeclarationError
from ...core.progress import Progress, Steps, reported
from ...core.scalars import Number, number, whole
from ..models.call_arguments import CallArguments, Inputs, tensors
from ..models.choosing import ModuleChoice, choose_modules, dense_layers, residual_blocks
from ..models.keeping import device_of, in_train_mode, kept, required_module, seeded
from ..models.model_state import (
    active_dropout,
    first_without_gradients,
    remarks_on,
    varies,
    where_passes_differ,
    without_gradients,
)
from .tuned_places import TunedPlace, layer_places, residual_places, sums_in
from .tuning_loop import tuned_parts
from .tuning_report import TuningReport
from .tuning_samples import left_out_in_turn
from .weight_conditions import TunedWeight, TuningPlan, TuningTarget

_Choice = TypeVar("_Choice", bound=Enum)


def tune_(
    model: nn.Module,
    inputs: Inputs,
    blocks: ModuleChoice = None,
    *,
    layers: ModuleChoice = None,
    target: str = "gradient",
    unknown: str = "xi",
    gamma: Number | None = None,
    xi: Number | None = None,
    growth: Number = 1,
    kernel: Number | None = None,
    branch_weight: str | None = None,
    skip_weight: str | None = None,
    wrap: bool = False,
    probes: int = 16,
    seed: int = 0,
    mode: str | None = "eval",
    dry_run: bool = False,
    progress: bool | Progress = True,
) -> TuningReport:
    """Rescale residual blocks that are black boxes, in place, so that kernels or gradients keep their size.

    A block is ``z' = gamma z + xi R(z)``, with R its branch as it is found (PDLT (B.39)). Block by block, on the stream
    that the tuned blocks before it give, sizes and Jacobian of z and R are measured and the condition is solved:

    - target "size": the mean square of the stream, ``(1 - gamma^2) G_zz = xi^2 G_RR + 2 gamma xi G_Rz`` (PDLT (B.45));
    - target "gradient": ``chi = gamma^2 + 2 gamma xi J_R1 + xi^2 J_RR = 1``, with chi the squared norm of the Jacobian
      of the block per neuron, J_RR that of the branch and J_R1 the trace of the branch's Jacobian per neuron;
    - target "apjn": the APJN from the first block to each later one, ``(1/n) |u|^2`` averaged over perturbations u that
      enter the first block with entries +-1: (B.45) with u in the place of z. In a stack of blocks whose Jacobians are
      independent it is what "gradient" keeps; ReLU behind the sum, for one, makes them dependent;
    - target "both": "size" and "gradient", for gamma and xi. On a Gaussian stream ``G_Rz = G_zz J_R1`` (Stein), which
      leaves only a branch of weight 0, unless ``G_RR = G_zz J_RR``; a block without a solution is refused by name.

    The first keeps kernels and says nothing about gradients, the second keeps gradients and says nothing about
    kernels; the report tells for each block what became of either. At gamma = 1 and growth = 1 only a branch of weight
    0 keeps anything: such blocks need a smaller gamma (an attribute of the block, or ``wrap``), or a growth.

    A module that is chosen may be a whole block, or one of several branches that a block adds to its stream one after
    the other ("h.*.mlp"). Layers without skip connections are rescaled instead where the model has no residual blocks
    or ``layers`` are given: their weights get the factor that makes chi from the layer before 1 ("gradient"), or the
    kernel what is asked for ("size"), or their weights get the first and their biases the second one ("both").

    Args:
        model: is changed in place; nothing is changed if anything fails.
        inputs: a tensor, a tuple (arguments by position) or a mapping (by name); the first axis counts the inputs.
        blocks: residual blocks or branches: types, patterns of names, or a function (see ``choose_modules``); None: the
            repeated modules of containers that have a skip connection.
        layers: dense or convolutional layers to be rescaled, chosen likewise, instead of blocks.
        target: "size", "gradient", "apjn" or "both".
        unknown: "xi" or "gamma": the weight that is solved for, the other one being given. Of blocks only.
        gamma: the weight of the stream where xi is solved for; None: as it is.
        xi: the weight of the branch, relative to the branch as it is, where gamma is solved for; None: 1.
        growth: the factor by which the kernel ("size"), or the squared gradient, may grow over all blocks or layers
            together, the same in each; 1 keeps it.
        kernel: of layers: what "size" and "both" give to each layer, and "gradient" to the first one; None: the kernel
            of the first layer as it is.
        branch_weight: the name, in a block, of what scales its branch: a layer (its weight and bias) or an attribute
            ("xi", "layer_scale.gamma"). None: the last module whose parameters scale the branch exactly, as a run on
            halved parameters shows; the last layer, or the normalisation behind it.
        skip_weight: the name, in a block, of a number that multiplies its stream ("gamma").
        wrap: put each block into a ``ScaledBlock`` with weights gamma and xi. Keys of the state dictionary then have
            ".block" in them.
        probes: random directions for each Jacobian norm, before and after; four times as many for the tuning itself.
        seed: of the directions.
        mode: "eval", "train" or None (as it is), while measuring. Batch normalisation that has not seen data has no
            statistics for "eval": use "train"; Jacobians are then those of the whole batch, in which derivatives by
            other inputs are of order 1/inputs, and errors are found by leaving out some of the inputs in turn.
        dry_run: only measure and solve; nothing is changed.
        progress: whether a bar is shown, or a function that is told what is being done and which share is done.

    Returns:
        Before and after for each block or layer, with standard errors. After ``wrap=True`` on a model that is itself
        the block, ``report.model`` is the wrapped one.

    Raises:
        DeclarationError: an argument cannot be used, no module is meant, or a block cannot be tuned; it is named.

    Warns:
        UserWarning: what is to be known about the model in this mode.

    Source:
        PDLT B.4, (B.38) to (B.45); chi: Doshi et al. (3) for one block.

    Examples:
        Branches of a quarter of the stream's mean square, orthogonal to it: kernels double in each of two
        blocks at ``1 + xi^2/4 = 2``.

        >>> class Block(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layer = torch.nn.Linear(16, 16, bias=False)
        ...         self.layer.weight.data = torch.eye(16).roll(1, 0)/2
        ...     def forward(self, x):
        ...         return x + self.layer(x)
        >>> model = torch.nn.Sequential(Block(), Block())
        >>> report = st.tune_(model, 4*torch.eye(16), target="size", growth=4, progress=False)
        >>> round(report.parts[0].xi, 6), model[0].layer.weight.max().item()
        (2.0, 1.0)
    """
    required_module(model)
    plan = TuningPlan(
        target=_choice(TuningTarget, target, "target"),
        unknown=_choice(TunedWeight, unknown, "unknown"),
        gamma=None if gamma is None else float(number(gamma, "gamma")),
        xi=None if xi is None else float(number(xi, "xi")),
        growth=_positive(growth, "growth"),
        kernel=None if kernel is None else _positive(kernel, "kernel"),
        branch_weight=branch_weight,
        skip_weight=skip_weight,
        wrap=wrap,
        probes=whole(probes, "probes", 2),
        seed=whole(seed, "seed", 0),
        steps=Steps(),
    )
    for name, weight in (("gamma", plan.gamma), ("xi", plan.xi)):
        if weight is not None and (plan.target is TuningTarget.BOTH or name == unknown):
            asked = f"{name} = {weight:g}"
            raise DeclarationError(asked, "it is solved for", "leave it out, or choose another unknown")
    if blocks is not None and layers is not None:
        raise DeclarationError("blocks and layers", "only one of them can be tuned in a call", "pass one of them")
    train = in_train_mode(mode)
    arguments = CallArguments.of(inputs)
    device = device_of(model, next(tensors(arguments.structure)))
    arguments = arguments.map(lambda tensor: tensor.detach().to(device))
    with (
        reported(progress, "tuning") as plan.steps.report,
        seeded(plan.seed, device),
        kept(model, train=train, dtype=None, device=None),
        _gradients_named(model, arguments),
    ):
        places, left_out = _places(model, blocks, layers, arguments, plan)
        notes = (*remarks_on(model), *left_out)
        if varies(model, arguments):
            raise _varying(model, arguments)
        plan.steps.count = (3 + 2 * len(left_out_in_turn(model, arguments.size))) * len(places)
        changes, parts = tuned_parts(model, places, arguments, plan)
    changed = model
    for change in changes if not dry_run else ():
        changed = change.apply(changed)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return TuningReport(
        tuple(parts), target, not dry_run, changed, arguments.size, plan.probes, mode or "as it is", notes
    )


@contextmanager
def _gradients_named(model: nn.Module, arguments: CallArguments) -> Iterator[None]:
    """Around passes with gradients: where an operation in place makes them impossible, its module is named."""
    try:
        yield
    except DeclarationError as failed:
        error = failed.__cause__
        if isinstance(error, RuntimeError) and first_without_gradients(model, arguments):
            raise without_gradients(model, arguments, error) from error
        raise


def _varying(model: nn.Module, arguments: CallArguments) -> DeclarationError:
    asked = f"the tuning of {type(model).__name__}"
    if dropping := active_dropout(model):
        return DeclarationError(asked, f"dropout is active in {', '.join(dropping[:4])}", "use mode='eval'")
    reason = f"passes on the same inputs differ from {where_passes_differ(model, arguments)} on"
    return DeclarationError(asked, reason, "switch off its randomness, or the state that it keeps between passes")


def _places(
    model: nn.Module, blocks: ModuleChoice, layers: ModuleChoice, arguments: CallArguments, plan: TuningPlan
) -> tuple[tuple[TunedPlace, ...], tuple[str, ...]]:
    """What is tuned, and notes: the chosen blocks or layers; else the blocks in which a skip connection is seen, or
    the layers of a model that adds no streams."""
    notes: tuple[str, ...] = ()
    places: tuple[TunedPlace, ...] = ()
    if blocks is not None:
        places = residual_places(model, choose_modules(model, blocks).modules, arguments)
    elif layers is None and (repeated := residual_blocks(model)):
        places = residual_places(model, repeated, arguments, only_clear=True)
        left = [name for name in repeated if name not in {place.name for place in places}]
        if places and left:
            notes = (f"left out, as they show no skip connection that keeps the shape: {', '.join(left)}",)
    if places and plan.kernel is not None:
        raise DeclarationError("kernel of residual blocks", "they keep that of their input", "leave it out")
    if places:
        return places, notes
    chosen = dense_layers(model) if layers is None else choose_modules(model, layers).modules
    asked = f"the tuning of {type(model).__name__}"
    if not chosen:
        raise DeclarationError(asked, "it has neither blocks nor layers", "name blocks by blocks=")
    if layers is None and (count := sums_in(model, arguments)):
        reason = f"it has {count} sums that may be skip connections, but no repeated blocks that contain them"
        raise DeclarationError(asked, reason, "name the blocks by blocks=, or layers by layers=")
    of_blocks = [name for name in ("gamma", "xi", "branch_weight", "skip_weight") if getattr(plan, name) is not None]
    of_blocks += ["wrap"] * plan.wrap + ["target='apjn'"] * (plan.target is TuningTarget.APJN)
    if of_blocks:
        asked, remedy = f"{of_blocks[0]} of layers", "choose blocks by blocks=, or leave it out"
        raise DeclarationError(asked, "they have no skip connection", remedy)
    return layer_places(model, chosen), ()


def _choice(kind: type[_Choice], value: str, name: str) -> _Choice:
    values = {choice.value: choice for choice in kind}
    if value not in values:
        raise DeclarationError(f"{name}={value!r}", f"unknown {name}", f"use one of {', '.join(map(repr, values))}")
    return values[value]


def _positive(value: Number, name: str) -> float:
    positive = float(number(value, name))
    if not 0 < positive < math.inf:
        raise DeclarationError(f"{name} = {positive:g}", "it is not positive", "pass a number greater than 0")
    return positive
