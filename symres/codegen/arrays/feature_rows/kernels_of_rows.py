"""Kernels of the rows of feature matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .real_arguments import _real


def _kernels_of_rows(
    X1: ArrayLike,
    X2: ArrayLike | None,
    kind: type[np.floating] | np.dtype[Any],
    each: Callable[..., Iterable[Any]] = map,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Kernels x.x'/n0 of the rows of one matrix, of another, and of their pairs.

    Equal rows, whose products may be summed in different orders, get one kernel; what exceeds sqrt(K1*K2) is cut off.

    Args:
        X1: of shape (N, n0).
        X2: of shape (M, n0); None stands for X1.
        kind: what is computed in.
        each: applies a function to blocks of rows, in any order: the map of an executor does so in its threads.

    Returns:
        (K1, K2, C), of shapes (N,), (M,) and (N, M); without X2, C below the diagonal is not computed.
    """
    given = [np.asarray(X) for X in (X1, X2) if X is not None]
    if any(X.ndim != 2 for X in given) or given[0].shape[1] != given[-1].shape[1] or not given[0].shape[1]:
        raise ValueError(f"inputs are matrices with equally many columns, not of shapes {[X.shape for X in given]}")
    first, *others = [_real(X, kind) for X in given]
    second = others[0] if others else first
    scaled = first / first.dtype.type(first.shape[1])
    K1 = np.einsum("ij,ij->i", scaled, first)
    K2 = K1 if X2 is None else np.einsum("ij,ij->i", second / second.dtype.type(second.shape[1]), second)
    root1, root2 = np.sqrt(K1)[:, None], np.sqrt(K2)
    equal: dict[bytes, list[int]] = {}
    for j, row in enumerate(second + 0.0):  # of the two zeros one
        equal.setdefault(row.tobytes(), []).append(j)
    for places in equal.values():
        if len(places) > 1:
            K2[places] = K2[places[0]]
    C = np.zeros((len(first), len(second)), dtype=first.dtype)

    def multiplied(start: int) -> None:
        left, rows = start if X2 is None else 0, slice(start, start + 128)
        part, most = C[rows, left:], root1[rows] * root2[left:]
        np.matmul(scaled[rows], second[left:].T, out=part)
        np.clip(part, -most, most, out=part)

    list(each(multiplied, range(0, len(first), 128)))
    if X2 is None:
        np.fill_diagonal(C, K1)
        for places in equal.values():
            if len(places) > 1:
                C[np.ix_(places, places)] = K1[places[0]]
        return K1, K1, C
    for i, row in enumerate(first + 0.0):
        places = equal.get(row.tobytes(), [])
        if places:
            C[i, places] = K1[i] = K2[places[0]]
    return K1, K2, C
