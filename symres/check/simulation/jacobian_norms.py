"""Squared norms of the Jacobians of networks, layer by layer: by tangents (forward) or by autograd (backward)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..nets.dual_numbers import Dual
from ..nets.forward_walk import Forward
from ..nets.gram_net import GramNet
from ..nets.torch_tensor import Tensor, torch

Rule = Callable[[Forward, GramNet, np.ndarray, int, bool, np.random.Generator], np.ndarray]


def forward_mode(
    layer: Forward, net: GramNet, z: np.ndarray, depth: int, exact: bool, rng: np.random.Generator
) -> np.ndarray:
    """(1/n) sum_ij (d z^l_i / d z_j)^2 for l = 1..depth, from tangents that walk with the neurons.

    Args:
        layer: the forward equation.
        net: the network, which draws the layers.
        z: the first stream, (nets, n, inputs); the result is an average over the inputs of derivatives in the own one.
        depth: number of layers.
        exact: all n directions j; else one direction with entries +-1, whose average is the same (Hutchinson).
        rng: source of the signs: those of different inputs are independent, so that only the own input adds up.

    Returns:
        Shape (nets, depth).
    """
    nets, n, inputs = z.shape
    neurons = Dual(z, _signs(rng, nets, 1, inputs, 1) * np.eye(n)[:, None] if exact else _signs(rng, *z.shape, 1))
    found = []
    for _ in range(depth):
        neurons = layer(net, neurons)
        found.append(np.square(neurons.tangent).sum(axis=3).mean(axis=(1, 2)))
    return np.stack(found, axis=1)


def autograd(
    layer: Forward, net: GramNet, z: np.ndarray, depth: int, exact: bool, rng: np.random.Generator
) -> np.ndarray:
    """The norms of ``forward_mode`` by PyTorch: gradients of a later stream's neurons, or of one signed sum of them.

    Args, returns: as for ``forward_mode``.
    """
    t = torch()
    first = t.from_numpy(z).requires_grad_()
    neurons = Tensor(first)
    found = []
    for _ in range(depth):
        neurons = layer(net, neurons)
        nets, n, inputs = neurons.shape
        signs = _signs(rng, nets, 1, inputs) * np.eye(n)[:, None, :, None] if exact else _signs(rng, 1, nets, n, inputs)
        (gradients,) = t.autograd.grad(
            neurons.data, first, t.from_numpy(signs), retain_graph=True, is_grads_batched=True
        )
        found.append((gradients**2).sum(dim=(0, 2)).mean(dim=1).numpy() / n)
    return np.stack(found, axis=1)


def _signs(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 2, shape) * 2.0 - 1.0
