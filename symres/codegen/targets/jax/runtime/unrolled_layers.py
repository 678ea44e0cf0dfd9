"""Recursions through the layers of a network, unrolled, and what procedures begin with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from ....arrays.runtime.layer_recursion import _behind, _Layer, _Network
from ....arrays.sloped.through_networks import _deep
from .given_derivatives import _moving_with
from .traced_arrays import _of_one_type, _widened


def _deep_matrix(
    network: _Network, X1: ArrayLike, X2: ArrayLike | None, parameters: Sequence[tuple]
) -> tuple[Array, ...]:
    """All layers for the rows of feature matrices; equal inputs, whose products were summed in another order, agree."""
    like = _of_one_type(X1, *([] if X2 is None else [X2]))[0]
    first = _widened(X1)
    second = first if X2 is None else _widened(X2)
    K1, K2 = ((X * X).sum(-1) / X.shape[-1] for X in (first, second))
    C = jnp.matmul(first, second.T, precision=jax.lax.Precision.HIGHEST) / first.shape[-1]
    equal = _equal_rows(jax.lax.stop_gradient((first, second, K1, K2, C)), X2 is None)
    same = jnp.where(equal.any(0), K1[jnp.argmax(equal, 0)], K2)  # the kernel of the first one that is equal
    K2 = _moving_with(K2, same)
    K1 = K2 if X2 is None else K1
    size = jnp.sqrt(K1)[:, None] * jnp.sqrt(K2)
    C = _moving_with(C, jnp.where(equal, K1[:, None], jnp.clip(C, -size, size)))
    kernels = _deep(network, (K1[:, None],), (K2,), (C,), (0.0,), parameters, False, equal)
    if X2 is None:
        kernels = tuple([jnp.triu(a) + jnp.triu(a, 1).T for a in kernels])
    return tuple([a.astype(like.dtype) for a in kernels])


def _equal_rows(products: tuple[Array, ...], symmetric: bool) -> Array:
    """Which rows are equal, compared in full only if some that are not the same one have nearly equal products."""
    first, second, K1, K2, C = products
    close = 4096.0 * jnp.finfo(C.dtype).eps
    near = (jnp.abs(C - K1[:, None]) <= close * K1[:, None]) & (jnp.abs(C - K2) <= close * K2)
    itself = jnp.eye(K1.size, K2.size, dtype=bool) & symmetric

    def compared() -> Array:
        return jax.lax.map(lambda row: (row == second).all(-1), first)

    return jax.lax.cond((near & ~itself).any(), compared, lambda: itself)


def _carried(layer: _Layer, near: Array, before: tuple, after: tuple, extras: tuple, row: tuple) -> tuple:
    """What is known behind a layer, with the distances of inputs that were near before it.

    That takes five slopes an entry, and is left out where no entry is near.
    """
    size, gap, determinant = after
    before, fixed, extras, row = jax.lax.stop_gradient((before, after, extras, row))
    harmless = (*before[:3], jnp.where(near, before[3], 1e-8 * before[2]))  # where nothing is taken

    def replaced() -> tuple[Array, Array]:
        _, distance, product = _behind(layer, harmless, fixed, extras, row)
        return jnp.where(near, distance, fixed[1]), jnp.where(near, product, fixed[2])

    gap, product = jax.lax.cond(near.any(), replaced, lambda: fixed[1:])
    return size, gap, _moving_with(determinant, product)


def _fixed(a: Array) -> Array:
    """An array without derivatives."""
    return jax.lax.stop_gradient(a)


def _quiet() -> AbstractContextManager:
    """Where nothing is told; JAX tells nothing."""
    return contextlib.nullcontext()


def _repeated(
    function: Callable[..., tuple[Array, ...]], state: tuple[Array, ...], count: int, is_done: Callable[..., Any]
) -> tuple[Array, ...]:
    """A state after so many steps, or fewer if it is done."""

    def goes_on(place: tuple[Array, tuple[Array, ...]]) -> Array:
        return (place[0] < count) & ~is_done(*place[1])

    def follow(place: tuple[Array, tuple[Array, ...]]) -> tuple[Array, tuple[Array, ...]]:
        return place[0] + 1, function(*place[1])

    return jax.lax.while_loop(goes_on, follow, (jnp.zeros((), int), state))[1]


def _numbers(values: Sequence[float], like: Array | None, shape: tuple[int, ...]) -> Array:
    """An array of numbers, of the type of another one if there is such."""
    kind = jnp.result_type(float) if like is None else like.dtype
    return jnp.asarray([float(number) for number in values], dtype=kind).reshape(shape)
