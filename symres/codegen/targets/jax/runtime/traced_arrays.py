"""Arguments as arrays of one type, bounds with finite derivatives, integrals whose nodes never change as loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

Rule: TypeAlias = Sequence[tuple[float, float]]


def _of_one_type(*values: ArrayLike) -> list[Array]:
    """The arguments as arrays of one floating type; numbers alone have the widest that is switched on."""
    arrays = [jnp.asarray(v) for v in values if not isinstance(v, (int, float))]
    kind = jnp.result_type(*[a.dtype for a in arrays]) if arrays else jnp.result_type(float)
    if jnp.issubdtype(kind, jnp.complexfloating) or any(isinstance(v, complex) for v in values):
        raise TypeError("arguments are real numbers, not complex: pass the real parts")
    kind = jnp.promote_types(kind, jnp.float32) if jnp.issubdtype(kind, jnp.floating) else jnp.result_type(float)
    return [jnp.asarray(v, dtype=kind) for v in values]


def _widened(a: ArrayLike, like: Array | None = None) -> Array:
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


def _fixed_sum(
    term: Callable[..., Array], rules: tuple[Rule, Rule], first: Array, second: Array, ease: Array, *parts: Array
) -> Array:
    """The integral of a term from the first to the second limit; the first rule is for an ease of 1 or more."""
    return jax.lax.cond(
        jnp.all(ease >= 1.0), *(lambda rule=rule: _with_nodes(term, rule, first, second, *parts) for rule in rules)
    )


def _with_nodes(term: Callable[..., Array], rule: Rule, first: Array, second: Array, *parts: Array) -> Array:
    """The same by one rule: its nodes between 0 and 1, and their weights."""
    width, (x, w) = second - first, jnp.array(rule).T

    def with_node(n: int, total: Array) -> Array:
        return total + w[n] * term(first + width * x[n], *parts)

    return width * jax.lax.fori_loop(1, len(rule), with_node, w[0] * term(first + width * x[0], *parts))
