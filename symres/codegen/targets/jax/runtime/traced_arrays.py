"""Arguments as arrays of one type, bounds and roots with finite derivatives, fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike


def _arrays(*values: ArrayLike) -> list[Array]:
    """The arguments as arrays of one floating type; numbers alone have the widest that is switched on."""
    arrays = [jnp.asarray(v) for v in values if not isinstance(v, (int, float))]
    kind = jnp.result_type(*[a.dtype for a in arrays]) if arrays else jnp.result_type(float)
    if jnp.issubdtype(kind, jnp.complexfloating) or any(isinstance(v, complex) for v in values):
        raise TypeError("arguments are real numbers, not complex: pass the real parts")
    kind = jnp.promote_types(kind, jnp.float32) if jnp.issubdtype(kind, jnp.floating) else jnp.result_type(float)
    return [jnp.asarray(v, dtype=kind) for v in values]


def _widened(a: ArrayLike) -> Array:
    """An array in the widest floating type that is switched on: float64 with jax_enable_x64, float32 without."""
    return jnp.asarray(a, dtype=jnp.result_type(float))


def _reduced(K: Array, below: bool) -> tuple[Array, Array | float]:
    """A kernel in the unit r**2 and 1/r, r a power of 2: the kernel is 0.5 to 16 then, or, unless ``below``, smaller.

    In float64 the unit is 1: squares of kernels are floats.
    """
    if K.dtype == jnp.float64:
        return K, 1.0
    _, exponent = jnp.frexp(jax.lax.stop_gradient(K))
    quarter = exponent // 4 if below else jnp.maximum(exponent // 4, 0)
    inverse = jnp.ldexp(jnp.ones_like(K), -2 * quarter)
    return K * inverse * inverse, inverse


def _shaped(value: ArrayLike, *idle: Array) -> Array:
    """A value that does not depend on the idle arguments, in their common shape and type."""
    value = jnp.asarray(value, dtype=idle[0].dtype)
    return jnp.broadcast_to(value, jnp.broadcast_shapes(value.shape, *(a.shape for a in idle)))


def _in_parts(function: Callable[..., Array], *arguments: Array) -> Array:
    """The values of a function of entries, all at once: a compiler fuses sums over nodes."""
    return function(*arguments)


def _at_least(x: Array, bound: ArrayLike) -> Array:
    """The larger one; what equals the bound still moves with x. Bounds too small for float32 are as far up there."""
    if isinstance(bound, float) and bound > 0.0 and x.dtype == jnp.float32:
        bound = max(bound, bound**0.18)
    return jnp.where(x < bound, bound, x)


def _at_most(x: Array, bound: ArrayLike) -> Array:
    """The smaller one; what equals the bound still moves with x."""
    return jnp.where(x > bound, bound, x)


def _piecewise(u: Array, edges: Sequence[float], table: Sequence[Sequence[float]]) -> Array:
    """The piecewise Chebyshev polynomial of u with the given inner and outer edges (Clenshaw's recursion)."""
    ends, rows = jnp.asarray(edges, dtype=u.dtype), jnp.asarray(table, dtype=u.dtype)
    u = _at_most(u, ends[-1])
    piece = jnp.searchsorted(ends[1:-1], u, side="right")
    left, right = ends[piece], ends[piece + 1]
    t = (2.0 * u - (left + right)) / (right - left)
    high, low = jnp.zeros_like(t), jnp.zeros_like(t)
    for k in range(rows.shape[0] - 1, 0, -1):
        high, low = rows[k][piece] + 2.0 * t * high - low, high
    return rows[0][piece] + t * high - low
