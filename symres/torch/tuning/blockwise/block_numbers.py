"""What a block does to kernel and gradient with some weights, with errors that know of the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....results.numbers.estimates import EstimatedNumber
from ...measuring.averaging import jackknife_error
from ..batch_errors import at_least
from ..tuning_targets import TuningTarget
from .branch_samples import BranchSample


@dataclass(frozen=True)
class BlockNumbers:
    """Numbers of one block.

    Args:
        kernel: of the stream that leaves.
        growth: of the kernel in the block.
        chi: squared norm of the Jacobian per neuron.
        apjn: from the first block; nan where it is not measured.
        batch_errors: of growth, chi and apjn, from passes without some of the inputs; nan where inputs are independent.
    """

    kernel: float
    growth: EstimatedNumber
    chi: EstimatedNumber
    apjn: EstimatedNumber
    batch_errors: tuple[float, float, float]

    @classmethod
    def of(cls, sample: BranchSample, without: Sequence[BranchSample], gamma: float, xi: float) -> BlockNumbers:
        """From measurements of all inputs, and of all but a few.

        Args:
            sample: of all inputs.
            without: of all but a few, for one group of a few after the other; empty where inputs are independent.
            gamma: the weight of the stream.
            xi: of the branch that was measured.
        """
        growth, chi, apjn = (measure(gamma, xi) for measure in (sample.growth, sample.chi, sample.apjn))
        errors = (math.nan, math.nan, math.nan)
        if without:
            left = np.array([[s.growth(gamma, xi), s.chi(gamma, xi), s.apjn(gamma, xi)] for s in without])
            errors = (jackknife_error(left[:, 0]), jackknife_error(left[:, 1]), jackknife_error(left[:, 2]))
        growth, chi, apjn = (at_least(*pair) for pair in zip((growth, chi, apjn), errors, strict=True))
        return cls(float(sample.G_zz.mean()) * float(growth), growth, chi, apjn, errors)

    def batch_error_of(self, target: TuningTarget) -> float:
        """The error of what a target keeps."""
        growth, chi, apjn = self.batch_errors
        return {TuningTarget.SIZE: growth, TuningTarget.APJN: apjn}.get(target, chi)
