"""MLP-Mixer as Doshi et al. write it down in appendix H, with skip connections of weight mu."""

from __future__ import annotations

import torch
from torch import nn

from .drawing import draw


class MixerLayer(nn.Module):
    """LayerNorm and a perceptron over patches, then LayerNorm and a perceptron over channels: (82) to (89).

    Args:
        patches: N_p.
        channels: C.
        hidden: N_tm = N_cm, the hidden neurons of both perceptrons.
        mu: weight of both skip connections.
    """

    def __init__(self, patches: int, channels: int, hidden: int, mu: float) -> None:
        super().__init__()
        self.mu = mu
        self.norm_of_patches, self.norm_of_channels = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.over_patches = nn.Sequential(nn.Linear(patches, hidden), nn.GELU(), nn.Linear(hidden, patches))
        self.over_channels = nn.Sequential(nn.Linear(channels, hidden), nn.GELU(), nn.Linear(hidden, channels))

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        """One layer; h has the shape (images, patches, channels)."""
        h = self.mu * h + self.over_patches(self.norm_of_patches(h).mT).mT
        return self.mu * h + self.over_channels(self.norm_of_channels(h))


class Mixer(nn.Module):
    """Patches of an image, layers of the mixer, LayerNorm, the average over patches and a linear classifier.

    Args:
        sigma_w: square root of fan_in times the variance of weights.
        sigma_b: standard deviation of biases.
        mu: weight of the skip connections.
        image: rows and columns of an image.
        patch: rows and columns of a patch.
        channels: C.
        hidden: neurons between both layers of each perceptron.
        depth: number of mixer layers.
        classes: number of outputs.
    """

    def __init__(
        self,
        *,
        sigma_w: float,
        sigma_b: float = 0.0,
        mu: float = 1.0,
        image: int = 32,
        patch: int = 4,
        channels: int = 128,
        hidden: int = 256,
        depth: int = 30,
        classes: int = 10,
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, channels, patch, stride=patch)
        number = (image // patch) ** 2
        self.blocks = nn.ModuleList(MixerLayer(number, channels, hidden, mu) for _ in range(depth))
        self.norm = nn.LayerNorm(channels)
        self.classifier = nn.Linear(channels, classes)
        draw(self, sigma_w, sigma_b)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of images of the shape (images, 3, rows, columns)."""
        h = self.patches(x).flatten(2).mT
        for block in self.blocks:
            h = block(h)
        return self.classifier(self.norm(h).mean(dim=1))
