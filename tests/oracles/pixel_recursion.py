"""ResNet with LayerNorm at infinitely many channels: the kernel of each pixel, and chi_J of the last block.

LayerNorm divides by the average kernel of all pixels, and for ReLU <relu(z)^2> = K/2 and <relu'(z)^2> = 1/2 at each
pixel, so that the kernels of pixels close on themselves, without the covariances of pixels:

    conv:    k'_i = C_b + (C_W/9) sum_j k_j/(2 m),  m = (1/P) sum_j k_j,  j in the window of i
    block:   k'_i = mu^2 k_i + (conv conv k)_i
    chi_J:   mu^2 + (C_W/18)^2/(m(k) m(conv k)) (1/P) sum_ij (A^2)_ij,  A_ij = 1 where j is in the window of i

With circular padding all pixels are alike, and chi_J is that of the fully connected block,
``gamma*z + Dense(relu(LayerNorm(Dense(relu(LayerNorm(z))))))``. Zero padding loses what leaves the image: pixels in the
middle have larger kernels and more windows that they reach, kernels lose less at the border than Jacobians do, and at
mu = 0 and C_b = 0 chi_J is less than 1. Written by hand, it knows nothing of
symres.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from derivations.doshi_figures.models.resnet import BLOCKS, CHANNELS

_WINDOW = 9


@dataclass(frozen=True)
class PixelRecursion:
    """A ResNet of infinitely many channels, by hand.

    Args:
        C_W: fan_in times the variance of weights.
        C_b: variance of biases.
        mu: weight of the skip connections.
        padding: "zeros" or "circular".
        stages: number of stages; all but the first halve the image.
        blocks: in each stage.
    """

    C_W: float
    C_b: float
    mu: float
    padding: str = "zeros"
    stages: int = len(CHANNELS)
    blocks: int = BLOCKS

    def chi_of_last_block(self, images: torch.Tensor) -> float:
        """J^{L-1,L} of the last block, averaged over images of the shape (images, channels, rows, columns)."""
        pixels = images.double().square().mean(dim=1, keepdim=True)
        stream = self.C_W / _WINDOW * self._window_sums(pixels) + self.C_b
        before = stream
        for stage in range(self.stages):
            for position in range(self.blocks):
                halves = bool(stage) and not position
                before, stream = stream, self._block(stream, 2 if halves else 1)
        inner = self._conv(before)
        reached = self._window_sums(self._window_sums(torch.ones_like(before)))
        scale = (self.C_W / (2 * _WINDOW)) ** 2 / (_mean(before) * _mean(inner))
        return float((self.mu**2 + scale * reached).mean())

    def _block(self, stream: torch.Tensor, stride: int) -> torch.Tensor:
        skip = stream if stride == 1 else self.C_W * stream[..., ::stride, ::stride] + self.C_b
        return self.mu**2 * skip + self._conv(self._conv(stream, stride))

    def _conv(self, kernel: torch.Tensor, stride: int = 1) -> torch.Tensor:
        """LayerNorm, ReLU and a convolution."""
        return self.C_W / _WINDOW * self._window_sums(kernel / (2 * _mean(kernel)), stride) + self.C_b

    def _window_sums(self, kernel: torch.Tensor, stride: int = 1) -> torch.Tensor:
        mode = "constant" if self.padding == "zeros" else self.padding
        ones = torch.ones(1, 1, 3, 3, dtype=kernel.dtype)
        return functional.conv2d(functional.pad(kernel, (1, 1, 1, 1), mode=mode), ones, stride=stride)


def _mean(kernel: torch.Tensor) -> torch.Tensor:
    return kernel.mean(dim=(2, 3), keepdim=True)
