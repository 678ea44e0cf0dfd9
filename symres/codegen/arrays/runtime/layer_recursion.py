"""What recursions through the layers of a network have in common."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

import numpy as xp

from .array_types import Apart, Bools, Entries, Floats, Function, Maps, Near, Own, OwnOfLayers
from .error_free import _determinant, _moving_with

# functions of one input, of two, the slope of the latter in C, the part by which parallel inputs differ, or None;
# whether the layer needs the direction of an input; the names of its parameters; the function of changes, or None
_Layer = collections.namedtuple("_Layer", "one pair slope parallel directed parameters moved", defaults=[None])
# whether rounding of C between nearly parallel inputs costs digits, and whether a layer takes the determinant of inputs
# or needs the direction of one; how many entries pass all layers at a time
_Network = collections.namedtuple("_Network", "layers sharp determined directed entries")
_SMALLEST = 1e-150  # kernels below count as 0: their products are no floats
_LOST = xp.nan  # the kernel of an input without a direction, where a normaliser needs one
# place and weight of the rule of Gauss and Legendre on [0, 1], and the weight in one of lower order
_NODES = (
    (0.046910077030668004, 0.11846344252809454, 0.2029644385479832),
    (0.23076534494715845, 0.23931433524968324, 0.0),
    (0.5, 0.28444444444444444, 0.5940711229040336),
    (0.7692346550528415, 0.23931433524968324, 0.0),
    (0.953089922969332, 0.11846344252809454, 0.2029644385479832),
)


def _by_layer(network: _Network, values: Mapping[str, object]) -> list[tuple]:
    """The parameters of every layer: a list or tuple has one value for each."""
    layers = network.layers
    for name, value in values.items():
        if isinstance(value, (list, tuple)) and len(value) != len(layers):
            raise ValueError(f"{name} has {len(value)} values, but the network has {len(layers)} layers")
    rows = [[values[name] for name in layer.parameters] for layer in layers]
    return [tuple([v[i] if isinstance(v, (list, tuple)) else v for v in row]) for i, row in enumerate(rows)]


def _inputs(network: _Network, state: Own, parameters: Sequence[Own]) -> tuple[OwnOfLayers, list[Bools]]:
    """For every layer the numbers of an input and what else the layer needs of that alone; last the final numbers.

    Args:
        network: the layers.
        state: the kernel of the input; with positions also the covariance of two of them.
        parameters: of every layer.

    Returns:
        those, and where there is none behind so many layers: an input of kernel 0 has no direction, which a normaliser
        needs. There the recursion goes on with ``_LOST``.
    """
    K, *others = state
    kept, lost = [], [K < 0.0]
    K = xp.where(K >= 0.0, K, K if network.directed else xp.nan)
    for layer, row in zip(network.layers, parameters):
        K = _replaced(K, xp.abs(K) < _SMALLEST, 0.0)
        if network.directed:
            lost.append(lost[-1] | ~(K > 0.0 if layer.directed else K >= 0.0))
            K = xp.where(lost[-1], _LOST, K)
        following = layer.one(K, *others, *row)
        kept.append((K, *others, *following[len(state) :]))
        K, *others = following[: len(state)]
    return (*kept, (xp.where(lost[-1], _LOST, K) if network.directed else K, *others)), lost


def _changes_of(network: _Network, inputs: OwnOfLayers, changes: Own, parameters: Sequence[Own]) -> Iterator[Own]:
    """The covariances of changes of an input before the first layer and behind each one."""
    yield changes
    for own, layer, row in zip(inputs, network.layers, parameters):
        changes = layer.moved(*own[: len(changes)], *changes, *row) if changes else ()
        yield changes


def _through_layers(
    network: _Network,
    first: OwnOfLayers,
    second: OwnOfLayers,
    both: Own,
    tangents: Own,
    same: Bools,
    parameters: Sequence[Own],
) -> Iterator[Own]:
    """The kernels and the tangent kernels before the first layer and behind each one.

    Equal inputs keep the kernel of one.
    The slope of a function with a kink changes with the root of the distance of C from sqrt(K1*K2), which rounding of
    C would hide for nearly parallel inputs: there the distance itself is carried from layer to layer.
    """
    K1, K2, C, count = first[0][0], second[0][0], both[0], len(both)
    apart = _separated(K1, K2, C, same, network.sharp) if network.determined else (C, C, C)  # which no layer takes
    yield *both, *tangents
    for number, (layer, row) in enumerate(zip(network.layers, parameters)):
        one, other = first[number], second[number]
        extras, before = (one[count:], other[count:]), (K1, K2, *apart[:2])
        maps = layer.pair(*one[:count], *other[:count], *both, *tangents, apart[2], *extras, *row)
        values = [_full(a, C) for a in maps]
        K1, K2 = first[number + 1][0], second[number + 1][0]
        both = tuple([_replaced(a, same, k) for a, k in zip(values, first[number + 1][:count])])
        tangents = tuple(values[count:])
        C = both[0]
        yield *both, *tangents
        if network.determined:
            apart = _separated_behind(K1, K2, C, same, network.sharp)
        if network.sharp:
            apart = _carried(layer, _is_near(*before[2:]) & ~same, before, apart, extras, row)


def _is_near(size: Floats, gap: Floats) -> Bools:
    """Whether the distance of C from sqrt(K1*K2) is carried: 1 - C/sqrt(K1*K2) is below 1e-5 (8e-3 in float32)."""
    return gap < 1.65 * float(xp.finfo(gap.dtype).eps) ** (1 / 3) * size


def _separated(K1: Floats, K2: Floats, C: Floats, same: Bools, sharp: bool) -> Apart:
    """The size sqrt(K1*K2), how far C is below it, by the determinant where inputs are near, and K1*K2 - C**2."""
    determinant = _replaced(_full(_determinant(K1, K2, C), C), same, 0.0)
    if not sharp:
        return C, C, determinant
    k1, k2, c, product = map(_fixed, (K1, K2, C, determinant))
    size = _full(xp.sqrt(k1) * xp.sqrt(k2), C)
    gap = size - c
    return size, _replaced(gap, _is_near(size, gap), product / (size + c)), determinant


def _separated_behind(K1: Floats, K2: Floats, C: Floats, same: Bools, sharp: bool) -> Apart:
    """The same behind a layer, whose C has been rounded: no product needs more digits."""
    size = _full(xp.sqrt(K1) * xp.sqrt(K2), C)
    gap = size - C
    return size, gap, _replaced(xp.maximum(gap * (2.0 * size - gap), 0.0), same, 0.0)


def _behind(layer: _Layer, before: Near, after: Apart, extras: tuple[Own, Own], row: Own) -> Apart:
    """What is known behind a layer of inputs that were near before it: their distance, if it is certain, is carried."""
    size, gap, determinant = after
    narrowed, doubt = _narrowed(layer.slope, before, extras, row)
    distance = narrowed + _parted(layer.pair, layer.parallel, before, size, extras, row)
    certain = doubt <= 0.5 * float(xp.finfo(size.dtype).eps) * size  # slopes may change fast
    product = distance * (2.0 * size - distance)
    return size, xp.where(certain, distance, gap), xp.where(certain, product, determinant)


def _carried(layer: _Layer, near: Bools, before: Near, after: Apart, extras: tuple[Own, Own], row: Own) -> Apart:
    """What is known behind a layer, with the distances of inputs that were near before it."""
    if near.any():
        carried = _behind(layer, *(_entries_at(a, near) for a in (before, after, extras, row)))  # type: ignore[arg-type]
        for whole, part in zip(after, carried):
            whole[near] = part
    return after


def _entries_at(a: Entries, near: Bools) -> Entries:
    """The entries of an array, or of each of a tuple; what is one number stays one."""
    if isinstance(a, tuple):
        return tuple([_entries_at(entry, near) for entry in a])  # type: ignore[return-value]
    return a if isinstance(a, float) or a.ndim == 0 else xp.broadcast_to(a, near.shape)[near]  # type: ignore


def _full(a: Floats | float, like: Floats) -> Floats:
    """An array of the shape of another one."""
    return xp.asarray(a) if xp.shape(a) == like.shape else xp.array(xp.broadcast_to(a, like.shape))


def _replaced(a: Floats, mask: Bools, value: Floats | float) -> Floats:
    """An array with another value in some places, where it moves as it did before."""
    return _moving_with(a, xp.where(mask, value, a))


def _fixed(a: Floats) -> Floats:
    """An array without derivatives."""
    return a


def _narrowed(slope: Function, before: Near, extras: tuple[Own, Own], row: Own) -> tuple[Floats, Floats]:
    """How far C' is below that of parallel inputs: the integral of dC'/dC over the gap, in the root of the distance.

    Returns:
        the integral, and by how much one of lower order differs.
    """
    K1, K2, size, gap = before
    total, other = 0.0 * gap, 0.0 * gap
    for v, weight, lower in _NODES:
        inner = gap * (v * v)
        part = 2.0 * v * slope(K1, K2, size - inner, inner * (2.0 * size - inner), *extras, *row)
        total, other = total + weight * part, other + lower * part
    return gap * total, gap * abs(total - other)


def _parted(
    pair: Maps, parallel: Function | None, before: Near, following: Floats, extras: tuple[Own, Own], row: Own
) -> Floats:
    """How far C' of parallel inputs is below sqrt(K1'*K2'); ``parallel`` is the difference of their squares."""
    K1, K2, size, _ = before
    if parallel is not None:
        difference = parallel(K1, K2, *row)
        return difference / (following + xp.sqrt(xp.clip(following * following - difference, 0.0, None)))
    apart = following - pair(K1, K2, size, 0.0 * size, 0.0 * size, *extras, *row)[0]
    return xp.where((K1 == K2) | (apart < 1e-15 * following), 0.0, apart)
