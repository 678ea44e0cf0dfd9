"""Evaluation in blocks of entries, and in tiles whose scratch arrays stay in the cache."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ....arrays.feature_rows.kernels_of_rows import _real
from ....arrays.runtime.array_types import Bools, Floats
from ....arrays.runtime.entries import _chunk, _parts

Nested: TypeAlias = "Floats | tuple[Nested, ...]"

_CACHED = 32768  # elements that are computed at a time: as many as stay in the cache
_WHOLE = 4194304  # where entries share the averages of their kernels: as many as a matrix has
_SCRATCH = 131072  # numbers in the scratch arrays of a tile together: as many as stay in the cache
_EXACT = 8192  # entries that are computed exactly at a time


def _laid_out(arguments: Sequence[ArrayLike], out: Floats | None) -> tuple[Floats, Floats, list[Floats]]:
    """The result, a view of it with an axis at least, and the arguments along its axes; numbers stay numbers.

    The result is ``out``, unless entries of that do not lie in order, are of another type, or are those of an argument.
    """
    inputs = [_real(a) for a in arguments]
    shape = np.broadcast_shapes(*(a.shape for a in inputs), *(() if out is None else (out.shape,)))
    if out is not None and out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, but the arguments broadcast to {shape}")
    shared = out is not None and any(np.may_share_memory(a, out) for a in inputs)
    result = np.empty(shape) if out is None or shared or out.dtype != np.float64 or not out.flags.carray else out
    target = np.atleast_1d(result)
    rows = [(1,) * (target.ndim - a.ndim) + a.shape for a in inputs]
    return result, target, [a.reshape(row) if a.size != 1 else a.reshape(())[()] for a, row in zip(inputs, rows)]


def _returned(result: Floats, out: Floats | None) -> Floats:
    """A result, which is copied to ``out`` if that is another array."""
    if out is not None and result is not out:
        np.copyto(out, result, casting="same_kind")
    return result[()] if out is None else out


def _blocks(function: Callable[..., Floats], arguments: Sequence[ArrayLike], out: Floats | None, size: int) -> Floats:
    """Evaluate elementwise in blocks of so many elements, arrays of one axis; scalars are passed on as they are."""
    result, target, inputs = _laid_out(arguments, out)
    with np.errstate(over="ignore", under="ignore"):
        for part in _parts(target.shape, size) if target.size else ():
            goal, chunks = target[part], [_chunk(a, part) for a in inputs]
            columns = [np.broadcast_to(a, goal.shape).reshape(-1) if a.ndim or goal.size == 1 else a for a in chunks]
            goal[...] = np.reshape(function(*columns), goal.shape)
    return _returned(result, out)


def _tiles(
    tile: Callable[..., None],
    axes: Callable[..., Nested],
    exact: Callable[..., Floats],
    arguments: Sequence[ArrayLike],
    matrices: tuple[int, ...],
    out: Floats | None,
    arrays: int,
) -> Floats:
    """Evaluate elementwise, in tiles whose scratch arrays stay in the cache; ``exact`` where a tile loses digits."""
    result, target, inputs = _laid_out(arguments, out)
    few = 8 * sum(a.size for i, a in enumerate(inputs) if i not in matrices) <= target.size  # rows and columns
    size, waiting, stop = min(_SCRATCH // arrays, target.size), np.empty(0, dtype=np.intp), 0
    pitch = size // 8 * 8 + 72  # scratch begins where a line of the cache does, never twice at one address of a page
    room = np.empty(arrays * pitch)
    start = -(room.__array_interface__["data"][0] // 8) % 8
    rows = [room[k * pitch + start :][:size] for k in range(arrays - 1)]
    with np.errstate(all="ignore"):
        if target.shape[-1] >= 512:  # rows and columns are not copied to buffers; leaving errstate undoes it
            np.setbufsize(512)
        alike = [np.broadcast_to(a, np.broadcast_shapes(np.shape(a), (1,) * target.ndim)) for a in inputs]
        prepared = axes(*alike) if few and size else ()
        for part in _parts(target.shape, size) if size else ():
            goal, chunks = target[part], [_chunk(a, part) for a in inputs]
            fine: list[Bools] = []
            scratch = [goal, *(row[: goal.size].reshape(goal.shape) for row in rows)]
            tile(*chunks, _chunk(prepared, part) if few else axes(*chunks), scratch, fine)
            poor = ~functools.reduce(np.logical_and, fine) if fine else np.zeros(1, dtype=bool)
            if 2 * np.count_nonzero(poor) > goal.size:
                for inner in _parts(goal.shape, _EXACT):
                    np.copyto(goal[inner], exact(*[_chunk(a, inner) for a in chunks]), where=poor[inner])
            elif poor.any():
                waiting = np.append(waiting, stop + np.flatnonzero(poor))
            stop += goal.size
            if waiting.size > (_EXACT if stop < target.size else 0):
                at = np.unravel_index(waiting, target.shape)
                target[at] = exact(*(np.broadcast_to(a, target.shape)[at] if a.ndim else a for a in inputs))
                waiting = waiting[:0]
    return _returned(result, out)
