"""Deep perceptrons of equal layers: Doshi et al. (1), with and without LayerNorm and skip connections."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from .drawing import draw
from .stream_network import StreamNetwork

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "erf": torch.erf,
    "gelu": functional.gelu,
    "relu": functional.relu,
    "tanh": torch.tanh,
}
ARRANGEMENTS = ("none", "pre", "act", "post")


class SkipBlock(nn.Module):
    """``h' = mu*h + W phi(h) + b``, with LayerNorm at one of three places or none.

    Args:
        width: neurons.
        activation: a name in ``ACTIVATIONS``.
        mu: weight of the skip connection.
        norm: "pre": LayerNorm of preactivations, phi(LN(h)); "act": of activations, LN(phi(h)); "post": of the sum;
            "none".
    """

    def __init__(self, width: int, activation: str, mu: float, norm: str) -> None:
        super().__init__()
        self.phi, self.mu, self.arrangement = ACTIVATIONS[activation], mu, norm
        self.norm = nn.Identity() if norm == "none" else nn.LayerNorm(width)
        self.dense = nn.Linear(width, width)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """One layer; h has the shape (inputs, width)."""
        active = self.phi(self.norm(h) if self.arrangement == "pre" else h)
        branch = self.dense(self.norm(active) if self.arrangement == "act" else active)
        stream = branch if self.mu == 0 else self.mu * h + branch
        return self.norm(stream) if self.arrangement == "post" else stream


class DeepMlp(StreamNetwork):
    """A read-in and equal layers; the output is the last stream.

    Args:
        inputs: dimension of the input.
        width: neurons in a layer.
        depth: layers behind the read-in.
        activation: a name in ``ACTIVATIONS``.
        sigma_w: square root of fan_in times the variance of weights.
        sigma_b: standard deviation of biases.
        mu: weight of the skip connections.
        norm: where LayerNorm stands, a name in ``ARRANGEMENTS``.
    """

    def __init__(
        self,
        inputs: int,
        width: int,
        depth: int,
        activation: str,
        *,
        sigma_w: float,
        sigma_b: float = 0.0,
        mu: float = 0.0,
        norm: str = "none",
    ) -> None:
        super().__init__(nn.Linear(inputs, width), (SkipBlock(width, activation, mu, norm) for _ in range(depth)))
        draw(self, sigma_w, sigma_b)
