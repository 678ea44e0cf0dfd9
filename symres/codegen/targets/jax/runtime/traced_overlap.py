"""The overlap of two softmax vectors in compiled programs, whose sums have one of a few sizes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

from ....arrays.runtime.softmax_sums import Orders, _overlap_at, _overlap_grid
from .given_derivatives import _sloped
from .traced_arrays import _widened

Function: TypeAlias = Callable[..., Array]

_EQUAL_SIZES = ((176, 32), (448, 200), (1024, 512))  # nodes of a sum, and on one side of that over scores
_SIZES = (  # the same; on one side of the sum over other scores, length of tables; whether a*xi is small, for x and y
    *((176, 32, 32, 900, 0, 0), (288, 80, 80, 1500, 0, 0), (512, 256, 256, 3200, 0, 0)),
    *((176, 32, 32, 900, 1, 1), (512, 256, 256, 3200, 1, 1), (512, 256, 256, 3200, 0, 1), (512, 256, 256, 3200, 1, 0)),
)


def _softmax_overlap(S1: Array, S2: Array, k: Array, T: Array, *orders: int) -> Array:
    """The overlap of two softmax vectors of T keys, or a derivative of it in S1, S2 and k."""
    kind, arguments = jnp.result_type(S1, S2, k), [_widened(jnp.asarray(a)) for a in (S1, S2, k, T)]

    def slope(place: int) -> Function:
        raised = [order + (place == n) for n, order in enumerate(orders)]
        return lambda *at: _softmax_overlap(*at, *raised)

    slopes = [*map(slope, range(3)), lambda *at: jnp.full_like(at[3], jnp.nan)]  # T is a whole number
    return _sloped(_overlap_function(orders, 4096.0 * float(jnp.finfo(kind).eps)), slopes, *arguments).astype(kind)


@functools.lru_cache
def _overlap_function(orders: Orders, slack: float) -> Function:
    """The function of arrays of one shape: it is compiled once, and maps of it are functions of longer arrays."""
    values = jax.custom_batching.custom_vmap(jax.jit(functools.partial(_overlap_entries, orders, slack)))

    @values.def_vmap
    def _(count: int, batched: list, *arguments: Array) -> tuple[Array, bool]:
        moved = [a if has_axis else jnp.broadcast_to(a, (count, *a.shape)) for a, has_axis in zip(arguments, batched)]
        return values(*moved), True

    return values


def _overlap_entries(orders: Orders, slack: float, *arguments: Array) -> Array:
    """The values at entries of one shape."""
    possible, sizes, numbers = _overlap_grid(orders, slack, *(a.reshape(-1) for a in arguments))
    equal, nodes, half, turn, *sides = sizes
    needed = jnp.stack([nodes, half, jnp.maximum(sides[0], sides[4]), jnp.maximum(sides[1], sides[5])])
    fitting = [(equal > 0.0) & (nodes <= n) & (half <= m) for n, m in _EQUAL_SIZES]
    for *size, one, other in _SIZES:
        fits = (needed <= jnp.array(size)[:, None]).all(0) & (sides[3] == one) & (sides[7] == other)
        fitting.append(fits & (equal == 0.0))
    chosen = jnp.argmax(jnp.stack([~possible, *fitting, possible]), 0)
    whole = jnp.stack([turn, sides[2], sides[6]]).astype(int)

    def summed(size: tuple, whole: Array, numbers: Array) -> Array:
        count, half, *others = size
        if not others:
            return _overlap_at(orders, [1, count, half, 1], [*numbers], numbers)
        inner, length, *apart = others
        sides = [n for stride, is_apart in zip(whole[1:], apart) for n in (inner, length, stride, is_apart)]
        return _overlap_at(orders, [0, count, half, whole[0], *sides], [*numbers], numbers)

    def nothing(whole: Array, numbers: Array) -> Array:
        return jnp.full((), jnp.nan, numbers.dtype)

    branches = [nothing, *(functools.partial(summed, size) for size in (*_EQUAL_SIZES, *_SIZES)), nothing]
    values = jax.lax.map(lambda row: jax.lax.switch(row[0], branches, *row[1:]), (chosen, whole.T, numbers.T))
    return values.reshape(arguments[0].shape)


def _moments_of_scores(most: int, places: Array, masses: Array) -> tuple[Array, Array]:
    """The averages of ``u**n exp(-u)`` along the last axis of log(u), a row for each n, and those of 1 - exp(-u)."""
    size = jnp.exp(jnp.clip(places, None, 6.6))
    _, moments = jax.lax.scan(lambda kept, _: (kept * size, kept @ masses), jnp.exp(-size), None, most + 1)
    return moments, -jnp.expm1(-size) @ masses
