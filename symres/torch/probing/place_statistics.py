"""Kernels, means, covariances and cosines of the tensor at a place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from .network_passes import accurate

PAIRED = 128  # inputs of which all pairs are compared: their number grows with the square


@dataclass(frozen=True)
class PlaceStatistics:
    """Averages over the N entries (features and positions) of each input.

    Args:
        kernel: mean square, shape (inputs,).
        mean: shape (inputs,).
        gram: (1/N) sum of products of two inputs, shape (pairs, pairs) for the first ``PAIRED`` inputs.
        tokens: mean cosine of the features at two different positions, shape (inputs,); nan with one position.
        axes: what the axes of the tensor are taken for.
        entries: N.
    """

    kernel: np.ndarray
    mean: np.ndarray
    gram: np.ndarray
    tokens: np.ndarray
    axes: str
    entries: int


def statistics_of(tensor: torch.Tensor, size: int, module: nn.Module) -> PlaceStatistics:
    """Averages over the entries of a tensor.

    Args:
        tensor: its first axis counts inputs.
        size: the number of inputs.
        module: that it enters or leaves: with convolutions in one dimension, three axes are (inputs, channels, length).
    """
    axes, features_first = _axes(tensor, module)
    rows = accurate(tensor.detach()).reshape(size, -1)
    gram = rows[:PAIRED] @ rows[:PAIRED].T / rows.shape[1]
    features = accurate(tensor.detach())
    if features_first:
        features = features.movedim(1, -1)
    features = features.reshape(size, -1, features.shape[-1])
    return PlaceStatistics(
        kernel=_array(rows.square().mean(dim=1)),
        mean=_array(rows.mean(dim=1)),
        gram=_array(gram),
        tokens=_array(_mean_cosine(features)),
        axes=axes,
        entries=rows.shape[1],
    )


def _axes(tensor: torch.Tensor, module: nn.Module) -> tuple[str, bool]:
    """What the axes mean, and whether that of the features is the second one."""
    if tensor.ndim <= 2:
        return ("inputs, features" if tensor.ndim == 2 else "inputs"), False
    if tensor.ndim == 3:
        one = (nn.Conv1d, nn.ConvTranspose1d)
        channels = any(isinstance(part, one) for part in module.modules())
        return ("inputs, channels, positions", True) if channels else ("inputs, tokens, features", False)
    return f"inputs, channels, {', '.join(['positions'] * (tensor.ndim - 2))}", True


def _mean_cosine(features: torch.Tensor) -> torch.Tensor:
    """The mean cosine of two different rows of each matrix; the square of the sum of unit vectors has all of them."""
    count = features.shape[1]
    if count < 2 or features.shape[2] < 2:
        return torch.full((features.shape[0],), torch.nan, dtype=features.dtype)
    units = features / features.norm(dim=2, keepdim=True)
    return (units.sum(dim=1).square().sum(dim=1) - count) / (count * (count - 1))


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.cpu().numpy().astype(float)
