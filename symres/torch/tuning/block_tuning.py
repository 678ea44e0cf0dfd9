"""Residual blocks are tuned one after the other, each on the stream that the tuned blocks before it give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ...core.errors import DeclarationError
from ...results.numbers.estimates import EstimatedNumber
from ..models.arguments_of_models import CallArguments
from ..models.model_state import first_nonfinite
from ..probing.network_passes import counts_inputs
from .branch_conditions import BlockWeights, TunedWeight, TuningTarget, solve_block
from .branch_samples import BranchSample, sample_of_branch
from .branch_weights import ScalableWeights, find_branch_weight, skip_of, verify_skip
from .residual_places import PlaceKind, ResidualPlace
from .scaled_block import ScaledBlock
from .stream_passes import Visit, pass_over_places
from .tuning_report import TunedBlock

_BEFORE, _TUNING, _AFTER = range(3)  # streams of random signs
TUNING_PROBES = 4  # times as many as of a measurement: a tuned number should scatter less than what checks it
_AGREEMENT = 0.05  # times the square root of the unit of rounding: what was predicted against what is measured


@dataclass(frozen=True)
class BlockPlan:
    """What is done with every block.

    Args:
        target: what is kept.
        unknown: the weight that is solved for.
        gamma: the weight of the stream; None: as it is.
        xi: the weight of the branch relative to the branch as it is.
        growth: by which the kernel, or the gradient, may grow over all blocks together.
        branch_weight: the name, in a block, of what scales its branch; None: it is found.
        skip_weight: of what scales its skip connection; None: nothing does.
        wrap: whether blocks are put into a ``ScaledBlock`` instead.
        probes: random directions.
        seed: of their signs.
        steps: called after every block of every pass.
    """

    target: TuningTarget
    unknown: TunedWeight
    gamma: float | None
    xi: float
    growth: float
    branch_weight: str | None
    skip_weight: str | None
    wrap: bool
    probes: int
    seed: int
    steps: Callable[[str], None]


@dataclass(frozen=True)
class BlockChange:
    """What is to be done with one block of the model itself.

    Args:
        place: the block.
        weights: gamma and xi.
        branch: what is multiplied by xi; None: the block is wrapped.
        skip: what is multiplied by gamma over its present value; None: nothing.
        skip_before: that value.
    """

    place: ResidualPlace
    weights: BlockWeights
    branch: ScalableWeights | None
    skip: ScalableWeights | None
    skip_before: float

    def scale(self) -> None:
        """Multiply the weights, in place."""
        if self.branch is not None:
            self.branch.multiply(float(self.weights.xi))
        if self.skip is not None:
            self.skip.multiply(float(self.weights.gamma) / self.skip_before)

    def apply(self, model: nn.Module) -> nn.Module:
        """Change the model in place; returns it, or the wrapped block where the model itself is the block."""
        self.scale()
        if self.branch is not None:
            return model
        wrapped = ScaledBlock(self.place.module, float(self.weights.gamma), float(self.weights.xi))
        for parent in list(model.modules()):
            for name, child in parent._modules.items():
                if child is self.place.module:
                    parent._modules[name] = wrapped
        return wrapped if model is self.place.module else model


def tuned_blocks(
    model: nn.Module, places: tuple[ResidualPlace, ...], arguments: CallArguments, plan: BlockPlan
) -> tuple[list[BlockChange], list[TunedBlock]]:
    """Tune the copies of the weights that ``kept`` made, and measure before and after.

    Args:
        model: prepared by ``kept``.
        places: its residual blocks.
        arguments: the inputs.
        plan: what is done.

    Returns:
        For each block what is to be done with the model itself, and a row of the report.

    Raises:
        DeclarationError: a block cannot be tuned; it is named.
    """
    skips = {place.name: skip_of(place, plan.skip_weight, plan.wrap) for place in places}
    if plan.wrap and (branches := [place.name for place in places if place.kind is PlaceKind.BRANCH]):
        raise DeclarationError(
            f"wrap=True for {branches[0]}", "it is a branch: the sum is outside of it", "choose whole blocks"
        )
    _free_to_move(places[0], skips[places[0].name][1], plan)
    rngs = {
        (phase, number): [
            np.random.default_rng((plan.seed, phase, number, probe))
            for probe in range(plan.probes * (TUNING_PROBES if phase == _TUNING else 1))
        ]
        for phase in (_BEFORE, _TUNING, _AFTER)
        for number in range(len(places))
    }
    order = {place.name: number for number, place in enumerate(places)}
    factor = plan.growth ** (1 / len(places))
    before: dict[str, BranchSample] = {}
    tuning: dict[str, BranchSample] = {}
    after: dict[str, BranchSample] = {}
    changes: dict[str, BlockChange] = {}

    def sampled(visit: Visit, phase: int, skip: float) -> tuple[BranchSample, torch.Tensor]:
        branch = _branch(visit, skip)
        _usable(visit, branch, arguments, model)
        sample = sample_of_branch(visit.stream, branch, arguments.size, rngs[phase, order[visit.place.name]])
        plan.steps(_PHASES[phase])
        return sample, branch.detach()

    def measure(visit: Visit) -> torch.Tensor:
        skip = skips[visit.place.name][1]
        before[visit.place.name], branch = sampled(visit, _BEFORE, skip)
        return skip * visit.stream.detach() + branch

    def tune(visit: Visit) -> torch.Tensor:
        place = visit.place
        weights, value = skips[place.name]
        tuning[place.name], branch = sampled(visit, _TUNING, value)
        gamma = value if plan.gamma is None else plan.gamma
        found = solve_block(tuning[place.name], plan.target, plan.unknown, gamma, plan.xi, factor, place.name)
        scaled = None if plan.wrap else find_branch_weight(visit, value, plan.branch_weight, model)
        if weights is not None:
            verify_skip(visit, weights, value)
        changes[place.name] = BlockChange(place, found, scaled, weights, value)
        changes[place.name].scale()
        return float(found.gamma) * visit.stream.detach() + float(found.xi) * branch

    def measure_again(visit: Visit) -> torch.Tensor:
        change = changes[visit.place.name]
        gamma = float(change.weights.gamma)
        if plan.wrap:
            after[visit.place.name], branch = sampled(visit, _AFTER, 1.0)
            return gamma * visit.stream.detach() + float(change.weights.xi) * branch
        after[visit.place.name], branch = sampled(visit, _AFTER, gamma)
        return gamma * visit.stream.detach() + branch

    for action in (measure, tune, measure_again):
        pass_over_places(model, places, arguments, action)
    rows = []
    for place in places:
        change, name = changes[place.name], place.name
        xi = float(change.weights.xi) if plan.wrap else 1.0
        row = _row(change, before[name], tuning[name], after[name], xi)
        _predicted(row, tuning[name], change)
        rows.append(row)
    return [changes[place.name] for place in places], rows


_PHASES = {_BEFORE: "before", _TUNING: "tuning", _AFTER: "after"}


def _free_to_move(place: ResidualPlace, skip: float, plan: BlockPlan) -> None:
    """Check that the weight of the stream can be set, if it has to be."""
    asked = plan.target is TuningTarget.BOTH or plan.unknown is TunedWeight.GAMMA
    if not plan.wrap and plan.skip_weight is None and (asked or (plan.gamma is not None and plan.gamma != skip)):
        raise DeclarationError(
            f"another weight of the skip connection of {place.name}",
            "nothing is named that sets it",
            "name an attribute of the block by skip_weight=, or use wrap=True",
        )


def _branch(visit: Visit, skip: float) -> torch.Tensor:
    return visit.result if visit.place.kind is PlaceKind.BRANCH else visit.result - skip * visit.stream


def _usable(visit: Visit, branch: torch.Tensor, arguments: CallArguments, model: nn.Module) -> None:
    asked = f"the tuning of {visit.place.name}"
    if branch.shape != visit.stream.shape or not counts_inputs(branch, arguments.size):
        raise DeclarationError(
            asked,
            f"the stream is {tuple(visit.stream.shape)}, what leaves the block {tuple(branch.shape)}",
            f"choose blocks that keep the shape, whose first axis counts the {arguments.size} inputs",
        )
    if not branch.requires_grad:
        raise DeclarationError(asked, "it is not differentiable", "choose other blocks")
    if not bool(branch.isfinite().all()) or not bool(visit.stream.isfinite().all()):
        with torch.no_grad():
            where = first_nonfinite(model, arguments)
        raise DeclarationError(asked, f"numbers are not finite: {where}", "begin with weights that give finite numbers")


def _row(change: BlockChange, before: BranchSample, tuning: BranchSample, after: BranchSample, xi: float) -> TunedBlock:
    gamma = float(change.weights.gamma)
    expected = tuning.chi(gamma, float(change.weights.xi))
    grown, start = after.growth(gamma, xi), before.growth(change.skip_before, 1.0)
    numbers = tuning.numbers()
    return TunedBlock(
        name=change.place.name,
        kind=change.place.kind.value,
        gamma=change.weights.gamma,
        xi=change.weights.xi,
        scaled="wrapped" if change.branch is None else change.branch.label,
        **numbers,
        kernel_before=float(before.G_zz.mean()) * float(start),
        kernel_after=float(after.G_zz.mean()) * float(grown),
        growth_before=start,
        growth_after=grown,
        chi_before=before.chi(change.skip_before, 1.0),
        chi_after=after.chi(gamma, xi),
        chi_tuned=EstimatedNumber(float(expected), expected.error),
    )


def _predicted(row: TunedBlock, tuning: BranchSample, change: BlockChange) -> None:
    """Check that the tuned block does what its weights promise; sizes have no random directions in them."""
    promised = float(tuning.growth(float(change.weights.gamma), float(change.weights.xi)))
    eps = torch.finfo(torch.float32).eps
    parameter = next(change.place.module.parameters(), None)
    if parameter is not None and parameter.is_floating_point():
        eps = torch.finfo(parameter.dtype).eps
    if not abs(float(row.growth_after) - promised) <= max(1e-6, _AGREEMENT * eps**0.5) * promised:
        raise DeclarationError(
            f"the tuning of {row.name}",
            f"the tuned block multiplies the kernel by {float(row.growth_after):.6g}, its weights by {promised:.6g}",
            "its branch is not scaled by them alone: choose other blocks, or use wrap=True",
        )
