"""Arguments as NumPy arrays of real numbers."""

from __future__ import annotations

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
