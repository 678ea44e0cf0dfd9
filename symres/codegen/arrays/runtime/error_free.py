"""Products and determinants without cancellation: what they lose to rounding is computed too (Dekker)."""

from __future__ import annotations

import numpy as xp

from .array_types import Bools, DType, Floats


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """The leading half of the digits of a number, and the other half: products of halves are exact (Dekker)."""
    t = 134217729.0 * a
    high = t - (t - a)
    return high, a - high


def _cross_difference(x: Floats, y: Floats, u: Floats, v: Floats) -> Floats:
    """x*y - u*v without cancellation: what rounding takes from the products is computed too."""
    p, q = x * y, u * v
    (a, b), (c, d), (e, f), (g, h) = map(_halves, (x, y, u, v))
    p_error = ((a * c - p) + a * d + b * c) + b * d
    q_error = ((e * g - q) + e * h + f * g) + f * h
    return (p - q) + (p_error - q_error)


def _determinant(K1: Floats, K2: Floats, C: Floats) -> Floats:
    """K1*K2 - C**2 without cancellation; 0 where rounding made C a little too large."""
    return xp.maximum(_cross_difference(K1, K2, C, C), 0.0)


def _correlation(K1: Floats, K2: Floats, C: Floats) -> tuple[Floats, Floats]:
    """See _exact_correlation; a library that differentiates has its own."""
    return _exact_correlation(K1, K2, C)


def _exact_correlation(K1: Floats, K2: Floats, C: Floats) -> tuple[Floats, Floats]:
    """C/sqrt(K1*K2) and sqrt(1 - (C/sqrt(K1*K2))**2), without cancellation; 0 and 1 where a kernel vanishes."""
    size = xp.sqrt(K1) * xp.sqrt(K2)
    vanishes = size == 0.0
    size = xp.where(vanishes, 1.0, size)
    ratio = xp.where(vanishes, 0.0, xp.clip(C / size, -1.0, 1.0))
    exact = xp.sqrt(xp.clip(_cross_difference(K1, K2, C, C), 0.0, None)) / size
    smallest = float(xp.finfo(size.dtype).tiny) ** 0.45  # products of smaller kernels are not floats
    complement = xp.where(size > smallest, exact, xp.sqrt((1.0 - ratio) * (1.0 + ratio)))
    return ratio, xp.clip(complement, None, 1.0)


def _possible(K1: Floats, K2: Floats, C: Floats, kind: DType | None = None) -> Bools:
    """Where a covariance exceeds sqrt(K1*K2) by 64 ulp of a type at most, as rounding does; without one, of theirs."""
    first, second = xp.sqrt(K1), xp.sqrt(K2)
    return xp.abs(C) <= ((1.0 + 64.0 * float(xp.finfo(first.dtype if kind is None else kind).eps)) * first) * second


def _clipped(K1: Floats, K2: Floats, C: Floats) -> Floats:
    """Covariances, cut off at sqrt(K1*K2), where they keep their derivative.

    Next to it only what its own rounding does not explain is cut off.
    """
    first, second = xp.sqrt(K1), xp.sqrt(K2)
    most = xp.where(K1 == K2, K1, ((1.0 + 2.0 * float(xp.finfo(first.dtype).eps)) * first) * second)
    return _moving_with(C, xp.clip(C, -most, most))


def _moving_with(a: Floats, value: Floats) -> Floats:
    """A value with the derivatives of ``a``; a library that differentiates has its own."""
    return value


def _separation(K1: Floats, K2: Floats, C: Floats) -> Floats:
    """sqrt(K1*K2) - C without cancellation; 0 where rounding made C a little too large."""
    size = xp.sqrt(K1) * xp.sqrt(K2)
    both = size + xp.abs(C)
    return xp.where(C > 0.0, _determinant(K1, K2, C) / (both + (both == 0.0)), size - C)


def _restored(value: Floats, x: Floats, y: Floats, b: Floats) -> Floats:
    """An exponential times 1 + e, e what its exponent (x + y) + abs(b) has lost to rounding (Knuth)."""
    size = xp.abs(b)
    first = x + y
    back = first - x
    lost = (x - (first - back)) + (y - back)
    total = first + size
    back = total - first
    lost = lost + ((first - (total - back)) + (size - back))
    return value * (1.0 + lost)
