"""What recursions through the layers of a network have in common.

A network is a tuple: its layers; whether rounding of C between nearly parallel inputs costs digits; whether a layer
takes the determinant of two inputs; whether one needs the direction of an input; how many entries pass all layers at a
time. A layer is a tuple: its functions of one input, of two, the slope of the latter in C and the part by which
parallel inputs differ, or None; whether it needs the direction of an input; the names of its parameters.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as xp

from .array_types import Floats, Function, Maps, Near, Network, Own

_NEAR = 1e-5  # where 1 - C/sqrt(K1*K2) is less, it is carried from layer to layer
_SMALLEST = 1e-150  # kernels below count as 0: their products are no floats
# place and weight of the rule of Gauss and Legendre on [0, 1], and the weight in one of lower order
_NODES = (
    (0.046910077030668004, 0.11846344252809454, 0.2029644385479832),
    (0.23076534494715845, 0.23931433524968324, 0.0),
    (0.5, 0.28444444444444444, 0.5940711229040336),
    (0.7692346550528415, 0.23931433524968324, 0.0),
    (0.953089922969332, 0.11846344252809454, 0.2029644385479832),
)


def _by_layer(network: Network, values: Mapping[str, object]) -> list[tuple]:
    """The parameters of every layer: a list or tuple has one value for each."""
    layers = network[0]
    for name, value in values.items():
        if isinstance(value, (list, tuple)) and len(value) != len(layers):
            raise ValueError(f"{name} has {len(value)} values, but the network has {len(layers)} layers")
    rows = [[values[name] for name in layer[-1]] for layer in layers]
    return [tuple([v[i] if isinstance(v, (list, tuple)) else v for v in row]) for i, row in enumerate(rows)]


def _narrowed(slope: Function, before: Near, own: tuple[Own, Own], row: Own) -> tuple[Floats, Floats]:
    """How far C' is below that of parallel inputs: the integral of dC'/dC over the gap, in the root of the distance.

    Returns:
        the integral, and by how much one of lower order differs.
    """
    K1, K2, size, gap = before
    total, other = 0.0 * gap, 0.0 * gap
    for v, weight, lower in _NODES:
        inner = gap * (v * v)
        part = 2.0 * v * slope(K1, K2, size - inner, inner * (2.0 * size - inner), *own, *row)
        total, other = total + weight * part, other + lower * part
    return gap * total, gap * abs(total - other)


def _parted(
    pair: Maps, parallel: Function | None, before: Near, following: Floats, own: tuple[Own, Own], row: Own
) -> Floats:
    """How far C' of parallel inputs is below sqrt(K1'*K2'); ``parallel`` is the difference of their squares."""
    K1, K2, size, _ = before
    if parallel is not None:
        more = parallel(K1, K2, *row)
        return more / (following + xp.sqrt(xp.clip(following * following - more, 0.0, None)))
    apart = following - pair(K1, K2, size, 0.0 * size, 0.0 * size, *own, *row)[0]
    return xp.where((K1 == K2) | (apart < 1e-15 * following), 0.0, apart)
