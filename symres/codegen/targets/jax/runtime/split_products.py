"""Determinants without cancellation, of numbers that are split: compilers may fuse what is computed here as they like.

The product of two halves is exact. A compiler that contracts a product and a sum to one operation rounds the same sum,
and one that computes a product twice has the same number twice; of Dekker's product, whose rounding error is found
from the rounded product, neither holds.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from .given_derivatives import _moving_with, _sloped
from .traced_arrays import _at_least, _at_most, _root


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
    rest = b * d - f * h
    for first, second in ((a * d, -e * h), (b * c, -f * g)):
        part, error = _two_sum(first, second)
        total, more = _two_sum(total, part)
        rest = rest + (error + more)
    return total + (rest + lost)


def _difference_of_products(K1: Array, K2: Array, C: Array) -> Array:
    """K1*K2 - C**2 without cancellation; 0 where rounding made C a little too large."""
    return jnp.maximum(_cross_difference(K1, K2, C, C), 0.0)


def _slope_in_K1(K1: Array, K2: Array, C: Array) -> Array:
    """The derivative of K1*K2 - C**2 in K1."""
    return K2


def _slope_in_K2(K1: Array, K2: Array, C: Array) -> Array:
    """The derivative of K1*K2 - C**2 in K2."""
    return K1


def _slope_in_C(K1: Array, K2: Array, C: Array) -> Array:
    """The derivative of K1*K2 - C**2 in C."""
    return -2.0 * C


def _determinant(K1: Array, K2: Array, C: Array) -> Array:
    """K1*K2 - C**2 without cancellation; its derivative is that of the polynomial, on the boundary too."""
    return _sloped(_difference_of_products, (_slope_in_K1, _slope_in_K2, _slope_in_C), K1, K2, C)


def _correlation(K1: Array, K2: Array, C: Array) -> tuple[Array, Array]:
    """C/sqrt(K1*K2) and sqrt(1 - (C/sqrt(K1*K2))**2), without cancellation; 0 and 1 where a kernel vanishes."""
    size = _root(K1) * _root(K2)
    vanishes = size == 0.0
    size = jnp.where(vanishes, 1.0, size)
    ratio = jnp.where(vanishes, 0.0, _at_most(_at_least(C / size, -1.0), 1.0))
    rest = _root(_determinant(K1, K2, C)) / size
    smallest = float(jnp.finfo(C.dtype).tiny) ** 0.45  # the halves of products below are no floats
    rest = jnp.where(size > smallest, rest, _root((1.0 - ratio) * (1.0 + ratio)))
    return ratio, _at_most(rest, 1.0)


def _clipped(K1: Array, K2: Array, C: Array) -> Array:
    """Covariances, cut off at sqrt(K1*K2), where they keep their derivative."""
    most = ((1.0 + 2.0 * float(jnp.finfo(C.dtype).eps)) * jnp.sqrt(K1)) * jnp.sqrt(K2)
    most = jnp.where(K1 == K2, K1, most)
    return _moving_with(C, jax.lax.stop_gradient(jnp.clip(C, -most, most)))


def _separation(K1: Array, K2: Array, C: Array) -> Array:
    """sqrt(K1*K2) - C without cancellation; 0 where rounding made C a little too large."""
    size = _root(K1) * _root(K2)
    both = size + jnp.abs(C)
    near = _determinant(K1, K2, C) / (both + (both == 0.0))
    return jnp.where(C > 0.0, near, size - C)
