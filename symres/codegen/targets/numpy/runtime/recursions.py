"""Recursions through the layers of a network, and what procedures and curves begin with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import ArrayLike

from ....arrays.feature_rows.kernels_of_rows import _kernels_of_rows
from ....arrays.feature_rows.real_arguments import _covariances, _real
from ....arrays.hermite.matrix_parts import Entries, _chunk, _parts
from ....arrays.runtime.array_types import Bools, Floats, Network
from ....arrays.runtime.error_free import _determinant, _possible
from ....arrays.runtime.layer_recursion import _NEAR, _SMALLEST, _narrowed, _parted
from .blockwise import _valid


def _deep(
    network: Network,
    K1: ArrayLike,
    K2: ArrayLike,
    C: ArrayLike,
    Theta: ArrayLike,
    parameters: Sequence[tuple],
    every_layer: bool,
) -> tuple[Floats, ...]:
    """All layers, block by block; what depends on one input alone is computed before, if there are few."""
    given = [_valid(K1), _valid(K2), _covariances(K1, K2, C), Theta, *(value for row in parameters for value in row)]
    arrays = [_real(a) for a in given]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    result = np.empty((2, len(parameters) + 1 if every_layer else 1, *(shape or (1,))))
    axes = result.ndim - 2
    first, second, covariance, tangent, *others = [a.reshape((1,) * (axes - a.ndim) + a.shape) for a in arrays]
    rest = iter([a.reshape(())[()] if a.size == 1 else a for a in others])
    rows = tuple([tuple([next(rest) for _ in row]) for row in parameters])
    with np.errstate(all="ignore"):
        few = 4 * (first.size + second.size) <= math.prod(shape)
        both = (_inputs(network, first, rows), _inputs(network, second, rows)) if few else None
        for part in _parts(result.shape[2:], network[4]):
            some = _chunk(rows, part)
            one, two = (
                _chunk(both, part)
                if both is not None
                else [_inputs(network, _chunk(K, part), some) for K in (first, second)]
            )
            out = result[(slice(None), slice(None), *part)]
            C = _chunk(covariance, part)
            C = np.where(_possible(_chunk(first, part), _chunk(second, part), C), C, np.nan)
            _pass(network, one, two, C, _chunk(tangent, part), some, out)
    found = result if every_layer else result[:, 0]
    return tuple(found if shape else found[..., 0])


def _deep_matrix(
    network: Network, X1: ArrayLike, X2: ArrayLike | None, parameters: Sequence[tuple]
) -> tuple[Floats, ...]:
    """All layers for the rows of feature matrices."""
    K1, K2, C = _kernels_of_rows(X1, X2, np.float64)
    if X2 is None:
        return _symmetric(network, K1, C, parameters)
    return _deep(network, K1[:, None], K2, C, 0.0, parameters, False)


def _symmetric(network: Network, K: Floats, C: Floats, parameters: Sequence[tuple]) -> tuple[Floats, ...]:
    """Kernel and tangent kernel of inputs and themselves: the upper triangle in rows, and its mirror image."""
    result = np.empty((2, 1, *C.shape))
    with np.errstate(all="ignore"):
        inputs = _inputs(network, K, parameters)
        start = 0
        while start < K.size:
            rows = slice(start, start + max(network[4] // (K.size - start), 1))
            first = tuple(tuple(np.reshape(a, (-1, 1))[rows] if np.ndim(a) else a for a in own) for own in inputs)
            second = tuple(tuple(a[start:] if np.ndim(a) else a for a in own) for own in inputs)
            part = result[:, :, rows, start:]
            _pass(network, first, second, C[rows, start:], 0.0, parameters, part)
            square = part[..., : part.shape[2]]
            square[...] = np.triu(square) + np.swapaxes(np.triu(square, 1), -1, -2)
            result[:, :, start:, rows] = np.swapaxes(part, -1, -2)
            start = rows.stop
    return tuple(result[:, 0])


def _inputs(network: Network, K: Floats, parameters: Sequence[tuple]) -> tuple[tuple[Floats, ...], ...]:
    """For every layer the kernel of an input and what else the layer needs of that alone; last the final kernel."""
    found = []
    for (one, *_), row in zip(network[0], parameters):
        K = np.where(np.abs(K) < _SMALLEST, 0.0, K)
        following, *own = one(K, *row)
        found.append((K, *own))
        K = following
    return (*found, (K,))


def _pass(
    network: Network,
    first: Sequence[tuple[Floats, ...]],
    second: Sequence[tuple[Floats, ...]],
    C: Floats,
    Theta: Floats | float,
    parameters: Sequence[tuple],
    out: Floats,
) -> None:
    """All layers for a part of a matrix. Equal inputs keep the kernel of one, an excess over it is equality.

    The slope of a function with a kink changes with the root of the distance of C from sqrt(K1*K2), which rounding of
    C would hide for nearly parallel inputs: there the distance itself is carried from layer to layer.
    """
    layers, sharp, determined, *_ = network
    shape, every_layer = out.shape[2:], out.shape[1] > 1
    K1, K2, C, Theta = first[0][0], second[0][0], _full(C, shape), _full(Theta, shape)
    if every_layer:
        out[0, 0], out[1, 0] = C, Theta
    same = np.nonzero((C == K1) & (C == K2))
    determinant = _full(_determinant(K1, K2, C), shape) if determined else C  # which no layer takes
    if sharp:
        size = _full(np.sqrt(K1) * np.sqrt(K2), shape)
        gap = size - C
        near = gap < _NEAR * size
        gap[near] = determinant[near] / (size[near] + C[near])
    for place, ((_, pair, slope, parallel, *_), row) in enumerate(zip(layers, parameters)):
        own = first[place][1:], second[place][1:]
        C, Theta = pair(K1, K2, C, Theta, determinant, *own, *row)
        before = None
        if sharp:
            near = gap < _NEAR * size
            near[same] = False
            if near.any():
                before, own = _some((K1, K2, size, gap), near), _some(own, near)
        K1, K2, C = first[place + 1][0], second[place + 1][0], _full(C, shape)
        C[same] = _full(K1, shape)[same]
        if every_layer:
            out[0, place + 1], out[1, place + 1] = C, Theta
        if sharp:
            size = _full(np.sqrt(K1) * np.sqrt(K2), shape)
            gap = size - C
            if before is not None:
                row = _some(row, near)
                narrowed, doubt = _narrowed(slope, before, own, row)
                found = narrowed + _parted(pair, parallel, before, size[near], own, row)
                gap[near] = np.where(doubt <= 1e-16 * size[near], found, gap[near])  # slopes may change fast
            determinant = np.maximum(gap * (2.0 * size - gap), 0.0)
            determinant[same] = 0.0
        elif determined:
            size = np.sqrt(K1) * np.sqrt(K2)
            determinant = size - C
            determinant *= size + C
            np.maximum(determinant, 0.0, out=determinant)
            determinant[same] = 0.0
    out[0, -1], out[1, -1] = C, Theta


def _full(a: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """An array of the whole shape."""
    return np.asarray(a) if np.shape(a) == shape else np.array(np.broadcast_to(a, shape))


def _some(a: Entries, near: Bools) -> Entries:
    """The entries of an array, or of each of a tuple; what is one number stays one."""
    if isinstance(a, tuple):
        return tuple([_some(entry, near) for entry in a])  # type: ignore[return-value]
    return a if np.ndim(a) == 0 else np.broadcast_to(a, near.shape)[near]  # type: ignore


def _arguments(K: ArrayLike, parameters: Mapping[str, ArrayLike]) -> tuple[Floats, dict[str, Floats]]:
    """The kernel in the shape that all arguments have together, and the parameters."""
    kernel, *values = [_real(a) for a in (_valid(K), *parameters.values())]
    kernel = np.broadcast_to(kernel, np.broadcast_shapes(kernel.shape, *(a.shape for a in values)))
    return kernel, dict(zip(parameters, values))


def _quiet() -> AbstractContextManager:
    """Where no division by zero is told."""
    return np.errstate(all="ignore")


def _numbers(found: Sequence[float], like: Floats | None, shape: tuple[int, ...]) -> Floats:
    """An array of numbers, of the type of another one; a number if it has no axis."""
    return np.array(found).reshape(shape)[()]


def _columns(function: Callable[..., Floats], *arguments: ArrayLike) -> Floats:
    """The values of a function that takes one entry at a time: it sums terms, whose number depends on the entry."""
    given = np.broadcast_arrays(*map(_real, arguments))
    shape = given[0].shape
    found = np.array([function(*(np.full(1, a) for a in row)).item() for row in zip(*(a.ravel() for a in given))])
    return found.reshape(shape)[()]


def _powers(ratio: Floats, first: int) -> Floats:
    """ratio^first, ratio^(first + 1), ... as long as they are visible beside 1, along a new last axis."""
    size = np.abs(ratio).max()
    if not size < 1:
        return np.full((*ratio.shape, 1), np.nan)
    terms = 1 if size == 0 else min(int(-42.0 / np.log(size)) + 2, 1 << 22)
    return ratio[..., None] ** np.arange(first, first + terms)
