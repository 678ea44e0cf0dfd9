"""Recursions through the layers of a network, unrolled, and what procedures begin with."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from ....arrays.runtime.error_free import _possible
from ....arrays.runtime.layer_recursion import _behind, _inputs, _separated, _through_layers
from .given_derivatives import _moving_with
from .traced_arrays import _arrays, _widened


def _deep(
    network: tuple,
    K1: ArrayLike,
    K2: ArrayLike,
    C: ArrayLike,
    Theta: ArrayLike,
    parameters: Sequence[tuple],
    every_layer: bool,
    same: Array | None = None,
) -> tuple[Array, ...]:
    """All layers; an excess of C over the kernel of equal inputs is equality.

    ``same`` tells which inputs are equal; if it is not known, those with C = K1 = K2.
    """
    like, *_ = given = _arrays(K1, K2, C, Theta, *(value for row in parameters for value in row))
    kind, shape = like.dtype, jnp.broadcast_shapes(*(a.shape for a in given))
    K1, K2, C, Theta, *others = map(_widened, given)
    rest = iter(others)
    parameters = [tuple([next(rest) for _ in row]) for row in parameters]
    if same is None:  # else what exceeds sqrt(K1*K2) has been cut off
        C = jnp.where(_possible(K1, K2, C, kind), C, jnp.nan)
    (first, lost), (second, gone) = (_inputs(network, K, parameters) for K in (K1, K2))
    C, Theta = jnp.broadcast_to(C, shape), jnp.broadcast_to(Theta, shape)
    same = (C == first[0][0]) & (C == second[0][0]) if same is None else same
    kept = list(_through_layers(network, first, second, C, Theta, same, parameters))
    if network[3]:
        kept = [tuple([jnp.where(a | b, jnp.nan, v) for v in row]) for a, b, row in zip(lost, gone, kept)]
    if every_layer:
        return tuple([jnp.stack(rows).astype(kind) for rows in zip(*kept)])
    return tuple([v.astype(kind) for v in kept[-1]])


def _deep_matrix(network: tuple, X1: ArrayLike, X2: ArrayLike | None, parameters: Sequence[tuple]) -> tuple[Array, ...]:
    """All layers for the rows of feature matrices; equal inputs, whose products were summed in another order, agree."""
    like = _arrays(X1, *([] if X2 is None else [X2]))[0]
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
    found = _deep(network, K1[:, None], K2, C, 0.0, parameters, False, equal)
    if X2 is None:
        found = tuple([jnp.triu(a) + jnp.triu(a, 1).T for a in found])
    return tuple([a.astype(like.dtype) for a in found])


def _equal_rows(given: tuple[Array, ...], symmetric: bool) -> Array:
    """Which rows are equal, compared in full only if some that are not the same one have nearly equal products."""
    first, second, K1, K2, C = given
    close = 4096.0 * jnp.finfo(C.dtype).eps
    near = (jnp.abs(C - K1[:, None]) <= close * K1[:, None]) & (jnp.abs(C - K2) <= close * K2)
    known = jnp.eye(K1.size, K2.size, dtype=bool) & symmetric

    def compared() -> Array:
        return jax.lax.map(lambda row: (row == second).all(-1), first)

    return jax.lax.cond((near & ~known).any(), compared, lambda: known)


def _carried(layer: tuple, near: Array, before: tuple, after: tuple, own: tuple, row: tuple) -> tuple:
    """What is known behind a layer, with the distances of inputs that were near before it.

    That takes five slopes an entry, and is left out where no entry is near.
    """
    size, gap, determinant = after
    before, fixed, own, row = jax.lax.stop_gradient((before, after, own, row))
    harmless = (*before[:3], jnp.where(near, before[3], 1e-8 * before[2]))  # where nothing is taken

    def replaced() -> tuple[Array, Array]:
        _, distance, product = _behind(layer, harmless, fixed, own, row)
        return jnp.where(near, distance, fixed[1]), jnp.where(near, product, fixed[2])

    gap, product = jax.lax.cond(near.any(), replaced, lambda: fixed[1:])
    return size, gap, _moving_with(determinant, product)


def _separated_behind(K1: Array, K2: Array, C: Array, same: Array, sharp: bool) -> tuple[Array, Array, Array]:
    """What is known behind a layer is as before the first one: derivatives go through it."""
    return _separated(K1, K2, C, same, sharp)


def _full(a: Array, like: Array) -> Array:
    """An array of the shape of another one."""
    return jnp.broadcast_to(a, like.shape)


def _fixed(a: Array) -> Array:
    """An array without derivatives."""
    return jax.lax.stop_gradient(a)


_LOST = 1.0  # so that gradients of other inputs are what they are


def _arguments(K: ArrayLike, parameters: Mapping[str, ArrayLike]) -> tuple[Array, dict[str, Array]]:
    """The kernel in the shape that all arguments have together, and the parameters."""
    kernel, *values = _arrays(K, *parameters.values())
    kernel = jnp.broadcast_to(kernel, jnp.broadcast_shapes(kernel.shape, *(a.shape for a in values)))
    return kernel, dict(zip(parameters, values))


def _quiet() -> AbstractContextManager:
    """Where nothing is told; JAX tells nothing."""
    return contextlib.nullcontext()


def _numbers(found: Sequence[float], like: Array | None, shape: tuple[int, ...]) -> Array:
    """An array of numbers, of the type of another one if there is such."""
    kind = jnp.result_type(float) if like is None else like.dtype
    return jnp.asarray([float(number) for number in found], dtype=kind).reshape(shape)
