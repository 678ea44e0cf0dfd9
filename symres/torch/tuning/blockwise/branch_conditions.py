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
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ....core.errors import DeclarationError
from ....results.annotated_numbers import EstimatedNumber
from ....studies.tune_block import tune_block
from ...measuring.averaging import average, units_of
from ...probing.network_passes import mean_products
from ..batch_errors import SignSource, jacobian_probes
from ..tuning_report import TunedWeight, TuningTarget
from .stream_passes import TangentSample

_ERRORS = 3.0  # a difference counts from so many standard errors on


@dataclass(frozen=True)
class BranchSample:
    """Measurements of one block with the branch R as it is.

    Args:
        G_zz: mean square of the stream of each input, shape (inputs,).
        G_RR: of the branch.
        G_Rz: mean product of both.
        J_RR: squared norm of the Jacobian of the branch, shape (inputs, probes).
        J_R1: its trace, likewise.
        tangents: of perturbations from the first block; None where they are not needed.
    """

    G_zz: np.ndarray
    G_RR: np.ndarray
    G_Rz: np.ndarray
    J_RR: np.ndarray
    J_R1: np.ndarray
    tangents: TangentSample | None = None

    def growth(self, gamma: float, xi: float) -> EstimatedNumber:
        """Mean square of ``gamma z + xi R`` over that of z, averages over inputs; error from their scatter."""
        return ratio_of_means(gamma**2 * self.G_zz + 2 * gamma * xi * self.G_Rz + xi**2 * self.G_RR, self.G_zz)

    def chi(self, gamma: float, xi: float) -> EstimatedNumber:
        """Squared norm of the Jacobian of ``gamma z + xi R`` per neuron; error over inputs and probes."""
        return average((gamma**2 + 2 * gamma * xi * self.J_R1 + xi**2 * self.J_RR)[None])

    def stretch(self, gamma: float, xi: float) -> EstimatedNumber:
        """Mean square of tangents behind ``gamma z + xi R`` over that of tangents before; nan where there are none."""
        if self.tangents is None:
            return EstimatedNumber(float("nan"), float("nan"))
        after, before = self.tangents.leaving(gamma, xi), self.tangents.T_zz
        return ratio_of_means(units_of(after[None]), units_of(before[None]))

    def apjn(self, gamma: float, xi: float) -> EstimatedNumber:
        """APJN from the first block to what leaves ``gamma z + xi R``; nan where it is not measured."""
        if self.tangents is None:
            return EstimatedNumber(float("nan"), float("nan"))
        return average(self.tangents.leaving(gamma, xi)[None])

    def numbers(self) -> dict[str, EstimatedNumber]:
        """The averages by name, with standard errors."""
        return {name: average(getattr(self, name)[None]) for name in ("G_zz", "G_RR", "G_Rz", "J_RR", "J_R1")}


def ratio_of_means(above: np.ndarray, below: np.ndarray) -> EstimatedNumber:
    """The ratio of two averages over the same inputs, with its standard error to first order; nan of one input."""
    value = float(above.mean() / below.mean())
    if len(above) < 2:
        return EstimatedNumber(value, float("nan"))
    scatter = (above - value * below).std(ddof=1) / np.sqrt(len(above))
    return EstimatedNumber(value, float(scatter / abs(below.mean())))


def sample_of_branch(
    stream: torch.Tensor, branch: torch.Tensor, size: int, sources: Sequence[SignSource]
) -> BranchSample:
    """Measure a branch.

    Args:
        stream: z, with a graph to the branch.
        branch: R(z), of the same shape.
        size: the number of inputs, which the first axis counts.
        sources: of signs, one for each probe.
    """
    norms, traces = jacobian_probes(stream, branch, size, sources)
    pairs = (stream, stream), (branch, branch), (branch, stream)
    zz, RR, Rz = (mean_products(*pair, size) for pair in pairs)
    return BranchSample(zz, RR, Rz, norms, traces)


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
