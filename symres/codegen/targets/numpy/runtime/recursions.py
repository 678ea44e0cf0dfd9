"""Recursions through the layers of a network, and what procedures and curves begin with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import ArrayLike

from ....arrays.feature_rows.kernels_of_rows import _covariances, _kernels_of_rows, _real
from ....arrays.runtime.array_types import Bools, Floats, Own, OwnOfLayers
from ....arrays.runtime.entries import _chunk, _parts
from ....arrays.runtime.error_free import _possible
from ....arrays.runtime.layer_recursion import _full, _inputs, _Network, _through_layers
from .at_entries import _valid


def _deep(
    network: _Network,
    K1: ArrayLike,
    K2: ArrayLike,
    C: ArrayLike,
    Theta: ArrayLike,
    parameters: Sequence[tuple],
    every_layer: bool,
) -> tuple[Floats, ...]:
    """All layers, block by block; what depends on one input alone is computed before, if there are few."""
    inputs = [_valid(K1), _valid(K2), _covariances(K1, K2, C), Theta, *(value for row in parameters for value in row)]
    arrays = [_real(a) for a in inputs]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    result = np.empty((2, len(parameters) + 1 if every_layer else 1, *(shape or (1,))))
    axes = result.ndim - 2
    first, second, covariance, tangent, *others = [a.reshape((1,) * (axes - a.ndim) + a.shape) for a in arrays]
    numbers = iter([a.reshape(())[()] if a.size == 1 else a for a in others])
    rows = tuple([tuple([next(numbers) for _ in row]) for row in parameters])
    with np.errstate(all="ignore"):
        few = 4 * (first.size + second.size) <= math.prod(shape)
        both = (_inputs(network, first, rows)[0], _inputs(network, second, rows)[0]) if few else None
        for part in _parts(result.shape[2:], network.entries):
            chunk = _chunk(rows, part)
            one, two = (
                _chunk(both, part)
                if both is not None
                else [_inputs(network, _chunk(K, part), chunk)[0] for K in (first, second)]
            )
            out = result[(slice(None), slice(None), *part)]
            C = _chunk(covariance, part)
            C = np.where(_possible(_chunk(first, part), _chunk(second, part), C), C, np.nan)
            _pass(network, one, two, C, _chunk(tangent, part), chunk, out)
    kernels = result if every_layer else result[:, 0]
    return tuple(kernels if shape else kernels[..., 0])


def _deep_matrix(
    network: _Network, X1: ArrayLike, X2: ArrayLike | None, parameters: Sequence[tuple]
) -> tuple[Floats, ...]:
    """All layers for the rows of feature matrices."""
    K1, K2, C = _kernels_of_rows(X1, X2, np.float64)
    if X2 is None:
        return _symmetric(network, K1, C, parameters)
    return _deep(network, K1[:, None], K2, C, 0.0, parameters, False)


def _symmetric(network: _Network, K: Floats, C: Floats, parameters: Sequence[tuple]) -> tuple[Floats, ...]:
    """Kernel and tangent kernel of inputs and themselves: the upper triangle in rows, and its mirror image."""
    result = np.empty((2, 1, *C.shape))
    with np.errstate(all="ignore"):
        inputs, _ = _inputs(network, K, parameters)
        start = 0
        while start < K.size:
            rows = slice(start, start + max(network.entries // (K.size - start), 1))
            first = tuple(tuple(np.reshape(a, (-1, 1))[rows] if np.ndim(a) else a for a in extras) for extras in inputs)
            second = tuple(tuple(a[start:] if np.ndim(a) else a for a in extras) for extras in inputs)
            part = result[:, :, rows, start:]
            _pass(network, first, second, C[rows, start:], 0.0, parameters, part)
            square = part[..., : part.shape[2]]
            square[...] = np.triu(square) + np.swapaxes(np.triu(square, 1), -1, -2)
            result[:, :, start:, rows] = np.swapaxes(part, -1, -2)
            start = rows.stop
    return tuple(result[:, 0])


def _pass(
    network: _Network,
    first: OwnOfLayers,
    second: OwnOfLayers,
    C: Floats,
    Theta: Floats | float,
    parameters: Sequence[Own],
    out: Floats,
) -> None:
    """All layers for a part of a matrix."""
    like = out[0, 0]
    same: Bools = np.broadcast_to((C == first[0][0]) & (C == second[0][0]), like.shape)
    behind = _through_layers(network, first, second, _full(C, like), _full(Theta, like), same, parameters)
    for number, kernels in enumerate(behind):
        if out.shape[1] > 1:
            out[0, number], out[1, number] = kernels
    out[0, -1], out[1, -1] = kernels


def _replaced(a: Floats, mask: Bools, value: Floats | float) -> Floats:
    """An array with another value in some places, which is written over; a number stays one."""
    if np.ndim(a) == 0:
        return np.where(mask, value, a)[()]
    np.copyto(a, value, where=mask)
    return a


def _arguments(K: ArrayLike, parameters: Mapping[str, ArrayLike]) -> tuple[Floats, dict[str, Floats]]:
    """The kernel in the shape that all arguments have together, and the parameters."""
    kernel, *values = [_real(a) for a in (_valid(K), *parameters.values())]
    kernel = np.broadcast_to(kernel, np.broadcast_shapes(kernel.shape, *(a.shape for a in values)))
    return kernel, dict(zip(parameters, values))


def _quiet() -> AbstractContextManager:
    """Where no division by zero is told."""
    return np.errstate(all="ignore")


def _numbers(values: Sequence[float], like: Floats | None, shape: tuple[int, ...]) -> Floats:
    """An array of numbers, of the type of another one; a number if it has no axis."""
    return np.array(values).reshape(shape)[()]


def _columns(function: Callable[..., Floats], *arguments: ArrayLike) -> Floats:
    """The values of a function that takes one entry at a time: it sums terms, whose number depends on the entry."""
    columns = np.broadcast_arrays(*map(_real, arguments))
    rows = zip(*(column.ravel() for column in columns))
    values = np.array([function(*(np.full(1, a) for a in row)).item() for row in rows])
    return values.reshape(columns[0].shape)[()]


def _powers(ratio: Floats, first: int) -> Floats:
    """ratio^first, ratio^(first + 1), ... as long as they are visible beside 1, along a new last axis."""
    size = np.abs(ratio).max()
    if not size < 1:
        return np.full((*ratio.shape, 1), np.nan)
    terms = 1 if size == 0 else min(int(-42.0 / np.log(size)) + 2, 1 << 22)
    return ratio[..., None] ** np.arange(first, first + terms)
