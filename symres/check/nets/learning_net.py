"""Finite networks and what a small random change of all their weights and biases does to them."""

from __future__ import annotations

import numpy as np

from .dual_numbers import Dual
from .gram_net import GramNet, Neurons


class LearningNet(GramNet):
    """As :class:`GramNet` for neurons with one tangent, to which every dense layer adds a change of its own.

    With ``y = W u + b`` the tangent is ``dy = W du + dW u + db``, where dW and db have the law of W and b: in the NTK
    parametrisation the average of ``dy_a dy_b`` over the changes is the tangent kernel of the inputs a and b.
    """

    def _gram(self, u: Neurons, C_W: float, C_b: float) -> np.ndarray:
        gram, inputs = super()._gram(u, C_W, C_b), u.shape[2]
        if not isinstance(u, Dual) or gram.shape[-1] != 2 * inputs:
            raise TypeError("a network that learns takes neurons with one tangent")
        gram[:, inputs:, inputs:] += gram[:, :inputs, :inputs]
        return gram
