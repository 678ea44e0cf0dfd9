"""Rescaling the residual blocks, or the layers, of a model in place: one call."""

from __future__ import annotations

import math
import warnings
from enum import Enum
from typing import Any, TypeVar

from torch import nn

from ...core.errors import DeclarationError
from ...core.progress import Progress, Steps, reported
from ...core.scalars import Number, number, whole
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.choosing import ModuleChoice, choose_modules, dense_layers, residual_blocks
from ..models.keeping import device_of, in_train_mode, kept, required_module, seeded
from ..models.model_state import active_dropout, remarks_on, varies, where_passes_differ
from ..models.structures import tensors
from .batch_errors import left_out_in_turn
from .blockwise.block_changes import BlockChange
from .blockwise.block_tuning import BlockPlan, tuned_blocks
from .blockwise.residual_places import ResidualPlace, residual_places
from .gradient_passes import named_in_place, sums_in
from .layer_rescaling import LayerChange, LayerPlan, rescaled_layers
from .tuning_report import TunedBlock, TunedLayer, TunedWeight, TuningReport, TuningTarget

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
    aim = _named(TuningTarget, target, "target")
    weight = _named(TunedWeight, unknown, "unknown")
    train = in_train_mode(mode)
    if blocks is not None and layers is not None:
        raise DeclarationError("blocks and layers", "only one of them can be tuned in a call", "pass one of them")
    weights = {"gamma": gamma, "xi": xi}
    given = {name: float(number(value, name)) for name, value in weights.items() if value is not None}
    for name, value in given.items():
        if aim is TuningTarget.BOTH or name == unknown:
            raise DeclarationError(f"{name} = {value:g}", "it is solved for", "leave it out, or choose another unknown")
    factor = _positive(growth, "growth")
    first_seed, directions = whole(seed, "seed", 0), whole(probes, "probes", 2)
    wanted_kernel = None if kernel is None else _positive(kernel, "kernel")
    arguments = CallArguments.of(inputs)
    steps = Steps()
    device = device_of(model, next(tensors(arguments.structure)))
    arguments = arguments.map(lambda tensor: tensor.detach().to(device))
    common: dict[str, Any] = {"target": aim, "growth": factor, "probes": directions, "seed": first_seed, "steps": steps}
    block_plan = BlockPlan(
        unknown=weight,
        gamma=given.get("gamma"),
        xi=given.get("xi", 1.0),
        branch_weight=branch_weight,
        skip_weight=skip_weight,
        wrap=wrap,
        **common,
    )
    layer_plan = LayerPlan(kernel=wanted_kernel, **common)
    changes: list[BlockChange] | list[LayerChange]
    parts: list[TunedBlock] | list[TunedLayer]
    with (
        reported(progress, "tuning") as steps.report,
        seeded(first_seed, device),
        kept(model, train=train, dtype=None, device=None),
        named_in_place(model, arguments),
    ):
        notes = tuple(remarks_on(model))
        places, left = ((), ()) if layers is not None else _places(model, blocks, arguments)
        notes += left
        if varies(model, arguments):
            raise _varying(model, arguments)
        passes = 3 + 2 * len(left_out_in_turn(model, arguments.size))
        if places:
            if wanted_kernel is not None:
                raise DeclarationError("kernel of residual blocks", "they keep that of their input", "leave it out")
            steps.count = passes * len(places)
            changes, parts = tuned_blocks(model, places, arguments, block_plan)
        else:
            chosen = _layers(model, layers, arguments)
            _only_of_blocks(block_plan, given.get("xi"))
            steps.count = passes * len(chosen)
            changes, parts = rescaled_layers(model, chosen, arguments, layer_plan)
    changed = model
    if not dry_run:
        for change in changes:
            changed = change.apply(changed)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return TuningReport(
        parts=tuple(parts),
        target=target,
        applied=not dry_run,
        model=changed,
        inputs=arguments.size,
        probes=directions,
        mode=mode or "as it is",
        notes=notes,
    )


def _varying(model: nn.Module, arguments: CallArguments) -> DeclarationError:
    asked = f"the tuning of {type(model).__name__}"
    if dropping := active_dropout(model):
        return DeclarationError(asked, f"dropout is active in {', '.join(dropping[:4])}", "use mode='eval'")
    where = where_passes_differ(model, arguments)
    return DeclarationError(
        asked,
        f"passes on the same inputs differ from {where} on",
        "switch off its randomness, or the state that it keeps between passes",
    )


def _places(
    model: nn.Module, blocks: ModuleChoice, arguments: CallArguments
) -> tuple[tuple[ResidualPlace, ...], tuple[str, ...]]:
    """The residual blocks that are meant, and notes; those that nobody names count where a skip connection is seen."""
    if blocks is not None:
        return residual_places(model, choose_modules(model, blocks).modules, arguments), ()
    repeated = residual_blocks(model)
    found = residual_places(model, repeated, arguments, only_clear=True) if repeated else ()
    left = [name for name in repeated if name not in {place.name for place in found}]
    if not found or not left:
        return found, ()
    return found, (f"left out, as they show no skip connection that keeps the shape: {', '.join(left)}",)


def _layers(model: nn.Module, layers: ModuleChoice, arguments: CallArguments) -> dict[str, nn.Module]:
    """The layers that are meant; where nobody names them, those of a model that adds no streams."""
    if layers is not None:
        return choose_modules(model, layers).modules
    found = dense_layers(model)
    if not found:
        raise DeclarationError(
            f"the tuning of {type(model).__name__}", "it has neither blocks nor layers", "name blocks by blocks="
        )
    if count := sums_in(model, arguments):
        raise DeclarationError(
            f"the tuning of {type(model).__name__}",
            f"it has {count} sums that may be skip connections, but no repeated blocks that contain them",
            "name the blocks by blocks=, or layers by layers=",
        )
    return found


def _only_of_blocks(plan: BlockPlan, xi: float | None) -> None:
    given = {"gamma": plan.gamma, "xi": xi, "branch_weight": plan.branch_weight, "skip_weight": plan.skip_weight}
    names = [name for name, value in given.items() if value is not None] + ["wrap"] * plan.wrap
    if names or plan.target is TuningTarget.APJN:
        asked = f"{names[0]} of layers" if names else "target='apjn' of layers"
        raise DeclarationError(asked, "they have no skip connection", "choose blocks by blocks=, or leave it out")


def _named(kind: type[_Choice], value: str, name: str) -> _Choice:
    for choice in kind:
        if choice.value == value:
            return choice
    listed = ", ".join(repr(choice.value) for choice in kind)
    raise DeclarationError(f"{name}={value!r}", f"unknown {name}", f"use one of {listed}")


def _positive(value: Number, name: str) -> float:
    found = float(number(value, name))
    if not 0 < found < math.inf:
        raise DeclarationError(f"{name} = {found:g}", "it is not positive", "pass a number greater than 0")
    return found
