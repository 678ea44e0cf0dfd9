"""Evaluation in tiles, whose scratch arrays stay in the cache."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ....arrays.feature_rows.real_arguments import _real
from ....arrays.hermite.matrix_parts import Cut, _chunk, _parts
from ....arrays.runtime.array_types import Bools, Floats, Places

Nested: TypeAlias = "Floats | tuple[Nested, ...]"
Waiting: TypeAlias = list[tuple[Cut, tuple[Places, ...]]]

_SCRATCH = 131072  # numbers in the scratch arrays of a tile together: as many as stay in the cache


def _mend(exact: Callable[..., Floats], arguments: Sequence[Floats], target: Floats, pending: Waiting) -> None:
    """Compute the entries of the parts that wait for it, all at once."""
    starts = [[cut.start for cut in part] + [0] * target.ndim for part, _ in pending]
    places = tuple(
        np.concatenate([start[axis] + found[axis] for start, (_, found) in zip(starts, pending)])
        for axis in range(target.ndim)
    )
    entries = [a if a.ndim == 0 else a[tuple(p * (n > 1) for p, n in zip(places, a.shape))] for a in arguments]
    target[places] = exact(*entries)
    pending.clear()


def _aligned(count: int, size: int) -> list[Floats]:
    """Scratch arrays that begin where a line of the cache does, no two of them at the same place of a page."""
    pitch = size // 8 * 8 + 72
    room = np.empty(count * pitch + 8)
    start = -(room.__array_interface__["data"][0] // 8) % 8
    return [room[k * pitch + start : k * pitch + start + size] for k in range(count)]


def _broadcast(arguments: Sequence[ArrayLike], out: Floats | None) -> tuple[Floats, Floats, list[Floats]]:
    """The result, a view of it whose last axis is the densest, and the arguments along the axes of that view."""
    given = [_real(a) for a in arguments]
    shape = np.broadcast_shapes(*(a.shape for a in given), *(() if out is None else (out.shape,)))
    result = np.empty(shape) if out is None else out
    if result.shape != shape:
        raise ValueError(f"out has shape {result.shape}, but the arguments broadcast to {shape}")
    view = np.atleast_1d(result)
    order = sorted(range(view.ndim), key=lambda axis: -abs(view.strides[axis]))
    given = [a.copy() if np.may_share_memory(a, result) else a for a in given]
    along = [
        a.reshape((1,) * (view.ndim - a.ndim) + a.shape).transpose(order) if a.size != 1 else a.reshape(())[()]
        for a in given
    ]
    return result, view.transpose(order), along


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
    result, target, given = _broadcast(arguments, out)
    if target.size == 0:
        return result
    size, direct = min(_SCRATCH // arrays, target.size), target.dtype == np.float64
    rows = _aligned(arrays - direct, size)
    scratch: list[Floats] = []
    few = 8 * sum(a.size for i, a in enumerate(given) if i not in matrices) <= target.size  # rows and columns
    caller, waiting = functools.partial(np.errstate, **np.geterr() | {"over": "ignore", "under": "ignore"}), 0
    pending: Waiting = []
    with np.errstate(all="ignore"):
        if target.shape[-1] >= 512:  # rows and columns are not copied to buffers; leaving errstate undoes it
            np.setbufsize(512)
        prepared = axes(*given) if few else ()
        for part in _parts(target.shape, size):
            goal, chunks = target[part], [_chunk(a, part) for a in given]
            fine: list[Bools] = []
            if not scratch or scratch[-1].shape != goal.shape:
                scratch = [goal] * direct + [row[: goal.size].reshape(goal.shape) for row in rows]
            if direct:
                scratch[0] = goal
            tile(*chunks, _chunk(prepared, part) if few else axes(*chunks), scratch, fine)
            if not direct:
                np.copyto(goal, scratch[0], casting="same_kind")
            if not fine:
                continue
            poor = ~functools.reduce(np.logical_and, fine)
            found = np.flatnonzero(poor)
            if 4 * found.size > goal.size:
                with caller():
                    for inner in _parts(goal.shape, 8192):
                        values = exact(*[_chunk(c, inner) for c in chunks])
                        np.copyto(goal[inner], values, casting="same_kind", where=poor[inner])
            elif found.size:
                pending.append((part, np.unravel_index(found, goal.shape)))
                waiting += found.size
            if waiting > 8192:
                with caller():
                    _mend(exact, given, target, pending)
                waiting = 0
    if pending:
        with caller():
            _mend(exact, given, target, pending)
    return result if out is not None else result[()]
