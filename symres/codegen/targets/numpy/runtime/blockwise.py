"""Evaluation in blocks of entries, and closed forms that are mended where their terms cancel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ....arrays.feature_rows.real_arguments import _real
from ....arrays.hermite.hermite_series import _smooth_entries
from ....arrays.runtime.array_types import Floats

Function: TypeAlias = Callable[..., Floats]
Access: TypeAlias = list[Literal["readonly", "writeonly", "no_broadcast"]]

_CACHED = 32768  # elements that are computed at a time: as many as stay in the cache
_WHOLE = 4194304  # where entries share the averages of their kernels: as many as a matrix has


def _valid(K: ArrayLike) -> Floats:
    """Kernels, nan where they are negative."""
    negative = np.less(K, 0.0)
    return np.where(negative, math.nan, K) if negative.any() else np.asarray(K)


def _directed(K: ArrayLike) -> Floats:
    """Kernels, nan where they are 0 or negative: a normaliser divides by the size of an input."""
    return np.where(np.greater(K, 0.0), K, math.nan)


def _blocks(function: Function, arguments: Sequence[ArrayLike], out: Floats | None, size: int) -> Floats:
    """Evaluate elementwise in blocks of so many elements; scalars are passed on as they are."""
    given = [_real(a) for a in arguments]
    if out is None:
        out = np.empty(np.broadcast_shapes(*(a.shape for a in given)))
    varying = [i for i, a in enumerate(given) if a.size != 1]
    values: list[float | Floats] = [float(a.reshape(())) if a.size == 1 else a for a in given]
    with np.errstate(over="ignore", under="ignore"):
        if not varying:
            out[...] = np.reshape(function(*(np.full(1, value) for value in values)), ())
            return out[()]
        access: list[Access] = [["readonly"] for _ in varying]
        access.append(["writeonly", "no_broadcast"])
        blocks = np.nditer(
            [*(given[i] for i in varying), out],
            flags=["external_loop", "buffered", "zerosize_ok", "copy_if_overlap", "delay_bufalloc"],
            op_flags=access,
            op_dtypes=[np.float64 for _ in (*varying, out)],
            casting="same_kind",
            buffersize=size,
        )
        with blocks:
            blocks.reset()
            for *chunks, target in blocks:
                for i, chunk in zip(varying, chunks):
                    values[i] = chunk
                target[...] = function(*values)
    return out


def _smooth_average(f: Function, g: Function, *arguments: ArrayLike, closer: Function | None = None) -> Floats:
    """<f(z1) g(z2)> for kernels K1, K2, covariances C and parameters, entry by entry."""
    given = [_real(a) for a in arguments]
    shape = np.broadcast_shapes(*(a.shape for a in given))
    flat = [
        np.broadcast_to(a, shape).reshape(-1) if a.size > 1 or n < 3 else a.reshape(()) for n, a in enumerate(given)
    ]
    with np.errstate(all="ignore"):
        return _smooth_entries(f, g, *flat, closer=closer).reshape(shape)


def _mended(closed: Function, doubt: Function, other: Function, *arguments: Floats) -> Floats:
    """A closed form; by the other function where rounding may have cost more than 1e-12 of it.

    That is worse where it is farther off than rounding can have been.
    """
    with np.errstate(all="ignore"):
        value, error = closed(*arguments), 1.1e-16 * doubt(*arguments)
        value, error, *given = np.broadcast_arrays(value, error, *arguments)
        poor = ~(error <= 1e-12 * np.abs(value))
        if poor.any():
            value, first, error = value.copy(), value[poor], error[poor]
            found = other(*(a[poor] for a in given))
            worse = (np.abs(found - first) > 4.0 * error) | (np.isnan(found) & (error <= 1e-6 * np.abs(first)))
            value[poor] = np.where(worse, first, found)
    return value
