"""What is measured at one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...results.numbers.estimates import EstimatedNumber

MEASURED = (
    "kernel",
    "mean",
    "cosine",
    "covariance",
    "token_cosine",
    "apjn_forward",
    "apjn_backward",
    "gradient_norm",
)
PREDICTED = ("kernel", "cosine", "apjn_forward", "apjn_backward")


@dataclass(frozen=True)
class PlaceSignals:
    """What was measured at one place. Every number has its standard error in ``.error``, nan where none is known.

    Args:
        name: of the place.
        axes: what the axes of its tensor are taken for.
        entries: N, the number of entries of one input.
        kernel: mean square of the entries.
        mean: of the entries.
        cosine: mean cosine of two different inputs; nan with one input.
        covariance: mean of (1/N) sum_i h_i(x) h_i(y) over pairs of different inputs.
        token_cosine: mean cosine of the features at two positions of the same input; nan without positions.
        apjn_forward: squared Jacobian norm from the start, (1/N) sum_ij (dh_i/dh^0_j)^2.
        apjn_backward: squared Jacobian norm to the output, (1/N_L) sum_ij (dh^L_i/dh_j)^2.
        gradient_norm: norm of the gradient of the loss; nan without a loss.
        gram: (1/N) sum_i h_i(x) h_i(y) for pairs of inputs, averaged over networks, shape (pairs, pairs).
        units: independent measurements of a number by its name: of networks, or else inputs, or else probes.
    """

    name: str
    axes: str
    entries: int
    kernel: EstimatedNumber
    mean: EstimatedNumber
    cosine: EstimatedNumber
    covariance: EstimatedNumber
    token_cosine: EstimatedNumber
    apjn_forward: EstimatedNumber
    apjn_backward: EstimatedNumber
    gradient_norm: EstimatedNumber
    gram: np.ndarray = field(repr=False, compare=False)
    units: Mapping[str, np.ndarray] = field(repr=False, compare=False)

    def number(self, name: str) -> EstimatedNumber:
        """One of the measured numbers, by its name."""
        found = getattr(self, name)
        assert isinstance(found, EstimatedNumber)
        return found
