"""Whether a layer averages over its inputs: then its theory is that of a batch, with one kernel and one covariance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import sympy as sp

from ..nets.forward_walk import Forward
from ..nets.gram_net import GramNet, Neurons
from ..sampling.random_points import parameters, stream
from .comparison import FAILURES

_WIDTH, _INPUTS = 4, 2


class _Listening(GramNet):
    """A small network that notes whether an average over the inputs is asked for."""

    asked = False

    def batch(self, u: Neurons) -> Neurons:
        self.asked = True
        return super().batch(u)


def needs_batch(forward: sp.Expr, free: Iterable[sp.Symbol], seed: int, fixed: Mapping[str, sp.Expr]) -> bool:
    """Whether a node of a forward equation asks a network for an average over the inputs: read off a walk.

    Args:
        forward: the forward equation.
        free: the symbols that need numbers.
        seed: of the numbers that are drawn for symbols.
        fixed: numbers of parameters that the user has fixed, by name.

    Returns:
        False also for a layer that cannot be walked: each comparison says why.
    """
    net = _Listening(_WIDTH, stream(seed, "batch"))
    try:
        Forward(forward, parameters(free, net.rng, fixed))(net, net.stream(1, np.eye(_INPUTS)))
    except FAILURES:
        return False
    return net.asked
