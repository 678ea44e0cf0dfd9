"""Fully connected residual blocks with BatchNorm: ResNet with its convolutions replaced, Doshi et al. appendix B."""

from __future__ import annotations

import torch
from torch import nn

from .drawing import draw
from .stream_network import StreamNetwork


class DenseResidualBlock(nn.Module):
    """``h' = mu*h + branch``, the branch being units ``Linear(relu(BatchNorm(.)))``.

    Args:
        width: neurons.
        mu: weight of the skip connection.
        units: how many units a branch has.
    """

    def __init__(self, width: int, mu: float, units: int) -> None:
        super().__init__()
        self.mu = mu
        layers = [(nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width)) for _ in range(units)]
        self.branch = nn.Sequential(*(layer for unit in layers for layer in unit))

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """One block; h has the shape (inputs, width)."""
        return self.mu * h + self.branch(h)


class BatchNormMlp(StreamNetwork):
    """A read-in and equal blocks; the output is the last stream, in train mode normalised over the batch.

    Args:
        inputs: dimension of the input.
        width: neurons in a layer.
        depth: blocks.
        sigma_w: square root of fan_in times the variance of weights.
        sigma_b: standard deviation of biases.
        mu: weight of the skip connections.
        units: layers in the branch of a block.
    """

    def __init__(
        self,
        inputs: int,
        width: int,
        depth: int,
        *,
        sigma_w: float,
        sigma_b: float = 0.0,
        mu: float = 1.0,
        units: int = 2,
    ) -> None:
        super().__init__(nn.Linear(inputs, width), (DenseResidualBlock(width, mu, units) for _ in range(depth)))
        draw(self, sigma_w, sigma_b)
