"""Kernels that are valid, and values at entries: series, closed forms and sums of angles, mended where they cancel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ....arrays.feature_rows.kernels_of_rows import _real
from ....arrays.hermite.hermite_series import _smooth_entries
from ....arrays.runtime.array_types import Floats
from ....arrays.runtime.stable_functions import _ARCTAN_TAIL

Function: TypeAlias = Callable[..., Floats]


def _valid(K: ArrayLike) -> Floats:
    """Kernels, nan where they are negative."""
    negative = np.less(K, 0.0)
    return np.where(negative, math.nan, K) if negative.any() else np.asarray(K)


def _directed(K: ArrayLike) -> Floats:
    """Kernels, nan where they are 0 or negative: a normaliser divides by the size of an input."""
    return np.where(np.greater(K, 0.0), K, math.nan)


def _smooth_average(f: Function, g: Function, *arguments: ArrayLike, closer: Function | None = None) -> Floats:
    """<f(z1) g(z2)> for kernels K1, K2, covariances C and parameters, entry by entry."""
    inputs = [_real(a) for a in arguments]
    shape = np.broadcast_shapes(*(a.shape for a in inputs))
    flat = [
        np.broadcast_to(a, shape).reshape(-1) if a.size > 1 or n < 3 else a.reshape(()) for n, a in enumerate(inputs)
    ]
    with np.errstate(all="ignore"):
        return _smooth_entries(f, g, *flat, closer=closer).reshape(shape)


def _mended(closed: Function, doubt: Function, other: Function, *arguments: Floats) -> Floats:
    """A closed form; by the other function where rounding may have cost more than 1e-12 of it.

    That is worse where it is farther off than rounding can have been.
    """
    with np.errstate(all="ignore"):
        value, error = closed(*arguments), 1.1e-16 * doubt(*arguments)
        value, error, *inputs = np.broadcast_arrays(value, error, *arguments)
        poor = ~(error <= 1e-12 * np.abs(value))
        if poor.any():
            value, first, error = value.copy(), value[poor], error[poor]
            average = other(*(a[poor] for a in inputs))
            worse = (np.abs(average - first) > 4.0 * error) | (np.isnan(average) & (error <= 1e-6 * np.abs(first)))
            value[poor] = np.where(worse, first, average)
    return value


def _angular_sum(total: Floats, apart: Callable[[], Floats], M: Floats, N: Floats, s: Floats) -> Floats:
    """A sum rest + M*N*theta, theta the angle of the point (-N, s), s >= 0, mended where it cancels.

    Where theta is small it is apart + M*s*(1 - theta/tan(theta)), with ``apart()`` = rest - M*s.
    """
    near = s < -1.5 * N
    if not near.any():
        return total
    total = np.array(total)
    near = np.broadcast_to(near, total.shape)  # parameters may have axes of their own
    difference, N, s, M = [np.broadcast_to(a, near.shape)[near] for a in (apart(), N, s, M)]
    v = (s / (np.hypot(N, s) - N)) ** 2  # tan(theta/2)**2
    tail = 0.0 * v
    for coefficient in _ARCTAN_TAIL:
        tail = tail * v + coefficient
    total[near] = difference + M * s * (v * (1.0 + (1.0 - v) * tail))
    return total
