"""The overlap of two softmax vectors in compiled programs, whose sums have one of a few sizes."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array

from ....arrays.runtime.softmax_sums import Orders, _overlap_at, _overlap_grid
from .given_derivatives import _sloped
from .traced_arrays import _widened

_EQUAL_SIZES = ((176, 32), (448, 200), (1024, 512))  # nodes of a sum, and on one side of that over scores
_SIZES = (  # the same; on one side of the sum over other scores, length of tables; whether a*xi is small, for x and y
    *((176, 32, 32, 900, 0, 0), (288, 80, 80, 1500, 0, 0), (512, 256, 256, 3200, 0, 0)),
    *((176, 32, 32, 900, 1, 1), (512, 256, 256, 3200, 1, 1), (512, 256, 256, 3200, 0, 1), (512, 256, 256, 3200, 1, 0)),
)


def _softmax_overlap(S1: Array, S2: Array, k: Array, T: Array, *orders: int) -> Array:
    """The overlap of two softmax vectors of T keys, or a derivative of it in S1, S2 and k."""
    slopes = [
        functools.partial(_softmax_overlap_of, [n + (place == other) for other, n in enumerate(orders)]) for place in range(3)
    ]
    kind, arguments = jnp.result_type(S1, S2, k), [_widened(jnp.asarray(a)) for a in (S1, S2, k, T)]
    slack = 4096.0 * float(jnp.finfo(kind).eps)
    slopes.append(lambda S1, S2, k, T: jnp.full_like(T, jnp.nan))  # it is a whole number
    return _sloped(functools.partial(_overlap_values, orders, slack), slopes, *arguments).astype(kind)


def _softmax_overlap_of(orders: Orders, *arguments: Array) -> Array:
    """The same with the orders of derivatives first."""
    return _softmax_overlap(*arguments, *orders)


def _overlap_values(orders: Orders, slack: float, *arguments: Array) -> Array:
    """The values at entries, one after the other, which maps of them are too."""
    values = jax.custom_batching.custom_vmap(functools.partial(_overlap_entries, orders, slack))

    @values.def_vmap
    def _(count: int, batched: list, *arguments: Array) -> tuple[Array, bool]:
        moved = [a if is_batched else jnp.broadcast_to(a, (count, *a.shape)) for a, is_batched in zip(arguments, batched)]
        return _overlap_values(orders, slack, *moved), True

    return values(*arguments)


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
