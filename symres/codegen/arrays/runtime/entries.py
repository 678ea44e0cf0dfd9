"""Parts of arrays: functions of many entries, a few at a time, and parts of what broadcasts to a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as xp

from .array_types import Cut, Entries, Floats, Places


def _integers(count: int, like: Floats) -> Places:
    """0, 1, 2, ..., where another array is."""
    return xp.arange(count)


def _few(function: Callable[..., Floats], step: int, *arrays: Floats | Places) -> list[Floats]:
    """The results of a function on so many rows at a time, so that its nodes fit into the cache."""
    return [function(*(a[i : i + step] for a in arrays)) for i in range(0, arrays[0].shape[0], step)]


def _flat(function: Callable[..., Floats], step: int, *arguments: Floats) -> Floats:
    """Evaluate a function of arrays of one axis, on so many entries at a time."""
    arguments = xp.broadcast_arrays(*(xp.asarray(a, dtype=xp.float64) for a in arguments))
    shape = arguments[0].shape
    finite = xp.isfinite(sum(arguments)).reshape(-1)
    with xp.errstate(all="ignore"):  # where there is no value, or the function does not change
        out = _few(function, step, *(xp.where(finite, a.reshape(-1), 1.0) for a in arguments))
    return xp.where(finite, xp.concatenate([*out, xp.empty(0)]), xp.nan).reshape(shape)


def _parts(shape: tuple[int, ...], size: int) -> Iterator[Cut]:
    """Cuts of the first axes into parts of at most so many elements, whole along the other axes."""
    inner = math.prod(shape[1:])
    step = max(size // max(inner, 1), 1)
    for start in range(0, shape[0], step):
        for cuts in _parts(shape[1:], size) if inner > size else [()]:
            yield slice(start, start + step), *cuts


def _chunk(a: Entries, part: Cut) -> Entries:
    """A part of a broadcast array, whole along the axes that it has length 1 on; of a tuple, that of each entry.

    None, numbers and lists are whole in every part.
    """
    if isinstance(a, tuple):
        return tuple([_chunk(entry, part) for entry in a])  # type: ignore[return-value]
    if not getattr(a, "ndim", 0):
        return a
    return a[tuple([slice(None) if n == 1 else cut for n, cut in zip(a.shape, part)])]  # type: ignore
