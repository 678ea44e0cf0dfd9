"""The weights at which a place keeps the size of the kernel, of the gradient, or of both.

The conditions on a residual block are one quadratic equation with different measurements. With ``q`` the factor by
which a block may grow,

    gamma^2 + 2 gamma xi b + xi^2 a = q:    a = G_RR/G_zz, b = G_Rz/G_zz keep the kernel (PDLT (B.45)),
                                            a = J_RR,      b = J_R1      keep gradients of the block (chi = q),
                                            a = T_RR/T_zz, b = T_Rz/T_zz keep the APJN from the first block.

The first two agree where both pairs do: for branches that are homogeneous of degree 1 and random. Otherwise one weight
can keep one of them, and two weights can keep both, which solve ``2 gamma xi (b - b') + xi^2 (a - a') = 0`` as well.
The last two agree where the Jacobians of the blocks are independent of each other.

With weights times xi and biases times gamma the output of a layer is ``xi W a + gamma b``: its kernel is such a form
too, and its squared Jacobian norm from the output of the layer before is ``xi^2 chi``. Nothing has to be iterated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ...core.errors import DeclarationError
from ...core.progress import Steps
from ...results.annotated_numbers import EstimatedNumber
from ...studies.tune_block import tune_block
from ..measuring.place_signals import average
from .tuned_places import TunedPlace
from .tuning_samples import NOT_MEASURED, PlaceSample, ratio_of_means

_ERRORS = 3.0  # a difference counts from so many standard errors on
_SAME = 1e-9  # relative difference of weights that differ by rounding

SolvedWeights: TypeAlias = tuple[EstimatedNumber, EstimatedNumber]  # gamma and xi; what is not solved for has no error


class TuningTarget(Enum):
    """What a block or layer keeps."""

    SIZE = "size"
    GRADIENT = "gradient"
    APJN = "apjn"
    BOTH = "both"


class TunedWeight(Enum):
    """Which weight is solved for, the other one being given."""

    XI = "xi"
    GAMMA = "gamma"


@dataclass(frozen=True, kw_only=True)
class TuningPlan:
    """What is done with every place: the arguments of ``tune_``, checked; ``steps`` counts places in passes."""

    target: TuningTarget
    unknown: TunedWeight
    gamma: float | None
    xi: float | None
    growth: float
    kernel: float | None
    branch_weight: str | None
    skip_weight: str | None
    wrap: bool
    probes: int
    seed: int
    steps: Steps


def block_weights(
    place: TunedPlace, sample: PlaceSample, plan: TuningPlan, gamma: float, factor: float
) -> SolvedWeights:
    """The weights of a residual block that may grow by the factor q; gamma is given where xi is solved for.

    Raises:
        DeclarationError: no weight does it, or only a branch of weight 0.
    """
    if not sample.kernel.second.mean() > 0:
        raise place.refused("its branch gives 0", "begin with weights of the branch that are not 0")
    if plan.target is TuningTarget.BOTH:
        return _weights_of_both(place, sample, factor)
    form = {TuningTarget.SIZE: sample.kernel, TuningTarget.APJN: sample.apjn}.get(plan.target, sample.chi)
    branch, stream, both = float(form.second.mean()), float(form.first.mean()), average(form.both[None])
    if not branch > 0:
        raise place.refused("its branch does not depend on the stream", "use target='size'")
    root, is_xi = math.sqrt(factor), plan.unknown is TunedWeight.XI
    if is_xi and abs(gamma - root) <= _SAME * root and not (float(both) + _ERRORS * both.error < 0):
        raise DeclarationError(
            f"{place.asked} at gamma = {gamma:g}",
            f"only a branch of weight 0 keeps the {plan.target.value} of the whole stream",
            "pass growth=2 (over all blocks), or gamma=0.9 with skip_weight= or wrap=True",
        )
    xi = 1.0 if plan.xi is None else plan.xi
    try:
        if is_xi:
            xi = root * tune_block(branch, stream, float(both), gamma=gamma / root)
        else:
            gamma = root * tune_block(branch, stream, float(both), xi=xi / root)
    except DeclarationError as error:
        raise DeclarationError(f"{place.asked}: {error.asked}", error.found, error.remedy) from error
    a, b = branch / stream, float(both) / stream
    slope = 2 * (gamma * b + xi * a) if is_xi else 2 * (gamma + xi * b)
    value = form.average(gamma, xi) if form is sample.chi else form.ratio(gamma, xi)
    scatter = value.error / abs(slope) if slope else math.nan
    return EstimatedNumber(gamma, 0.0 if is_xi else scatter), EstimatedNumber(xi, scatter if is_xi else 0.0)


def _weights_of_both(place: TunedPlace, sample: PlaceSample, factor: float) -> SolvedWeights:
    a, b = (ratio_of_means(above, sample.kernel.first) for above in (sample.kernel.second, sample.kernel.both))
    c, d = (average(values[None]) for values in (sample.chi.second, sample.chi.both))
    lengths, overlaps = float(a) - float(c), float(d) - float(b)
    is_clear = _differ(b, d) and _differ(a, c)
    ratio = 2 * overlaps / lengths if is_clear else 0.0  # xi/gamma
    square = 1 + 2 * float(b) * ratio + float(a) * ratio**2
    if not ratio > 0 or not square > 0:
        raise place.refused(
            "no positive weights keep kernel and gradient"
            f" (G_RR/G_zz = {float(a):.4g}, G_Rz/G_zz = {float(b):.4g}, J_RR = {float(c):.4g}, J_R1 = {float(d):.4g})",
            "use target='gradient' or target='size', which report what the other one does",
        )
    gamma = math.sqrt(factor / square)
    spread = math.hypot(math.hypot(d.error, b.error) / overlaps, math.hypot(a.error, c.error) / lengths) * ratio
    error = gamma**3 / factor * abs(float(b) + float(a) * ratio) * spread
    return EstimatedNumber(gamma, error), EstimatedNumber(ratio * gamma, math.hypot(gamma * spread, error))


def _differ(first: EstimatedNumber, second: EstimatedNumber) -> bool:
    return abs(float(first) - float(second)) > _ERRORS * math.hypot(first.error, second.error)


def layer_weights(
    place: TunedPlace, sample: PlaceSample, plan: TuningPlan, kernel: float | None, factor: float
) -> SolvedWeights:
    """The factors of the biases (gamma) and of the weights (xi) of a layer, for its kernel and its chi.

    Without a number for the kernel, that of the first layer stays as it is.

    Raises:
        DeclarationError: no factors do it.
    """
    if not sample.kernel.second.mean() > 0:
        raise place.refused("its weights give 0", "begin with weights that are not 0")
    fixed = EstimatedNumber(1.0, 0.0)
    if plan.target is TuningTarget.SIZE or sample.chi is NOT_MEASURED:
        xi = fixed if kernel is None else sample.kernel.weight(kernel, gamma=1.0)
        if xi is None:
            reason = f"its biases alone have the mean square {sample.kernel.first.mean():.4g}"
            raise DeclarationError(f"kernel = {kernel:.4g} at {place.name}", reason, "choose a larger kernel")
        return fixed, xi
    xi = sample.chi.weight(factor, gamma=1.0)
    assert xi is not None
    if plan.target is TuningTarget.GRADIENT:
        return fixed, xi
    assert kernel is not None
    gamma = sample.kernel.weight(kernel, xi=float(xi))
    if gamma is None:
        raise DeclarationError(
            f"kernel = {kernel:.4g} at {place.name}",
            f"with chi = {factor:.4g} its weights give {sample.kernel.average(0, xi):.4g}, "
            "and no factor of its biases gives the rest",
            "choose another kernel, biases that are not 0, or target='gradient'",
        )
    return gamma, xi
