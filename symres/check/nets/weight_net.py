"""Finite networks with real weight matrices: slow, and the definition of everything else."""

from __future__ import annotations

import numpy as np

from .gram_net import GramNet, Neurons


class WeightNet(GramNet):
    """As :class:`GramNet`, but every dense layer draws its weights and biases."""

    def dense(self, u: Neurons, C_W: float, C_b: float, width: float = 1.0) -> Neurons:
        """A dense layer with fresh weights and biases, shape (nets, width*n, inputs)."""
        nets, fan_in, _ = u.shape
        fan_out = max(1, round(width * self.n))
        weights = self.rng.standard_normal((nets, fan_out, fan_in))
        biases = self.rng.standard_normal((nets, fan_out, 1))
        return np.sqrt(C_W / fan_in) * (weights @ u) + np.sqrt(C_b) * biases
