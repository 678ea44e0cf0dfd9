"""What is measured at one place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...results.annotated_numbers import EstimatedNumber

MEASURED = (
    "kernel",
    "mean",
    "cosine",
    "covariance",
    "token_cosine",
    "apjn_forward",
    "apjn_backward",
    "gradient_norm",
    "adam_change",
)
_UNKNOWN = EstimatedNumber(math.nan, math.nan)
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
        errors_given_inputs: standard errors of numbers of these very networks and inputs, by name: those that random
            directions make; 0 of a kernel.
        adam_change: the norm of what one step of Adam adds, over the norm before; nan where that is 0.
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
    errors_given_inputs: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)
    adam_change: EstimatedNumber = _UNKNOWN

    def number(self, name: str) -> EstimatedNumber:
        """One of the measured numbers, by its name."""
        found = getattr(self, name)
        assert isinstance(found, EstimatedNumber)
        return found

    def error_given_inputs(self, name: str) -> float:
        """The error of a number of these very networks and inputs; where it is not known the standard error."""
        error = self.errors_given_inputs.get(name, math.nan)
        return self.number(name).error if math.isnan(error) else error
