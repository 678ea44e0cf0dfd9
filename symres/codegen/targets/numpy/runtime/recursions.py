"""Recursions through the layers of a network, and what procedures and curves begin with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ....arrays.feature_rows.kernels_of_rows import _covariances, _kernels_of_rows, _real
from ....arrays.runtime.array_types import Bools, Floats, Own, OwnOfLayers
from ....arrays.runtime.entries import _chunk, _parts
from ....arrays.runtime.error_free import _possible
from ....arrays.runtime.layer_recursion import _changes_of, _full, _inputs, _Network, _through_layers
from .at_entries import _valid


def _deep(
    network: _Network,
    first: tuple[ArrayLike, ...],
    second: tuple[ArrayLike, ...],
    both: tuple[ArrayLike, ...],
    tangents: tuple[ArrayLike, ...],
    parameters: Sequence[tuple],
    every_layer: bool,
) -> tuple[Floats, ...]:
    """All layers, block by block; what depends on one input alone is computed before, if there are few."""
    given = [_covariances(first[0], second[0], C) for C in both]
    ends = [(_valid(K), *others) for K, *others in (first, second)]
    (one, other, both, tangents, *parameters), shape = _columns_of((*ends, given, tangents, *parameters))
    result = np.empty((2 * len(both), len(parameters) + 1 if every_layer else 1, *(shape or (1,))))
    rows = tuple([tuple([a.reshape(())[()] if a.size == 1 else a for a in row]) for row in parameters])
    with np.errstate(all="ignore"):
        few = 4 * sum(a.size for a in (*one, *other)) <= math.prod(shape) * len(one)
        inputs = (_inputs(network, one, rows)[0], _inputs(network, other, rows)[0]) if few else None
        for part in _parts(result.shape[2:], network.entries):
            chunk = _chunk(rows, part)
            pieces = _chunk((one, other), part)
            ours, theirs = (
                _chunk(inputs, part) if inputs is not None else [_inputs(network, own, chunk)[0] for own in pieces]
            )
            out = result[(slice(None), slice(None), *part)]
            K1, K2 = pieces[0][0], pieces[1][0]
            C = tuple([np.where(_possible(K1, K2, c), c, np.nan) for c in _chunk(both, part)])
            _pass(network, ours, theirs, C, _chunk(tangents, part), chunk, out)
    kernels = result if every_layer else result[:, 0]
    return tuple(kernels if shape else kernels[..., 0])


def _deep_alone(
    network: _Network,
    state: tuple[ArrayLike, ...],
    changes: tuple[ArrayLike, ...],
    parameters: Sequence[tuple],
    every_layer: bool,
) -> tuple[Floats, ...]:
    """The numbers of one input behind all layers, and the covariances of its changes."""
    (own, moved, *rows), shape = _columns_of(((_valid(state[0]), *state[1:]), changes, *parameters))
    with np.errstate(all="ignore"):
        own = (own[0], *[np.where(_possible(own[0], own[0], c), c, np.nan) for c in own[1:]])
        inputs, _ = _inputs(network, own, rows)
        behind = [(*a[: len(own)], *b) for a, b in zip(inputs, _changes_of(network, inputs, moved, rows))]
    columns = [np.stack([np.broadcast_to(a, shape or (1,)) for a in column]) for column in zip(*behind)]
    return tuple([(a if shape else a[..., 0]) if every_layer else a[-1] if shape else a[-1, 0] for a in columns])


def _columns_of(groups: Sequence[Sequence[ArrayLike]]) -> tuple[list[tuple[Floats, ...]], tuple[int, ...]]:
    """Arguments as arrays with all axes, and the shape that they have together."""
    arrays = [[_real(a) for a in group] for group in groups]
    shape = np.broadcast_shapes(*(a.shape for group in arrays for a in group))
    axes = max(len(shape), 1)
    return [tuple([a.reshape((1,) * (axes - a.ndim) + a.shape) for a in group]) for group in arrays], shape


def _deep_matrix(
    network: _Network, X1: ArrayLike, X2: ArrayLike | None, parameters: Sequence[tuple]
) -> tuple[Floats, ...]:
    """All layers for the rows of feature matrices."""
    K1, K2, C = _kernels_of_rows(X1, X2, np.float64)
    if X2 is None:
        return _symmetric(network, K1, C, parameters)
    return _deep(network, (K1[:, None],), (K2,), (C,), (0.0,), parameters, False)


def _symmetric(network: _Network, K: Floats, C: Floats, parameters: Sequence[tuple]) -> tuple[Floats, ...]:
    """Kernel and tangent kernel of inputs and themselves: the upper triangle in rows, and its mirror image."""
    result = np.empty((2, 1, *C.shape))
    with np.errstate(all="ignore"):
        inputs, _ = _inputs(network, (K,), parameters)
        start = 0
        while start < K.size:
            rows = slice(start, start + max(network.entries // (K.size - start), 1))
            first = tuple(tuple(np.reshape(a, (-1, 1))[rows] if np.ndim(a) else a for a in extras) for extras in inputs)
            second = tuple(tuple(a[start:] if np.ndim(a) else a for a in extras) for extras in inputs)
            part = result[:, :, rows, start:]
            _pass(network, first, second, (C[rows, start:],), (0.0,), parameters, part)
            square = part[..., : part.shape[2]]
            square[...] = np.triu(square) + np.swapaxes(np.triu(square, 1), -1, -2)
            result[:, :, start:, rows] = np.swapaxes(part, -1, -2)
            start = rows.stop
    return tuple(result[:, 0])


def _pass(
    network: _Network,
    first: OwnOfLayers,
    second: OwnOfLayers,
    both: Own,
    tangents: tuple[Floats | float, ...],
    parameters: Sequence[Own],
    out: Floats,
) -> None:
    """All layers for a part of a matrix."""
    like = out[0, 0]
    equal = [(c == a) & (c == b) for c, a, b in zip(both, first[0], second[0])]
    same: Bools = np.broadcast_to(equal[0] & equal[-1], like.shape)
    both, moving = (tuple([_full(a, like) for a in group]) for group in (both, tangents))
    for number, kernels in enumerate(_through_layers(network, first, second, both, moving, same, parameters)):
        if out.shape[1] > 1 or number == len(parameters):
            for place, values in zip(out, kernels):
                place[min(number, out.shape[1] - 1)] = values


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


def _repeated(
    function: Callable[..., tuple[Floats, ...]], state: tuple[Floats, ...], count: int, is_done: Callable[..., Any]
) -> tuple[Floats, ...]:
    """A state after so many steps, or fewer if it is done."""
    for _ in range(count):
        if is_done(*state):
            break
        state = function(*state)
    return state


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
