"""Averages of two smooth functions as series in the correlation, whose derivatives are series too.

<f(z1) g(z2)> = sum_n a_n(K1) b_n(K2) rho**n with a_n(K) = <f(sqrt(K) x) h_n(x)> and normalised Hermite polynomials h_n.
Terms come in blocks, computed while the largest remainder of all entries needs them: what the first n terms leave is at
most abs(rho)**n times the root of (<f**2> - sum a**2)*(<g**2> - sum b**2). Entries for which that is too much in the
end are nan. By Price's theorem derivatives are <f' g'> in C, <f'' g>/2 in K1.

Nodes are at equal distances, whose error falls faster than any power of the distance; that of twice the distance tells
for which kernels they are too far apart. Functions come as f(x) + f(-x) and f(x) - f(-x), of which even and odd
polynomials see one each. What depends on one kernel has the shape of that, not of the entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
from jax import Array

from .given_derivatives import _with_slopes
from .traced_arrays import _widened

_STEP = 0.0625  # from node to node, in standard deviations
_NODES = 217  # at 0 and on one side of it, as far as something is left of the normal law times a polynomial
_BLOCK = 64  # terms at a time: a power of 2
_MOST_TERMS = 1024
_ENOUGH = 16.0  # roundings: what a series may leave of the root of <f**2> <g**2> when it ends
_LEFT = 5e-13  # of that root: what an entry may lack; in float32 the following
_LEFT_IN_SINGLE = 1e-5
_APART = 3e-8  # of <f**2>: how far the sum over every second node may be off
_CHUNK = 4096  # entries at a time that have kernels of their own


def _smooth_average(first: Mapping, second: Mapping, K1: Array, K2: Array, C: Array, *parameters: Array) -> Array:
    """<f(z1) g(z2)>, of the type of C; the mappings have f, g and their derivatives by names, None for what vanishes.

    A name has a letter for each derivative in a parameter, a, b, ... in order, then a z for each in z.
    """
    wide = [_widened(a) for a in (K1, K2, C, *parameters)]
    return _smooth_derivative(first, second, "", "", *wide).astype(C.dtype)


def _smooth_derivative(first: Mapping, second: Mapping, one: str, two: str, *arguments: Array) -> Array:
    """The average of a derivative of f and a derivative of g."""
    if one not in first or two not in second:
        raise NotImplementedError("averages of smooth functions have two derivatives")
    f, g = first[one], second[two]

    def average(more: str, other: str) -> Callable[..., Array]:
        names = ["".join(sorted(name)) for name in (one + more, two + other)]
        return lambda *given: _smooth_derivative(first, second, *names, *given)

    def halved(more: str, other: str) -> Callable[..., Array]:
        return lambda *given: 0.5 * average(more, other)(*given)

    def moved(letter: str) -> Callable[..., Array]:
        return lambda *given: average(letter, "")(*given) + average("", letter)(*given)

    slopes = [halved("zz", ""), halved("", "zz"), average("z", "z")]
    slopes += [moved(chr(97 + place)) for place in range(len(arguments) - 3)]

    def value(*given: Array) -> Array:
        if f is None or g is None:
            return jnp.zeros(jnp.broadcast_shapes(*(a.shape for a in given)), given[0].dtype)
        return _mapped(lambda *some: _series(f, g, *some), *given)

    return _with_slopes(value, slopes, *arguments)


def _mapped(function: Callable[..., Array], *arguments: Array) -> Array:
    """A function of arguments that broadcast, which jax.vmap calls once with all entries.

    Their number of terms is one then, and arguments that it does not map keep their shape.
    """

    def whole(*given: Array) -> Array:
        return _in_chunks(function, *given)

    def over_batch(size: int, mapped: Sequence[bool], *given: Array) -> tuple[Array, bool]:
        depth = max(a.ndim - along for a, along in zip(given, mapped))
        placed = [
            a.reshape(a.shape[:1] + (1,) * (depth + 1 - a.ndim) + a.shape[1:]) if along else a
            for a, along in zip(given, mapped)
        ]
        return _mapped(function, *placed), True

    entries = jax.custom_batching.custom_vmap(whole)
    entries.def_vmap(over_batch)
    return entries(*arguments)


def _in_chunks(function: Callable[..., Array], *arguments: Array) -> Array:
    """The values, some entries at a time where there are many that have kernels of their own."""
    K1, K2, _, *parameters = arguments
    shape = jnp.broadcast_shapes(*(a.shape for a in arguments))
    of_one = (math.prod(jnp.broadcast_shapes(K.shape, *(p.shape for p in parameters))) for K in (K1, K2))
    kernels, size = sum(of_one), math.prod(shape)
    if size <= _CHUNK or 8 * kernels <= size:
        return function(*arguments)
    fixed = [a.size == 1 for a in arguments]
    count = -(-size // _CHUNK)
    columns = [
        jnp.resize(jnp.broadcast_to(a, shape).reshape(-1), (count, _CHUNK))
        for a, single in zip(arguments, fixed)
        if not single
    ]

    def some(chunk: Sequence[Array]) -> Array:
        rest = iter(chunk)
        found = function(*(a.reshape(()) if single else next(rest) for a, single in zip(arguments, fixed)))
        return jnp.broadcast_to(found, (_CHUNK,))

    return jax.lax.map(some, columns).reshape(-1)[:size].reshape(shape)


def _series(
    f: Callable[..., Array], g: Callable[..., Array], K1: Array, K2: Array, C: Array, *parameters: Array
) -> Array:
    """<f(z1) g(z2)> at entries."""
    eps, shape = float(jnp.finfo(C.dtype).eps), jnp.broadcast_shapes(*(a.shape for a in (K1, K2, C, *parameters)))
    x = _STEP * jnp.arange(_NODES, dtype=C.dtype)
    weights = (_STEP / math.sqrt(2.0 * math.pi) * jnp.exp(-0.5 * x * x)).at[0].multiply(0.5)  # twice at 0
    (even, odd), first = _at_nodes(f, x, K1, parameters)
    (more, others), second = _at_nodes(g, x, K2, parameters)
    at_first = (even, odd) if f is g else _at_nodes(g, x, K1, parameters)[0]
    count, kernels = even.shape[1], even.shape[1] + more.shape[1]
    products = [even * at_first[0], odd * at_first[1]]
    even, odd = jnp.concatenate([even, more], 1), jnp.concatenate([odd, others], 1)

    # <f**2> of all kernels, and the same over every second node; <f g> of equal and of opposite inputs
    second_nodes = jnp.where(jnp.arange(_NODES) % 2 == 0, 2.0 * weights, 0.0)
    squares = jnp.concatenate([even * even + odd * odd, *products], 1)
    sums = _product(jnp.stack([weights, second_nodes]), 0.5 * squares)
    sizes = sums[0, :kernels]
    known = jnp.isfinite(sizes) & (jnp.abs(sums[1, :kernels] - sizes) <= _APART * sizes)
    unit = jnp.where(known & (sizes > 0.0), sizes, 1.0)

    inverse = [1.0 / jnp.sqrt(jnp.where(K > 0.0, K, jnp.inf)) for K in (K1, K2)]
    rho = jnp.clip(jnp.broadcast_to(C * inverse[0] * inverse[1], shape), -1.0, 1.0)
    same = (K1 == K2) & (jnp.abs(rho) > 1.0 - 4.0 * eps)
    alike, opposite = (sums[0, start : start + count].reshape(first) for start in (kernels, kernels + count))
    parallel = jnp.where(rho < 0.0, alike - opposite, alike + opposite)
    rho = jnp.where(same, 0.0, rho)
    reach = jnp.max(jnp.where(jnp.isnan(rho), 0.0, jnp.abs(rho)), initial=0.0)

    def goes_on(state: tuple) -> Array:
        terms, _, shares, *_ = state
        rests = jnp.where(known, shares, 0.0)
        rest = jnp.max(rests[:count], initial=0.0) * jnp.max(rests[count:], initial=0.0)
        return (terms < _MOST_TERMS) & (reach**terms * jnp.sqrt(rest) > _ENOUGH * eps)

    def more_terms(state: tuple) -> tuple:
        terms, polynomials, shares, power, total = state
        polynomials, rows = jax.lax.scan(_next_polynomial(x), polynomials, terms + jnp.arange(_BLOCK), unroll=2)
        found = jnp.stack([_product(rows[0::2], even), _product(rows[1::2], odd)], 1).reshape(_BLOCK, kernels)
        a, b = found[:, :count].reshape((_BLOCK, *first)), found[:, count:].reshape((_BLOCK, *second))
        part, step = jnp.zeros_like(total), rho
        for n in range(_BLOCK - 1, -1, -1):
            part = part * rho + a[n] * b[n]
        for _ in range(_BLOCK.bit_length() - 1):
            step = step * step
        shares = jnp.maximum(shares - (found * found).sum(0) / unit, 0.0)
        return terms + _BLOCK, polynomials, shares, power * step, total + power * part

    start = 0, (jnp.zeros_like(x), weights), sizes / unit, jnp.ones_like(rho), jnp.zeros_like(rho)
    _, _, shares, power, total = jax.lax.while_loop(goes_on, more_terms, start)
    most = _LEFT if C.dtype == jnp.float64 else _LEFT_IN_SINGLE
    left = jnp.where(same, 0.0, power * jnp.sqrt(shares[:count].reshape(first) * shares[count:].reshape(second)))
    fine = (left <= most) & known[:count].reshape(first) & known[count:].reshape(second)
    return jnp.where(fine, jnp.where(same, parallel, total), jnp.nan)


def _at_nodes(
    f: Callable[..., Array], x: Array, K: Array, parameters: Sequence[Array]
) -> tuple[tuple[Array, Array], tuple[int, ...]]:
    """f(z) + f(-z) and f(z) - f(-z): a row for each node, a column for each kernel; and the shape of the kernels."""
    shape = jnp.broadcast_shapes(K.shape, *(p.shape for p in parameters if p.size > 1))
    z = jnp.broadcast_to(jnp.sqrt(K), shape) * x.reshape((-1,) + (1,) * len(shape))
    own = [p.reshape(()) if p.size == 1 else p for p in parameters]
    right, left = (jnp.broadcast_to(f(u, *own), z.shape).reshape(x.size, -1) for u in (z, -z))
    return (right + left, right - left), shape


def _next_polynomial(x: Array) -> Callable[..., tuple]:
    """From polynomials n - 1 and n, times weights, to those of the next step, and the first of these as a row."""

    def step(polynomials: tuple[Array, Array], n: Array) -> tuple[tuple[Array, Array], Array]:
        before, here = polynomials
        return (here, (x * here - jnp.sqrt(1.0 * n).astype(x.dtype) * before) / jnp.sqrt(n + 1.0).astype(x.dtype)), here

    return step


def _product(a: Array, b: Array) -> Array:
    """The product of matrices in all digits of their type."""
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)
