"""Functions of many entries, a few at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as xp

from .array_types import Floats, Places


def _few(function: Callable[..., Floats], step: int, *arrays: Floats | Places) -> list[Floats]:
    """The results of a function on so many rows at a time, so that its nodes fit into the cache."""
    return [function(*(a[i : i + step] for a in arrays)) for i in range(0, arrays[0].shape[0], step)]


def _flat(function: Callable[..., Floats], step: int, *arguments: Floats) -> Floats:
    """Evaluate a function of arrays of one axis, on so many entries at a time."""
    arguments = xp.broadcast_arrays(*(xp.asarray(a, dtype=xp.float64) for a in arguments))
    shape = arguments[0].shape
    known = xp.isfinite(sum(arguments)).reshape(-1)
    with xp.errstate(all="ignore"):  # where there is no value, or no place of change
        out = _few(function, step, *(xp.where(known, a.reshape(-1), 1.0) for a in arguments))
    return xp.where(known, xp.concatenate([*out, xp.empty(0)]), xp.nan).reshape(shape)
