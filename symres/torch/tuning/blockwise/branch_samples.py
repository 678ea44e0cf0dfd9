"""What is measured of a residual block: sizes of stream and branch, and the Jacobian of the branch.

The next stream is ``z' = gamma z + xi R(z)``. Its mean square is ``gamma^2 G_zz + 2 gamma xi G_Rz + xi^2 G_RR`` (PDLT
(B.44)). Its Jacobian is ``gamma 1 + xi dR/dz``, whose squared norm per neuron is likewise

    chi = (1/n) sum_ij (dz'_i/dz_j)^2 = gamma^2 + 2 gamma xi J_R1 + xi^2 J_RR,

with ``J_RR = (1/n) sum_ij (dR_i/dz_j)^2`` and ``J_R1 = (1/n) sum_i dR_i/dz_i``. A cotangent v with entries +-1 gives
both without bias from one reverse pass g = v dR/dz: ``g.g/n`` and ``g.v/n`` (Hutchinson).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ....results.annotated_numbers import EstimatedNumber
from ...measuring.averaging import average, units_of
from ...probing.network_passes import mean_products
from ..batch_errors import SignSource, jacobian_probes
from .perturbations import TangentSample


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
