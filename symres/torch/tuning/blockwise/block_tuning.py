"""Residual blocks are tuned one after the other, each on the stream that the tuned blocks before it give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import torch
from torch import nn

from ....core.errors import DeclarationError
from ....results.annotated_numbers import EstimatedNumber
from ...models.arguments_of_models import CallArguments
from ...probing.network_passes import counts_inputs
from ..batch_errors import InputSubset, at_least, left_out_in_turn, with_batch_errors
from ..gradient_passes import NonFinitePlace, finite_numbers
from ..tuning_report import TunedBlock, TunedWeight, TuningPhase, TuningPlan, TuningTarget
from .block_changes import BlockChange
from .branch_conditions import BranchSample, sample_of_branch, solve_block
from .branch_weights import find_branch_weight, skip_of, verify_skip
from .residual_places import PlaceKind, ResidualPlace
from .stream_passes import Perturbations, Visit, pass_over_places

Weigh: TypeAlias = Callable[[Visit, BranchSample], tuple[float, float]]  # of stream and branch
_AGREEMENT = 0.05  # times the square root of the unit of rounding: what was predicted against what is measured


@dataclass(frozen=True, kw_only=True)
class BlockPlan(TuningPlan):
    """What is done with every block.

    Args:
        unknown: the weight that is solved for.
        gamma: the weight of the stream; None: as it is.
        xi: the weight of the branch relative to the branch as it is.
        branch_weight: the name, in a block, of what scales its branch; None: it is found.
        skip_weight: of what scales its skip connection; None: nothing does.
        wrap: whether blocks are put into a ``ScaledBlock`` instead.
    """

    unknown: TunedWeight
    gamma: float | None
    xi: float
    branch_weight: str | None
    skip_weight: str | None
    wrap: bool


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
    factor = plan.growth ** (1 / len(places))
    changes: dict[str, BlockChange] = {}

    def measure(visit: Visit, sample: BranchSample) -> tuple[float, float]:
        return skips[visit.place.name][1], 1.0

    def tune(visit: Visit, sample: BranchSample) -> tuple[float, float]:
        place = visit.place
        weights, value = skips[place.name]
        gamma = value if plan.gamma is None else plan.gamma
        found = solve_block(sample, plan.target, plan.unknown, gamma, plan.xi, factor, place.name)
        scaled = None if plan.wrap else find_branch_weight(visit, value, plan.branch_weight, model)
        if weights is not None:
            verify_skip(visit, weights, value)
        changes[place.name] = BlockChange(place, found, scaled, weights, value)
        changes[place.name].scale()
        return float(found.gamma), float(found.xi)

    def measure_again(visit: Visit, sample: BranchSample) -> tuple[float, float]:
        found = changes[visit.place.name].weights
        return float(found.gamma), float(found.xi) if plan.wrap else 1.0

    def present_skip(name: str, phase: TuningPhase) -> float:
        changed = phase is TuningPhase.AFTER and not plan.wrap
        return float(changes[name].weights.gamma) if changed else skips[name][1]

    def passed(phase: TuningPhase, weigh: Weigh, subset: InputSubset | None = None) -> dict[str, BranchSample]:
        return _one_pass(model, places, arguments, plan, phase, partial(present_skip, phase=phase), weigh, subset)

    subsets = (None, *left_out_in_turn(model, arguments.size))
    before = [passed(TuningPhase.BEFORE, measure, subset) for subset in subsets]
    tuning = passed(TuningPhase.TUNING, tune)
    after = [passed(TuningPhase.AFTER, measure_again, subset) for subset in subsets]
    rows = []
    for place in places:
        change, name = changes[place.name], place.name
        old, _ = _numbers([each[name] for each in before], change.skip_before, 1.0)
        gamma, xi = float(change.weights.gamma), float(change.weights.xi) if plan.wrap else 1.0
        new, errors = _numbers([each[name] for each in after], gamma, xi)
        rows.append(_row(change, tuning[name], old, new, errors, plan.target))
        _predicted(rows[-1], tuning[name], change)
    return [changes[place.name] for place in places], rows


def _one_pass(
    model: nn.Module,
    places: tuple[ResidualPlace, ...],
    arguments: CallArguments,
    plan: BlockPlan,
    phase: TuningPhase,
    skip_of_block: Callable[[str], float],
    weigh: Weigh,
    subset: InputSubset | None = None,
) -> dict[str, BranchSample]:
    """Measure every block; the stream goes on with the weights of stream and branch that ``weigh`` returns."""
    found: dict[str, BranchSample] = {}
    arguments = arguments if subset is None else arguments.some(subset.kept)
    signs_of = [plan.sources(phase, block, subset) for block in range(len(places) + 1)]
    perturbations = Perturbations(signs_of[-1], arguments.size) if plan.target is TuningTarget.APJN else None

    def at(visit: Visit) -> torch.Tensor:
        name, skip = visit.place.name, skip_of_block(visit.place.name)
        is_branch = visit.place.kind is PlaceKind.BRANCH
        branch = visit.result if is_branch else visit.result - skip * visit.stream
        _usable(visit, branch, arguments.size)
        sample = sample_of_branch(visit.stream, branch, arguments.size, signs_of[len(found)])
        if perturbations is not None:
            sample = replace(sample, tangents=perturbations.sample(visit, branch))
        found[name] = sample
        gamma, xi = weigh(visit, sample)
        if perturbations is not None:
            perturbations.advance(gamma, xi)
        plan.steps(phase.value)
        return gamma * visit.stream.detach() + xi * branch.detach()

    with finite_numbers(model, arguments, "the tuning of"):
        pass_over_places(model, places, arguments, at)
    return found


def _free_to_move(place: ResidualPlace, skip: float, plan: BlockPlan) -> None:
    """Check that the weight of the stream can be set, if it has to be."""
    asked = plan.target is TuningTarget.BOTH or plan.unknown is TunedWeight.GAMMA
    if not plan.wrap and plan.skip_weight is None and (asked or (plan.gamma is not None and plan.gamma != skip)):
        raise DeclarationError(
            f"changing the weight of the skip connection of {place.name}",
            "symres does not know which attribute holds it",
            "name the attribute with skip_weight=, or use wrap=True",
        )


def _usable(visit: Visit, branch: torch.Tensor, size: int) -> None:
    asked = f"the tuning of {visit.place.name}"
    if branch.shape != visit.stream.shape or not counts_inputs(branch, size):
        raise DeclarationError(
            asked,
            f"its input has the shape {tuple(visit.stream.shape)}, its output {tuple(branch.shape)}",
            f"choose blocks that keep the shape, whose first axis counts the {size} inputs",
        )
    if not bool(branch.isfinite().all()) or not bool(visit.stream.isfinite().all()):
        raise NonFinitePlace(visit.place.name)
    if not _depends_on_stream(visit):
        raise DeclarationError(asked, "its output is not differentiable by its input", "choose other blocks")


def _depends_on_stream(visit: Visit) -> bool:
    result = visit.result
    if not result.requires_grad:
        return False
    sign = torch.ones_like(result)
    return torch.autograd.grad(result, visit.stream, sign, retain_graph=True, allow_unused=True)[0] is not None


def _numbers(samples: list[BranchSample], gamma: float, xi: float) -> tuple[dict[str, EstimatedNumber], list[float]]:
    """Kernel, growth, chi and apjn of a block, and the errors that the batch makes of the last three."""

    def of(one: BranchSample) -> tuple[EstimatedNumber, EstimatedNumber, EstimatedNumber]:
        return one.growth(gamma, xi), one.chi(gamma, xi), one.apjn(gamma, xi)

    (growth, chi, apjn), errors = with_batch_errors(of, samples)
    kernel = EstimatedNumber(float(samples[0].G_zz.mean()) * float(growth), math.nan)
    return {"kernel": kernel, "growth": growth, "chi": chi, "apjn": apjn}, errors


def _row(
    change: BlockChange,
    tuning: BranchSample,
    old: dict[str, EstimatedNumber],
    new: dict[str, EstimatedNumber],
    errors: list[float],
    target: TuningTarget,
) -> TunedBlock:
    gamma, xi = change.weights.gamma, change.weights.xi
    promised = tuning.growth(gamma, xi) if target is TuningTarget.SIZE else tuning.chi(gamma, xi)
    of_growth, of_chi, of_apjn = errors
    batch = {TuningTarget.SIZE: of_growth, TuningTarget.APJN: of_apjn}.get(target, of_chi)
    wider = batch / promised.error if batch > promised.error else 1.0
    return TunedBlock(
        name=change.place.name,
        kind=change.place.kind.value,
        gamma=EstimatedNumber(float(gamma), gamma.error * wider),
        xi=EstimatedNumber(float(xi), xi.error * wider),
        scaled="wrapped" if change.branch is None else change.branch.label,
        **tuning.numbers(),
        kernel_before=float(old.pop("kernel")),
        kernel_after=float(new.pop("kernel")),
        **{f"{key}_before": number for key, number in old.items()},
        **{f"{key}_after": number for key, number in new.items()},
        chi_tuned=at_least(tuning.chi(gamma, xi), of_chi),
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
            f"the tuned block multiplies the kernel by {float(row.growth_after):.6g} instead of {promised:.6g}",
            "the weights do not merely scale its branch: choose other blocks, or use wrap=True",
        )
