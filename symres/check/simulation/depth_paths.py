"""Kernels and squared gradients of single networks along their depth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from ...results.subjects import Declaration
from ..nets.dual_numbers import Dual
from ..nets.forward_walk import Forward
from ..nets.gram_net import GramNet

_NUMBERS = 2**24  # neurons and tangents of all networks at a time
_LOST = np.log(1e12)
_BATCH = 32  # inputs of a layer that averages over them


def depth_paths(
    layer: Declaration,
    values: Mapping[sp.Symbol, float],
    kernel: float,
    depth: int,
    width: int,
    networks: int,
    seed: int = 0,
    batch: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Networks of equal layers, drawn one by one.

    Args:
        layer: the declaration.
        values: numbers for all of its parameters.
        kernel: of the first stream, whose neurons are independent Gaussian.
        depth: number of layers.
        width: of the stream.
        networks: how many.
        seed: of all random numbers.
        batch: whether the layer averages over inputs: then there are 32 independent ones.

    Returns:
        ``K^l`` and ``J^{0,l}`` for l = 0..depth, each of shape (networks, depth + 1). The Jacobian norm is that along
        one random direction (Hutchinson), averaged over the inputs. A network is left, and has nan from there on, once
        one of both has changed by a factor of 1e12.

    Raises:
        UnsupportedLayer: a parameter without a number, or a function that has no rule in networks.

    Source:
        Doshi et al. (3).
    """
    forward = Forward(layer.forward, {s: sp.Float(v, 17) for s, v in values.items()})
    inputs = _BATCH if batch else 1
    most = max(1, _NUMBERS // (width * inputs * 2))
    parts = []
    for start in range(0, networks, most):
        count, rng = min(most, networks - start), np.random.default_rng([seed, start])
        parts.append(_walked(forward, kernel, depth, width, inputs, count, rng))
    kernels, jacobians = zip(*parts, strict=True)
    return np.concatenate(kernels), np.concatenate(jacobians)


def _walked(
    forward: Forward, kernel: float, depth: int, width: int, inputs: int, networks: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    net = GramNet(width, rng)
    first = np.sqrt(kernel) * rng.standard_normal((networks, width, inputs))
    neurons = Dual(first, rng.integers(0, 2, (*first.shape, 1)) * 2.0 - 1.0)
    found = np.full((2, networks, depth + 1), np.nan)
    left = np.arange(networks)  # functions of huge numbers are slow
    with np.errstate(all="ignore"):
        for place in range(depth + 1):
            if place:
                neurons = forward(net, neurons)
            found[0, left, place] = np.square(neurons.value).mean(axis=(1, 2))
            found[1, left, place] = np.square(neurons.tangent).sum(axis=3).mean(axis=(1, 2))
            change = np.abs(np.log(found[:, left, place] / found[:, left, 0]))
            alive = np.all(change < _LOST, axis=0)
            if not alive.all():
                left, neurons = left[alive], Dual(neurons.value[alive], neurons.tangent[alive])
            if not len(left):
                break
    return found[0], found[1]
