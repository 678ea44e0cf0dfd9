"""The weights of skip and branch at which a residual block keeps the size of the kernel, of the gradient, or of both.

Both conditions are one quadratic equation with different measurements. With ``q`` the factor by which a block may grow,

    gamma^2 + 2 gamma xi b + xi^2 a = q:    a = G_RR/G_zz, b = G_Rz/G_zz keep the kernel (PDLT (B.45)),
                                            a = J_RR,      b = J_R1      keep gradients (chi = q).

They agree where both pairs do: for branches that are homogeneous of degree 1 and random. Otherwise one weight can keep
one of them, and two weights, their difference ``2 gamma xi (b - b') + xi^2 (a - a') = 0`` solved, can keep both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from ...core.errors import DeclarationError
from ...results.numbers.estimates import EstimatedNumber
from ...studies.tune_block import tune_block
from ..measuring.averaging import average
from .branch_samples import BranchSample, ratio_of_means

_ERRORS = 3.0  # a difference counts from so many standard errors on


class TuningTarget(Enum):
    """What a block keeps."""

    SIZE = "size"
    GRADIENT = "gradient"
    BOTH = "both"


class TunedWeight(Enum):
    """Which weight is solved for, the other one being given."""

    XI = "xi"
    GAMMA = "gamma"


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
    size = target is TuningTarget.SIZE
    if not size and not sample.J_RR.mean() > 0:
        raise DeclarationError(f"the tuning of {name}", "its branch does not depend on the stream", "use target='size'")
    numbers = sample.numbers()
    block, stream, both = (
        (numbers["G_RR"], numbers["G_zz"], numbers["G_Rz"])
        if size
        else (numbers["J_RR"], EstimatedNumber(1.0, 0.0), numbers["J_R1"])
    )
    root = math.sqrt(factor)
    if unknown is TunedWeight.XI:
        if gamma >= root * (1 - 1e-9) and not (float(both) + _ERRORS * both.error < 0):
            raise DeclarationError(
                f"the tuning of {name} at gamma = {gamma:g}",
                f"only a branch of weight 0 keeps the {'size' if size else 'gradient'} of the whole stream",
                "pass growth=2 (over all blocks), or gamma=0.9 with skip_weight= or wrap=True",
            )
        found = root * _tuned(name, block, stream, both, gamma=gamma / root)
        return BlockWeights(EstimatedNumber(gamma, 0.0), EstimatedNumber(found, _error(sample, size, gamma, found, 1)))
    found = root * _tuned(name, block, stream, both, xi=xi / root)
    return BlockWeights(EstimatedNumber(found, _error(sample, size, found, xi, 0)), EstimatedNumber(xi, 0.0))


def _tuned(
    name: str, block: float, stream: float, both: float, *, gamma: float | None = None, xi: float | None = None
) -> float:
    try:
        return tune_block(float(block), float(stream), float(both), gamma=gamma, xi=xi)
    except DeclarationError as error:
        raise DeclarationError(f"the tuning of {name}: {error.asked}", error.found, error.remedy) from error


def _error(sample: BranchSample, size: bool, gamma: float, xi: float, of_xi: int) -> float:
    """What the error of the condition makes of its solution: divided by the slope of the condition."""
    measured = sample.growth(gamma, xi) if size else sample.chi(gamma, xi)
    a = sample.G_RR.mean() / sample.G_zz.mean() if size else sample.J_RR.mean()
    b = sample.G_Rz.mean() / sample.G_zz.mean() if size else sample.J_R1.mean()
    slope = 2 * (gamma * b + xi * a) if of_xi else 2 * (gamma + xi * b)
    return measured.error / abs(slope) if slope else math.nan


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
