"""ResNet with LayerNorm at infinitely many channels: chi_J of the last block, as symres derives it from the blocks.

The blocks are those of ``models.resnet``, their images ``Listed`` positions with zeros beyond the edges, or those of a
``Torus``, on which all pixels are alike. LayerNorm is over channels and pixels.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy as sp
import torch
from numpy.typing import NDArray

import symres as sr

from .models.resnet import BLOCKS, CHANNELS


def chi_of_last_block(
    images: torch.Tensor,
    C_W: float,
    C_b: float,
    mu: float,
    padding: str = "zeros",
    stages: int = len(CHANNELS),
    blocks: int = BLOCKS,
) -> float:
    """J^{L-1,L} of the last block, averaged over images.

    Args:
        images: shape (images, channels, side, side).
        C_W: fan_in times the variance of weights.
        C_b: variance of biases.
        mu: weight of the skip connections.
        padding: "zeros" or "circular".
        stages: number of stages; all but the first halve the image.
        blocks: in each stage.
    """
    side, last = images.shape[-1], stages * blocks + 1
    network = _network(padding, side, stages, blocks)
    kernels = (_kernel(image.double().numpy(), padding) for image in images)
    return float(np.mean([network.apjn(last - 1, last, K, C_W=C_W, C_b=C_b, gamma=mu) for K in kernels]))


@cache
def _network(padding: str, side: int, stages: int, blocks: int) -> sr.Network:
    """The first convolution and all blocks."""
    relu = sr.activation("relu")

    def conv(u: sp.Expr, stride: int = 1) -> sp.Expr:
        return sr.Conv(relu(sr.LayerNorm(u, over="positions")), stride=stride)

    block = sr.Layer(sr.gamma * sr.z + conv(conv(sr.z)))
    halving = sr.Layer(sr.gamma * sr.Conv(sr.z, size=1, stride=2) + conv(conv(sr.z, 2)))
    firsts = [block, *[halving] * (stages - 1)]
    grid = sr.Torus(side, side) if padding == "circular" else sr.Listed(side, side)
    layers = [layer for first in firsts for layer in (first, *[block] * (blocks - 1))]
    return sr.network([sr.Layer(sr.Conv(sr.z)), *layers], positions=grid)


def _kernel(image: NDArray[np.float64], padding: str) -> NDArray[np.float64]:
    """Covariances of pixels: of all pairs, or the average over those of one displacement."""
    if padding == "circular":
        waves = np.fft.fftn(image, axes=(1, 2))
        return np.fft.ifftn((np.abs(waves) ** 2).mean(0)).real / image[0].size
    pixels = image.reshape(len(image), -1)
    return pixels.T @ pixels / len(image)
