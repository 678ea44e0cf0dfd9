"""Two infinitely wide networks whose weights are nearly the same: what tells a tangent kernel."""

from __future__ import annotations

import numpy as np

from ..rules.shared_panels import SharedPanels
from .limit_net import LimitNet
from .random_field import Affine


class CoupledNet(LimitNet):
    """Networks, one for each input, whose weights and biases have a correlation below 1.

    The covariance of what a dense layer gives to two inputs falls by that factor. By Price's theorem the slope of any
    later covariance in the correlation, at 1, is the sum over all weights and biases, of variance 1 but for their
    scale, of the products of the derivatives in them.

    Args:
        covariance: of the stream over the inputs, with whatever coupling the streams have.
        fall: 1 minus the correlation of the weights.
        resolution: 0 or 1, the finer one.
        differences: <(z_a - z_b)^2>, where the covariance cannot hold its digits.
        panels: what is known of averages in other nets of the same functions.
    """

    def __init__(
        self,
        covariance: np.ndarray,
        fall: float,
        resolution: int = 1,
        differences: np.ndarray | None = None,
        panels: SharedPanels | None = None,
    ) -> None:
        self._fall = 0.0  # the stream is as it was given
        super().__init__(covariance, resolution, differences, panels)
        self._fall = fall

    def _drawn(self, covariance: np.ndarray, differences: np.ndarray, sizes: np.ndarray) -> Affine:
        fallen = self._fall * (covariance - np.diag(np.diag(covariance)))
        return super()._drawn(covariance - fallen, differences + 2 * fallen, sizes)
