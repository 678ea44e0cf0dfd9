"""ResNet110 for small images with pre-activation blocks, its BatchNorm replaced by LayerNorm or not.

He, Zhang, Ren and Sun, "Identity mappings in deep residual networks": three stages of 18 blocks with two convolutions
each, and 16, 32 and 64 channels; the first blocks of the second and third stage halve the image. Doshi et al. take it
with skip connections of weight mu, and LayerNorm in the place of BatchNorm in figure 4.
"""

from __future__ import annotations

import torch
from torch import nn

from .drawing import draw
from .stream_network import StreamNetwork

CHANNELS, BLOCKS = (16, 32, 64), 18  # of ResNet110: 3 stages of 18 blocks of 2 convolutions, a first and a last layer


def _norm(kind: str, channels: int) -> nn.Module:
    """LayerNorm of an image normalises over channels and pixels together, which is one group of GroupNorm."""
    return nn.GroupNorm(1, channels) if kind == "layer" else nn.BatchNorm2d(channels)


class PreActivationBlock(nn.Module):
    """``h' = mu*skip(h) + conv(relu(norm(conv(relu(norm(h))))))``.

    Args:
        channels: that enter.
        out: that leave.
        stride: 2 halves the image.
        mu: weight of the skip connection, which is a convolution of one pixel where the shape changes.
        norm: "layer" or "batch".
        padding: "zeros", or "circular", for which all pixels are alike.
    """

    def __init__(self, channels: int, out: int, stride: int, mu: float, norm: str, padding: str) -> None:
        super().__init__()
        self.mu = mu
        self.branch = nn.Sequential(
            _norm(norm, channels),
            nn.ReLU(),
            nn.Conv2d(channels, out, 3, stride, padding=1, padding_mode=padding),
            _norm(norm, out),
            nn.ReLU(),
            nn.Conv2d(out, out, 3, padding=1, padding_mode=padding),
        )
        same = stride == 1 and channels == out
        self.skip = nn.Identity() if same else nn.Conv2d(channels, out, 1, stride)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """One block; h has the shape (images, channels, rows, columns)."""
        return self.mu * self.skip(h) + self.branch(h)


class ResNet(StreamNetwork):
    """A first convolution, the blocks of all stages in one list, and a linear classifier.

    Args:
        sigma_w: square root of fan_in times the variance of weights.
        sigma_b: standard deviation of biases.
        mu: weight of the skip connections.
        norm: "layer" or "batch".
        padding: "zeros" or "circular".
        channels: of the stages.
        blocks: in each stage; 18 for ResNet110.
        classes: number of outputs.
    """

    def __init__(
        self,
        *,
        sigma_w: float,
        sigma_b: float = 0.0,
        mu: float = 1.0,
        norm: str = "layer",
        padding: str = "zeros",
        channels: tuple[int, ...] = CHANNELS,
        blocks: int = BLOCKS,
        classes: int = 10,
    ) -> None:
        built, entering = [], channels[0]
        for stage, leaving in enumerate(channels):
            for position in range(blocks):
                stride = 2 if stage and not position else 1
                built.append(PreActivationBlock(entering, leaving, stride, mu, norm, padding))
                entering = leaving
        super().__init__(nn.Conv2d(3, channels[0], 3, padding=1, padding_mode=padding), built)
        self.norm = _norm(norm, entering)
        self.classifier = nn.Linear(entering, classes)
        draw(self, sigma_w, sigma_b)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of images of the shape (images, 3, rows, columns)."""
        h = super().forward(x)
        return self.classifier(torch.relu(self.norm(h)).mean(dim=(2, 3)))
