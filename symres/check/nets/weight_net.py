"""Finite networks with real weight matrices: slow, and the definition of everything else."""

from __future__ import annotations

from typing import Any

import numpy as np

from .gram_net import GramNet


class WeightNet(GramNet):
    """As :class:`GramNet`, but every dense layer draws its weights and biases."""

    def dense(self, u: Any, C_W: float, C_b: float, width: float = 1.0) -> Any:
        """A dense layer with fresh weights and biases, shape (nets, width*n, inputs)."""
        nets, fan_in, _ = u.shape
        fan_out = max(1, round(width * self.n))
        weights = self.rng.standard_normal((nets, fan_out, fan_in))
        biases = self.rng.standard_normal((nets, fan_out, 1))
        return np.sqrt(C_W / fan_in) * np.matmul(weights, u) + np.sqrt(C_b) * biases
