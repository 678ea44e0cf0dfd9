"""Averages of two smooth functions where a series is too long: sums over the plane, and over a line.

Functions are of entries, columns of one axis; their values may have axes before that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as xp

from ..runtime.array_types import Floats
from .clustered_nodes import _FARTHEST, Rule, _at_nodes, _clustered, _eps

Function: TypeAlias = Callable[..., Floats]

_PLANE_STEP = 0.15  # from node to node: twice that leaves at most the root of a rounding of tanh at any kernel


def _plane_average(
    f: Function,
    g: Function,
    K1: Floats,
    K2: Floats,
    rho: Floats,
    complement: Floats,
    parameters: Sequence[Floats],
    finer: int,
) -> Floats:
    """<f(z1) g(z2)> of inputs that are not parallel; nan where nodes are too far apart.

    Two inputs share a part u, z = sqrt(K)*(sqrt(r)*u + sqrt(1 - r)*v) with r = abs(rho) and v of each input alone. So
    the average over u is that of a product of averages over v. Those change around z = 0, and the nodes of v are close
    together there; the nodes of u at 0. The complement is sqrt(1 - rho**2).
    """
    distance = (complement * complement / (1.0 + xp.abs(rho)))[:, None]  # large kernels need all digits of 1 - r
    shared, apart = xp.sqrt(1.0 - distance), xp.sqrt(distance)
    largest = xp.sqrt(xp.maximum(K1, K2))[:, None] * shared
    u, weight = _clustered(1.0 / largest.clip(1.0)[:, 0] / finer**2, 0.0 * rho, _PLANE_STEP / finer)
    deviations = xp.stack([xp.sqrt(K1), xp.sqrt(K2) * xp.where(rho < 0.0, -1.0, 1.0)])[..., None]
    scales = 1.0 / (xp.abs(deviations) * apart).clip(1.0) / finer**2 + 0.0 * u
    middle = (-shared / apart * u).clip(-_FARTHEST, _FARTHEST) + 0.0 * scales
    v, mass = _clustered(scales, middle, _PLANE_STEP / finer)
    z = deviations[..., None] * (shared[..., None] * u[..., None] + apart[..., None] * v)
    columns = [p[:, None, None] if p.shape else p for p in parameters]
    one, two = (h(z_of_one, *columns) * weights for h, z_of_one, weights in zip((f, g), z, mass))
    coarse = 4.0 * one[..., ::2].sum(-1) * two[..., ::2].sum(-1) * weight
    one, two = one.sum(-1), two.sum(-1)
    squares = [0.5 * (h * h + xp.flip(h * h, (-1,))) * weight for h in (one, two)]  # the last one is both ends
    return _settled((one * two * weight).sum(-1), 2.0 * coarse[..., ::2].sum(-1), squares)


def _parallel_average(
    f: Function,
    g: Function,
    K1: Floats,
    K2: Floats,
    rho: Floats,
    complement: Floats,
    parameters: Sequence[Floats],
    rule: Rule,
) -> Floats:
    """<f(z1) g(z2)> of parallel or opposite inputs, which are one variable; nan where nodes are too far apart."""
    x, weight, _ = rule
    one, two = (_at_nodes(h, K, parameters, x) for h, K in ((f, K1), (g, K2)))
    terms = one * xp.where(rho[:, None] < 0.0, xp.flip(two, (0,)), two)
    squares = [(h * h).sum(0) * weight for h in (one, two)]
    return _settled((terms @ weight).sum(0), 2.0 * (terms[..., ::2] @ weight[::2]).sum(0), squares)


def _settled(value: Floats, coarse: Floats, squares: Sequence[Floats]) -> Floats:
    """A sum over all nodes; nan where that over every second node is not near: nodes may be closer.

    It is infinite where functions have mass at the last node, as those have that grow like exponentials: closer nodes
    would change nothing. The squares are the terms of <f**2> and of <g**2>.
    """
    eps, (first, second) = _eps(value), (terms.sum(-1) for terms in squares)
    near = xp.abs(value - coarse) <= 2.0 * math.sqrt(eps) * xp.sqrt(first) * xp.sqrt(second)
    value = xp.where(near, value, math.nan)
    for terms, total in zip(squares, (first, second)):
        value = xp.where(terms[..., -1] <= eps * total, value, math.inf)
    return value
