"""Determinants without cancellation, of numbers that are split: compilers may fuse what is computed here as they like.

The product of two halves is exact. A compiler that contracts a product and a sum to one operation rounds the same sum,
and one that computes a product twice has the same number twice; of Dekker's product, whose rounding error is found
from the rounded product, neither holds.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from .given_derivatives import _sloped


def _halves(a: Array) -> tuple[Array, Array]:
    """The leading half of the digits of a number, and the rest: products of halves are exact."""
    kind, mask = (jnp.uint64, 0xFFFFFFFFF8000000) if a.dtype == jnp.float64 else (jnp.uint32, 0xFFFFF000)
    bits = jax.lax.bitcast_convert_type(a, kind) & jnp.asarray(mask, dtype=kind)
    high = jax.lax.bitcast_convert_type(bits, a.dtype)
    return high, a - high


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its rounding error: their sum is a + b exactly (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _cross_difference(x: Array, y: Array, u: Array, v: Array) -> Array:
    """x*y - u*v without cancellation."""
    (a, b), (c, d), (e, f), (g, h) = map(_halves, jnp.broadcast_arrays(*map(jnp.asarray, (x, y, u, v))))
    total, lost = _two_sum(a * c, -e * g)
    small = b * d - f * h
    for first, second in ((a * d, -e * h), (b * c, -f * g)):
        part, error = _two_sum(first, second)
        total, rounded = _two_sum(total, part)
        small = small + (error + rounded)
    return total + (small + lost)


def _determinant(K1: Array, K2: Array, C: Array) -> Array:
    """K1*K2 - C**2 without cancellation, at least 0; it moves like the polynomial, on the boundary too."""
    slopes = lambda K1, K2, C: K2, lambda K1, K2, C: K1, lambda K1, K2, C: -2.0 * C
    return _sloped(lambda K1, K2, C: jnp.maximum(_cross_difference(K1, K2, C, C), 0.0), slopes, K1, K2, C)
