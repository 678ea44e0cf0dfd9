"""Functions of arrays that broadcast, on top of compiled loops over entries and over matrices. Inlined at export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.feature_rows.real_arguments import _covariances, _real

Reals = NDArray[np.floating]


def evaluated(
    entries: Callable[..., None],
    matrix: Callable[..., None] | None,
    inputs: Sequence[Any],
    parameters: Sequence[Any],
    out: Reals | None,
) -> Any:
    """The values of a function of the broadcast shape: in float32 where all inputs are, else in float64.

    Args:
        entries: fills its last argument from arrays of one axis and numbers.
        matrix: fills its last argument, of two axes, from K1 of each row, K2 of each column, matrices and numbers.
        inputs: kernels and covariances.
        parameters: the others.
        out: receives the values.
    """
    given = [np.asarray(a) for a in inputs]
    kind = np.dtype(np.float32 if all(a.dtype == np.float32 for a in given) else np.float64)
    if matrix is not None:
        K1, K2, C, *others = given
        given = [K1, K2, np.asarray(_covariances(K1, K2, C, kind)), *others]
    given = [_real(a, kind) for a in given]
    numbers = [_real(p) for p in parameters]
    shape = np.broadcast_shapes(*(a.shape for a in (*given, *numbers)), *(() if out is None else (out.shape,)))
    if out is not None and out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, but the arguments broadcast to {shape}")
    if out is not None and not out.flags.writeable:
        raise ValueError("out is read-only")
    target: Reals = np.empty(shape, dtype=kind) if out is None or not _is_apart(out, given) else out
    axes = target.ndim
    shaped = [a.reshape((1,) * (axes - a.ndim) + a.shape) for a in given]
    is_number = all(p.size == 1 for p in numbers)
    if target.size == 0:
        pass
    elif not is_number:
        _by_parameters(entries, shaped, numbers, target)
    elif matrix is not None and axes >= 2 and shaped[0].shape[-1] == 1 and shaped[1].shape[-2] == 1:
        values = [float(p.reshape(())) for p in numbers]
        rows, columns = shape[-2:]
        for place in product(*map(range, shape[:-2])):
            K1, K2, *others = [a[tuple([p * (n > 1) for p, n in zip(place, a.shape, strict=False)])] for a in shaped]
            first, second = _line(K1, rows), _line(K2, columns)
            wide = [np.ascontiguousarray(np.broadcast_to(a, (rows, columns))) for a in others]
            matrix(first, second, *wide, *values, target[place])
    else:
        flat = [np.ascontiguousarray(np.broadcast_to(a, shape)).reshape(-1) for a in shaped]
        entries(*flat, *[float(p.reshape(())) for p in numbers], target.reshape(-1))
    if out is None:
        return target[()]
    if target is not out:
        np.copyto(out, target, casting="same_kind")
    return out


def _is_apart(out: Reals, given: Sequence[Reals]) -> bool:
    """Whether results can be written there while arguments are read."""
    plain = out.dtype == given[0].dtype and out.flags.c_contiguous
    return plain and not any(np.may_share_memory(a, out) for a in given)


def _line(K: Reals, count: int) -> Reals:
    """Kernels as an array of one axis, one behind the other in memory."""
    return np.ascontiguousarray(np.broadcast_to(K.reshape(-1), (count,)))


def _by_parameters(
    entries: Callable[..., None], inputs: Sequence[Reals], parameters: Sequence[Reals], target: Reals
) -> None:
    """Entries with the same parameters at a time."""
    flat = [np.broadcast_to(a, target.shape).reshape(-1) for a in inputs]
    rows = np.stack([np.broadcast_to(p, target.shape).reshape(-1) for p in parameters])
    columns, place = np.unique(rows, axis=1, return_inverse=True)
    values = target.reshape(-1)
    for number, column in enumerate(columns.T):
        some = np.flatnonzero(place.reshape(-1) == number)
        part = np.empty(some.size, dtype=target.dtype)
        entries(*[np.ascontiguousarray(a[some]) for a in flat], *[float(v) for v in column], part)
        values[some] = part
