"""Arguments as NumPy arrays of real numbers, and kernels of the rows of feature matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def _real(value: ArrayLike, kind: np.dtype[Any] | type[np.floating] = np.float64) -> NDArray[Any]:
    """An argument as an array of floats; complex numbers would lose a part of them."""
    if np.iscomplexobj(value):
        raise TypeError(f"arguments are real numbers, not {np.asarray(value).dtype}: pass the real parts")
    return np.asarray(value, dtype=kind)


def _covariances(
    K1: ArrayLike, K2: ArrayLike, C: ArrayLike, kind: np.dtype[Any] | type[np.floating] = np.float64
) -> ArrayLike:
    """Covariances; where an argument has fewer digits than ``kind``, they exceed sqrt(K1*K2) by the rounding of that.

    What exceeds it by 64 ulp of the shortest type at most is cut off there; all else stays as it is.
    """
    kinds = [np.asarray(a).dtype for a in (K1, K2, C)]
    unit = max([np.finfo(k).eps for k in kinds if k.kind == "f"], default=0.0)
    if unit <= np.finfo(kind).eps:
        return C
    first, second, covariance = map(_real, (K1, K2, C))
    with np.errstate(invalid="ignore"):  # kernels below 0 are nan
        size = np.sqrt(first) * np.sqrt(second)
    over = np.abs(covariance) > (1.0 + 4.0 * np.finfo(np.float64).eps) * size  # C = K1 = K2 stays as it is
    over &= np.abs(covariance) <= (1.0 + 64.0 * float(unit)) * size
    return np.where(over, np.copysign(size, covariance), covariance) if over.any() else C


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
    matrices = [np.asarray(X) for X in (X1, X2) if X is not None]
    if any(X.ndim != 2 for X in matrices) or matrices[0].shape[1] != matrices[-1].shape[1] or not matrices[0].shape[1]:
        raise ValueError(f"inputs are matrices with equally many columns, not of shapes {[X.shape for X in matrices]}")
    first, *others = [_real(X, kind) for X in matrices]
    second = others[0] if others else first
    scaled = first / first.dtype.type(first.shape[1])
    K1 = np.einsum("ij,ij->i", scaled, first)
    K2 = K1 if X2 is None else np.einsum("ij,ij->i", second / second.dtype.type(second.shape[1]), second)
    root1, root2 = np.sqrt(K1)[:, None], np.sqrt(K2)
    equal: dict[bytes, list[int]] = {}
    for j, row in enumerate(second + 0.0):  # of the two zeros one
        equal.setdefault(row.tobytes(), []).append(j)
    for alike in equal.values():
        if len(alike) > 1:
            K2[alike] = K2[alike[0]]
    C = np.zeros((len(first), len(second)), dtype=first.dtype)

    def multiplied(start: int) -> None:
        left, rows = start if X2 is None else 0, slice(start, start + 128)
        part, most = C[rows, left:], root1[rows] * root2[left:]
        np.matmul(scaled[rows], second[left:].T, out=part)
        np.clip(part, -most, most, out=part)

    list(each(multiplied, range(0, len(first), 128)))
    if X2 is None:
        np.fill_diagonal(C, K1)
        for alike in equal.values():
            if len(alike) > 1:
                C[np.ix_(alike, alike)] = K1[alike[0]]
        return K1, K1, C
    for i, row in enumerate(first + 0.0):
        alike = equal.get(row.tobytes(), [])
        if alike:
            C[i, alike] = K1[i] = K2[alike[0]]
    return K1, K2, C
