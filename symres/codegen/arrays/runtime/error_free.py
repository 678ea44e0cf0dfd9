"""Products and determinants without cancellation: what they lose to rounding is computed too (Dekker)."""

from __future__ import annotations

import numpy as xp

from .array_types import Bools, DType, Floats


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded product and its rounding error: their sum is a*b exactly (Dekker)."""
    product = a * b
    t = 134217729.0 * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = 134217729.0 * b
    b_high = t - (t - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _two_square(a: Floats) -> tuple[Floats, Floats]:
    """The rounded square and its rounding error: their sum is a**2 exactly (Dekker)."""
    square = a * a
    t = 134217729.0 * a
    high = t - (t - a)
    low = a - high
    return square, ((high * high - square) + 2.0 * high * low) + low * low


def _cross_difference(x: Floats, y: Floats, u: Floats, v: Floats) -> Floats:
    """x*y - u*v without cancellation."""
    p, p_error = _two_product(x, y)
    q, q_error = _two_product(u, v)
    return (p - q) + (p_error - q_error)


def _determinant(K1: Floats, K2: Floats, C: Floats) -> Floats:
    """K1*K2 - C**2 without cancellation; 0 where rounding made C a little too large."""
    p, p_error = _two_product(K1, K2)
    q, q_error = _two_square(C)
    return xp.maximum((p - q) + (p_error - q_error), 0.0)


def _correlation(K1: Floats, K2: Floats, C: Floats) -> tuple[Floats, Floats]:
    """C/sqrt(K1*K2) and sqrt(1 - (C/sqrt(K1*K2))**2), without cancellation; 0 and 1 where a kernel vanishes."""
    size = xp.sqrt(K1) * xp.sqrt(K2)
    vanishes = size == 0.0
    size = xp.where(vanishes, 1.0, size)
    ratio = xp.where(vanishes, 0.0, xp.clip(C / size, -1.0, 1.0))
    rest = xp.sqrt(_determinant(K1, K2, C)) / size
    rest = xp.where(
        size > 1e-140, rest, xp.sqrt((1.0 - ratio) * (1.0 + ratio))
    )  # products of the kernels are no floats
    return ratio, xp.minimum(rest, 1.0)


def _possible(K1: Floats, K2: Floats, C: Floats, kind: DType | None = None) -> Bools:
    """Where a covariance exceeds sqrt(K1*K2) by 64 ulp of a type at most, as rounding does; without one, of theirs."""
    first, second = xp.sqrt(K1), xp.sqrt(K2)
    return xp.abs(C) <= ((1.0 + 64.0 * float(xp.finfo(first.dtype if kind is None else kind).eps)) * first) * second


def _clipped(K1: Floats, K2: Floats, C: Floats) -> Floats:
    """Covariances, cut off at sqrt(K1*K2); next to it only what its own rounding does not explain."""
    first, second = xp.sqrt(K1), xp.sqrt(K2)
    most = xp.where(K1 == K2, K1, ((1.0 + 2.0 * float(xp.finfo(first.dtype).eps)) * first) * second)
    return xp.clip(C, -most, most)


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
