"""The weights of skip and branch at which a residual block keeps the size of the kernel, of the gradient, or of both.

The conditions are one quadratic equation with different measurements. With ``q`` the factor by which a block may grow,

    gamma^2 + 2 gamma xi b + xi^2 a = q:    a = G_RR/G_zz, b = G_Rz/G_zz keep the kernel (PDLT (B.45)),
                                            a = J_RR,      b = J_R1      keep gradients of the block (chi = q),
                                            a = T_RR/T_zz, b = T_Rz/T_zz keep the APJN from the first block.

The first two agree where both pairs do: for branches that are homogeneous of degree 1 and random. Otherwise one weight
can keep one of them, and two weights can keep both, which solve ``2 gamma xi (b - b') + xi^2 (a - a') = 0`` as well.
The last two agree where the Jacobians of the blocks are independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ....core.errors import DeclarationError
from ....results.annotated_numbers import EstimatedNumber
from ....studies.tune_block import tune_block
from ...measuring.averaging import average
from ..tuning_targets import TunedWeight, TuningTarget
from .branch_samples import BranchSample, ratio_of_means

_ERRORS = 3.0  # a difference counts from so many standard errors on


@dataclass(frozen=True)
class BlockWeights:
    """Weights of ``z' = gamma z + xi R(z)``, R being the branch as it was found.

    Args:
        gamma: of the skip connection.
        xi: of the branch, with the standard error that inputs and probes leave; likewise gamma if it is solved for.
    """

    gamma: EstimatedNumber
    xi: EstimatedNumber


def solve_block(
    sample: BranchSample, target: TuningTarget, unknown: TunedWeight, gamma: float, xi: float, factor: float, name: str
) -> BlockWeights:
    """The weights of a block.

    Args:
        sample: what was measured.
        target: what is kept.
        unknown: the weight that is solved for; with both targets, gamma and xi are.
        gamma: the weight of the stream, if it is given.
        xi: of the branch, if it is given.
        factor: q, by which the kernel, or the gradient, may grow in this block.
        name: of the block, for messages.

    Raises:
        DeclarationError: no weight does it, or only a branch of weight 0.
    """
    if not sample.G_RR.mean() > 0:
        raise DeclarationError(
            f"the tuning of {name}", "its branch gives 0", "begin with weights of the branch that are not 0"
        )
    if target is TuningTarget.BOTH:
        return _both(sample, factor, name)
    condition = _condition(sample, target)
    if not float(condition.block) > 0:
        raise DeclarationError(f"the tuning of {name}", "its branch does not depend on the stream", "use target='size'")
    block, stream, both = float(condition.block), float(condition.stream), condition.both
    root = math.sqrt(factor)
    if unknown is TunedWeight.XI:
        if abs(gamma - root) <= 1e-9 * root and not (float(both) + _ERRORS * both.error < 0):
            raise DeclarationError(
                f"the tuning of {name} at gamma = {gamma:g}",
                f"only a branch of weight 0 keeps the {target.value} of the whole stream",
                "pass growth=2 (over all blocks), or gamma=0.9 with skip_weight= or wrap=True",
            )
        found = root * _tuned(name, block, stream, both, gamma=gamma / root)
        return BlockWeights(EstimatedNumber(gamma, 0.0), EstimatedNumber(found, condition.error(gamma, found, True)))
    found = root * _tuned(name, block, stream, both, xi=xi / root)
    return BlockWeights(EstimatedNumber(found, condition.error(found, xi, False)), EstimatedNumber(xi, 0.0))


def _tuned(
    name: str, block: float, stream: float, both: float, *, gamma: float | None = None, xi: float | None = None
) -> float:
    try:
        return tune_block(float(block), float(stream), float(both), gamma=gamma, xi=xi)
    except DeclarationError as error:
        raise DeclarationError(f"the tuning of {name}: {error.asked}", error.found, error.remedy) from error


@dataclass(frozen=True)
class _Condition:
    """``gamma^2 stream + 2 gamma xi both + xi^2 block``, and what it is for given weights, over the stream."""

    block: float
    stream: float
    both: EstimatedNumber
    measured: Callable[[float, float], EstimatedNumber]

    def error(self, gamma: float, xi: float, of_xi: bool) -> float:
        """What the error of the condition makes of its solution: divided by the slope of the condition."""
        a, b = self.block / self.stream, float(self.both) / self.stream
        slope = 2 * (gamma * b + xi * a) if of_xi else 2 * (gamma + xi * b)
        return self.measured(gamma, xi).error / abs(slope) if slope else math.nan


def _condition(sample: BranchSample, target: TuningTarget) -> _Condition:
    if target is TuningTarget.SIZE:
        both = average(sample.G_Rz[None])
        return _Condition(float(sample.G_RR.mean()), float(sample.G_zz.mean()), both, sample.growth)
    if target is TuningTarget.APJN:
        found = sample.tangents
        assert found is not None
        both = average(found.T_Rz[None])
        return _Condition(float(found.T_RR.mean()), float(found.T_zz.mean()), both, sample.stretch)
    return _Condition(float(sample.J_RR.mean()), 1.0, average(sample.J_R1[None]), sample.chi)


def _both(sample: BranchSample, factor: float, name: str) -> BlockWeights:
    a, b = (ratio_of_means(above, sample.G_zz) for above in (sample.G_RR, sample.G_Rz))
    c, d = (average(values[None]) for values in (sample.J_RR, sample.J_R1))
    lengths, overlaps = float(a) - float(c), float(d) - float(b)
    seen = _clear(overlaps, b, d) and _clear(lengths, a, c)
    ratio = 2 * overlaps / lengths if seen else 0.0  # xi/gamma
    square = 1 + 2 * float(b) * ratio + float(a) * ratio**2
    if not ratio > 0 or not square > 0:
        raise DeclarationError(
            f"the tuning of {name}",
            "no positive weights keep kernel and gradient"
            f" (G_RR/G_zz = {float(a):.4g}, G_Rz/G_zz = {float(b):.4g}, J_RR = {float(c):.4g}, J_R1 = {float(d):.4g})",
            "use target='gradient' or target='size', which report what the other one does",
        )
    gamma = math.sqrt(factor / square)
    spread = math.hypot(math.hypot(d.error, b.error) / overlaps, math.hypot(a.error, c.error) / lengths) * ratio
    error = gamma**3 / factor * abs(float(b) + float(a) * ratio) * spread
    return BlockWeights(
        EstimatedNumber(gamma, error), EstimatedNumber(ratio * gamma, math.hypot(gamma * spread, error))
    )


def _clear(difference: float, first: EstimatedNumber, second: EstimatedNumber) -> bool:
    return abs(difference) > _ERRORS * math.hypot(first.error, second.error)
