"""All places are tuned one after the other, each on what the tuned ones before it give; then measured again."""

from __future__ import annotations

from enum import Enum
from functools import partial

import numpy as np
import torch
from torch import nn

from ...core.errors import DeclarationError
from ...results.annotated_numbers import EstimatedNumber
from ..measuring.place_signals import average
from ..models.call_arguments import CallArguments
from ..models.model_state import first_nonfinite
from ..probing.network_passes import counts_inputs
from .scalable_weights import PlaceChange, ScalableWeights, branch_weight_of, skip_of, verify_skip
from .tuned_places import PlaceKind, TunedPlace
from .tuning_passes import Visit, pass_over_places
from .tuning_report import TunedBlock, TunedLayer, TunedPart
from .tuning_samples import (
    NOT_MEASURED,
    Directions,
    Perturbations,
    PlaceSample,
    WeightForm,
    at_least,
    drawn_signs,
    jacobian_samples,
    left_out_in_turn,
    numbers_with_batch_errors,
)
from .weight_conditions import TunedWeight, TuningPlan, TuningTarget, block_weights, layer_weights

_AGREEMENT = 0.05  # times the square root of the unit of rounding: what was predicted against what is measured
_LEAST_AGREEMENT = 1e-6  # in double precision: sums of many terms round too
_TUNING_PROBES = 4  # times as many as of a measurement: a tuned number should scatter less than what checks it


class TuningPhase(Enum):
    """Which pass it is, each with random signs of its own."""

    BEFORE = 0
    TUNING = 1
    AFTER = 2


def tuned_parts(
    model: nn.Module, places: tuple[TunedPlace, ...], arguments: CallArguments, plan: TuningPlan
) -> tuple[list[PlaceChange], list[TunedPart]]:
    """Tune the copies of the weights that ``kept`` made, and measure before and after.

    Args:
        model: prepared by ``kept``.
        places: residual blocks and branches, or layers.
        arguments: the inputs.
        plan: what is done.

    Returns:
        For each place, in the order of execution, what is to be done with the model itself, and a row of the report.

    Raises:
        DeclarationError: a place cannot be tuned; it is named.
    """
    loop = _TuningLoop(model, places, arguments, plan)
    subsets = [None, *left_out_in_turn(model, arguments.size)]
    before = [loop.measured(TuningPhase.BEFORE, kept) for kept in subsets]
    tuning = loop.measured(TuningPhase.TUNING)
    after = [loop.measured(TuningPhase.AFTER, kept) for kept in subsets]
    rows = [
        loop.row(name, [each[name] for each in before], sample, [each[name] for each in after])
        for name, sample in tuning.items()
    ]
    return list(loop.changes.values()), rows


class _TuningLoop:
    """What is known of the places while they are tuned.

    Attributes:
        changes: of the places that are tuned, by name.
    """

    def __init__(
        self, model: nn.Module, places: tuple[TunedPlace, ...], arguments: CallArguments, plan: TuningPlan
    ) -> None:
        self._model, self._places, self._arguments, self._plan = model, places, arguments, plan
        self.changes: dict[str, PlaceChange] = {}
        self._kernel = plan.kernel
        name = None if plan.wrap else plan.skip_weight
        self._skips = {place.name: skip_of(place, name) for place in places}
        self._present = {name: (skip, 1.0) for name, (_, skip) in self._skips.items()}  # weights of z and R
        is_layered = places[0].kind is PlaceKind.LAYER
        self._factor = plan.growth ** (1 / max(len(places) - is_layered, 1))  # no gradient reaches the first layer
        if not is_layered:
            self._check_blocks()

    def _check_blocks(self) -> None:
        """Check that the blocks can be wrapped, or the weight of the stream be set, if that has to be."""
        plan, first = self._plan, self._places[0]
        branch = next((place.name for place in self._places if place.kind is PlaceKind.BRANCH), None)
        if plan.wrap and branch is not None:
            reason = "it is a branch: the sum is outside of it"
            raise DeclarationError(f"wrap=True for {branch}", reason, "choose whole blocks")
        moves = plan.target is TuningTarget.BOTH or plan.unknown is TunedWeight.GAMMA
        moves = moves or (plan.gamma is not None and plan.gamma != self._skips[first.name][1])
        if moves and not plan.wrap and plan.skip_weight is None:
            raise DeclarationError(
                f"changing the weight of the skip connection of {first.name}",
                "symres does not know which attribute holds it",
                "name the attribute with skip_weight=, or use wrap=True",
            )

    def measured(self, phase: TuningPhase, kept: np.ndarray | None = None) -> dict[str, PlaceSample]:
        """One pass of all inputs, or of those kept: places are measured, and tuned if it is the phase for it."""
        arguments = self._arguments if kept is None else self._arguments.some(kept)
        directions = [self._directions(phase, position, kept) for position in range(len(self._places) + 1)]
        perturbations = None
        if self._plan.target is TuningTarget.APJN:
            perturbations = Perturbations(directions[-1], arguments.size)
        samples: dict[str, PlaceSample] = {}

        def at(visit: Visit) -> torch.Tensor:
            place = visit.place
            gamma, xi = self._present[place.name]
            skip = self._skips[place.name][1] if self._plan.wrap else gamma
            z, R = _checked_parts(visit, skip, self._model, arguments)
            kernel = WeightForm.of_tensors(z, R, arguments.size)
            chi = _chi(visit, z, R, arguments.size, directions[len(samples)], previous=next(reversed(samples), ""))
            apjn = NOT_MEASURED if perturbations is None else perturbations.sample(visit, R)
            samples[place.name] = PlaceSample(kernel, chi, apjn, place.kind is not PlaceKind.LAYER)
            if phase is TuningPhase.TUNING:
                self.changes[place.name] = change = self._solved(visit, samples[place.name], skip)
                change.scale()
                gamma, xi = float(change.gamma), float(change.xi)
                if place.kind is not PlaceKind.LAYER:  # a block that is to be wrapped is not yet wrapped
                    self._present[place.name] = gamma, xi if self._plan.wrap else 1.0
            if perturbations is not None:
                perturbations.advance(gamma, xi)
            self._plan.steps(phase.name.lower())
            return gamma * z.detach() + xi * R.detach()

        pass_over_places(self._model, self._places, arguments, at)
        return samples

    def _directions(self, phase: TuningPhase, position: int, kept: np.ndarray | None) -> Directions:
        count = self._plan.probes * (_TUNING_PROBES if phase is TuningPhase.TUNING else 1)
        streams = [(self._plan.seed, phase.value, position, probe) for probe in range(count)]
        return [partial(drawn_signs, stream, kept) for stream in streams]

    def _solved(self, visit: Visit, sample: PlaceSample, skip: float) -> PlaceChange:
        """Which weights a place gets, and what has to be multiplied for them."""
        place, plan = visit.place, self._plan
        if place.kind is PlaceKind.LAYER:
            if self._kernel is None and plan.target is not TuningTarget.GRADIENT:
                self._kernel = float(sample.kernel.average(1, 1))
            gamma, xi = layer_weights(place, sample, plan, self._kernel, self._factor)
            factors = {"weight": float(xi), "bias": float(gamma)}
            entries = {
                name: ((place.module, name),) for name in factors if place.module._parameters.get(name) is not None
            }
            scaled = [(ScalableWeights(name, entry), factors[name]) for name, entry in entries.items()]
            return PlaceChange(place, gamma, xi, tuple(scaled))
        gamma, xi = block_weights(place, sample, plan, skip if plan.gamma is None else plan.gamma, self._factor)
        if plan.wrap:
            return PlaceChange(place, gamma, xi, ())
        branch = branch_weight_of(visit, skip, plan.branch_weight, self._model)
        scaled = [(branch, float(xi))]
        if (of_skip := self._skips[place.name][0]) is not None:
            verify_skip(visit, of_skip, skip)
            scaled.append((of_skip, float(gamma) / skip))
        return PlaceChange(place, gamma, xi, tuple(scaled), branch.label)

    def row(self, name: str, before: list[PlaceSample], tuning: PlaceSample, after: list[PlaceSample]) -> TunedPart:
        """What is reported of a place; before and after it was measured with all inputs, then without a few."""
        change, target = self.changes[name], self._plan.target
        old, _ = numbers_with_batch_errors(before, self._skips[name][1], 1.0)
        new, errors = numbers_with_batch_errors(after, *self._present[name])
        promised = tuning.numbers(float(change.gamma), float(change.xi))
        error = {TuningTarget.SIZE: errors[0], TuningTarget.APJN: errors[2]}.get(target, errors[1])
        alone = promised[0 if target is TuningTarget.SIZE else 1].error  # that of APJN counts the blocks before, too
        wider = error / alone if error > alone > 0 else 1.0
        gamma, xi = (EstimatedNumber(float(w), w.error * wider) for w in (change.gamma, change.xi))
        chi_tuned = at_least(promised[1], errors[1])
        if change.place.kind is PlaceKind.LAYER:
            return TunedLayer(name, xi, gamma, old[0], new[0], old[1], new[1], chi_tuned)
        self._check_promise(change.place, float(new[0]), float(promised[0]))
        return TunedBlock(
            name=name,
            kind=change.place.kind.value,
            gamma=gamma,
            xi=xi,
            scaled=change.label,
            G_zz=average(tuning.kernel.first[None]),
            G_RR=average(tuning.kernel.second[None]),
            G_Rz=average(tuning.kernel.both[None]),
            J_RR=average(tuning.chi.second[None]),
            J_R1=average(tuning.chi.both[None]),
            kernel_before=float(before[0].kernel.first.mean()) * float(old[0]),
            kernel_after=float(after[0].kernel.first.mean()) * float(new[0]),
            growth_before=old[0],
            growth_after=new[0],
            chi_before=old[1],
            chi_after=new[1],
            apjn_before=old[2],
            apjn_after=new[2],
            chi_tuned=chi_tuned,
        )

    def _check_promise(self, place: TunedPlace, grown: float, promised: float) -> None:
        """Check that the kernel grows as the weights promise; there are no random directions in it."""
        parameter = next(place.module.parameters(), torch.empty(0))
        eps = torch.finfo(parameter.dtype if parameter.is_floating_point() else torch.float32).eps
        if not abs(grown - promised) <= max(_LEAST_AGREEMENT, _AGREEMENT * eps**0.5) * promised:
            raise place.refused(
                f"the tuned block multiplies the kernel by {grown:.6g} instead of {promised:.6g}",
                "the weights do not merely scale its branch: choose other blocks, or use wrap=True",
            )


def _checked_parts(
    visit: Visit, skip: float, model: nn.Module, arguments: CallArguments
) -> tuple[torch.Tensor, torch.Tensor]:
    """What is weighted at a place, z and R; ``skip`` is the present weight of z in a block."""
    place, result, size = visit.place, visit.result, arguments.size
    if place.kind is PlaceKind.LAYER:
        if not counts_inputs(result, size):
            shape = f"its output has the shape {tuple(result.shape)}"
            raise place.refused(shape, f"the first axis has to count {size} inputs")
        z, R = _bias_and_weighted(visit)
    else:
        R = result if place.kind is PlaceKind.BRANCH else result - skip * visit.stream
        z = visit.stream
        if R.shape != z.shape or not counts_inputs(R, size):
            raise place.refused(
                f"its input has the shape {tuple(z.shape)}, its output {tuple(R.shape)}",
                f"choose blocks that keep the shape, whose first axis counts the {size} inputs",
            )
    if not bool(R.isfinite().all()) or not bool(z.isfinite().all()):
        where = first_nonfinite(model, arguments)
        raise place.refused(f"numbers are not finite: {where}", "begin with weights that give finite numbers")
    return z, R


def _bias_and_weighted(visit: Visit) -> tuple[torch.Tensor, torch.Tensor]:
    """What the bias and what the weight of a layer give to its output, without graphs."""
    bias, present = visit.place.module._parameters.get("bias"), visit.result.detach().clone()
    if bias is None:
        return torch.zeros_like(present), present
    data = bias.data
    try:
        bias.data = torch.zeros_like(data)
        weighted = visit.again().detach().clone()
    finally:
        bias.data = data
    return present - weighted, weighted


def _chi(
    visit: Visit, z: torch.Tensor, R: torch.Tensor, size: int, directions: Directions, previous: str
) -> WeightForm:
    """The squared norm of the Jacobian: of a block, or of a layer from what the layer before gives."""
    place, result = visit.place, visit.result
    if place.kind is PlaceKind.LAYER:
        if visit.last is None:
            return NOT_MEASURED
        norms, _ = jacobian_samples(visit.last, result, size, directions)
        if not norms.any():
            reason = f"its output does not depend on that of {previous}, which is called before it"
            raise place.refused(reason, "choose layers that follow each other")
        return WeightForm(np.zeros_like(norms), np.zeros_like(norms), norms)
    ones, depends = torch.ones_like(result), None
    if result.requires_grad:
        (depends,) = torch.autograd.grad(result, visit.stream, ones, retain_graph=True, allow_unused=True)
    if depends is None:
        raise place.refused("its output is not differentiable by its input", "choose other blocks")
    norms, traces = jacobian_samples(z, R, size, directions)
    return WeightForm(np.ones_like(norms), traces, norms)
