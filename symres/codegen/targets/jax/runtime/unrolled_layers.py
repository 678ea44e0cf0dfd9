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
from ....arrays.runtime.layer_recursion import _SMALLEST, _narrowed, _parted
from .given_derivatives import _moving_with
from .split_products import _determinant
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
    """All layers. Equal inputs keep the kernel of one, an excess over it is equality.

    The slope of a function with a kink changes with the root of the distance of C from sqrt(K1*K2), which rounding of
    C would hide for nearly parallel inputs: there the distance itself is carried from layer to layer.
    ``same`` tells which inputs are equal; if it is not known, those with C = K1 = K2.
    """
    layers, sharp, determined, directed, _ = network
    like, *_ = given = _arrays(K1, K2, C, Theta, *(value for row in parameters for value in row))
    kind, shape = like.dtype, jnp.broadcast_shapes(*(a.shape for a in given))
    K1, K2, C, Theta, *others = map(_widened, given)
    rest = iter(others)
    parameters = [tuple([next(rest) for _ in row]) for row in parameters]
    if same is None:  # else what exceeds sqrt(K1*K2) has been cut off
        C = jnp.where(_possible(K1, K2, C, kind), C, jnp.nan)
    (first, lost), (second, gone) = (_inputs(network, K, parameters) for K in (K1, K2))
    same = (C == K1) & (C == K2) if same is None else same
    K1, K2 = first[0][0], second[0][0]
    C, Theta = jnp.broadcast_to(C, shape), jnp.broadcast_to(Theta, shape)
    determinant, kept = _apart(K1, K2, C, same) if determined else None, [(C, Theta)]
    if sharp:
        size, gap = _gap(K1, K2, C, determinant)
    for place, ((_, pair, slope, parallel, *_), row) in enumerate(zip(layers, parameters)):
        own, before = (first[place][1:], second[place][1:]), (K1, K2)
        C, Theta = pair(K1, K2, C, Theta, determinant, *own, *row)
        K1, K2 = first[place + 1][0], second[place + 1][0]
        C, Theta = jnp.broadcast_to(C, shape), jnp.broadcast_to(Theta, shape)
        C = _moving_with(C, jnp.where(same, K1, C))
        kept.append((C, Theta))
        if determined:
            determinant = _apart(K1, K2, C, same)
        if sharp:
            near = _is_near(size, gap) & ~same
            following, other = _gap(K1, K2, C, determinant)
            carried = _carried((slope, pair, parallel), (*before, size, gap), near, following, other, own, row)
            size, gap = following, carried
            known = jnp.where(_is_near(size, gap) & ~same, gap * (2.0 * size - gap), determinant)
            determinant = _moving_with(determinant, known)
    if directed:
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


def _inputs(network: tuple, K: Array, parameters: Sequence[tuple]) -> tuple[tuple, list[Array]]:
    """For every layer the kernel of an input and what else the layer needs of that alone; last the final kernel.

    Returns:
        those, and where there is none behind so many layers: an input of kernel 0 has no direction, which a normaliser
        needs. There the recursion goes on with another kernel, so that gradients of other inputs are what they are.
    """
    found, lost = [], [K < 0.0]
    K = K if network[3] else jnp.where(K >= 0.0, K, jnp.nan)
    for (one, *_, directed, _), row in zip(network[0], parameters):
        K = _moving_with(K, jnp.where(jnp.abs(K) < _SMALLEST, 0.0, K))
        if network[3]:
            none = ~(K > 0.0) if directed else ~(K >= 0.0)
            K = jnp.where(none, 1.0, K)
            lost.append(lost[-1] | none)
        following, *own = one(K, *row)
        found.append((K, *own))
        K = following
    return (*found, (K,)), lost


def _apart(K1: Array, K2: Array, C: Array, same: Array) -> Array:
    """K1*K2 - C**2; 0 for equal inputs, although a compiler may compute K1 and C in several places and ways."""
    determinant = _determinant(K1, K2, C)
    return _moving_with(determinant, jnp.where(same, 0.0, determinant))


def _is_near(size: Array, gap: Array) -> Array:
    """Whether the distance of C from sqrt(K1*K2) is carried: 1 - C/sqrt(K1*K2) is below 1e-5 (8e-3 in float32)."""
    return gap < 1.65 * float(jnp.finfo(gap.dtype).eps) ** (1 / 3) * size


def _gap(K1: Array, K2: Array, C: Array, determinant: Array) -> tuple[Array, Array]:
    """The size sqrt(K1*K2) and how far C is below it, by the determinant where the inputs are near."""
    K1, K2, C, determinant = map(jax.lax.stop_gradient, (K1, K2, C, determinant))
    size = jnp.broadcast_to(jnp.sqrt(K1) * jnp.sqrt(K2), C.shape)
    gap = size - C
    return size, jnp.where(_is_near(size, gap), determinant / (size + C), gap)


def _carried(functions: tuple, before: tuple, near: Array, size: Array, gap: Array, own: tuple, row: tuple) -> Array:
    """The distance behind a layer: where inputs were near before it, found from the distance there.

    That takes five slopes an entry, and is left out where no entry is near.
    """
    slope, pair, parallel = functions
    K1, K2, own, row = jax.lax.stop_gradient((*before[:2], own, row))
    last = jnp.where(near, before[3], 1e-8 * before[2])  # where nothing is taken, something harmless

    def found() -> Array:
        some = (K1, K2, before[2], last)
        narrowed, doubt = _narrowed(slope, some, own, row)
        carried = narrowed + _parted(pair, parallel, some, size, own, row)
        certain = doubt <= 0.5 * jnp.finfo(gap.dtype).eps * size  # slopes may change fast
        return jnp.where(near & certain, carried, gap)

    return jax.lax.cond(near.any(), found, lambda: gap)


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
