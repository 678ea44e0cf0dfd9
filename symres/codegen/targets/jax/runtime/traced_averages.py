"""Averages of two smooth functions as series in the correlation, whose derivatives are series too.

A compiled program has as many nodes for all kernels, and one number of terms for all entries. What depends on one
kernel has the shape of that, not of the entries.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

from ....arrays.hermite.clustered_nodes import (
    _ENOUGH,
    _FARTHEST,
    _at_nodes,
    _coefficients_of,
    _eps,
    _parts_of_one,
    _root_of_rest,
    _side_rule,
)
from ....arrays.hermite.plane_sums import _parallel_average, _plane_average
from ....arrays.runtime.error_free import _exact_correlation
from ....arrays.sloped.product_sums_at_nodes import _derivative, _price
from .traced_arrays import _widened

Function: TypeAlias = Callable[..., Array]

_CHUNK = 4096  # entries at a time that have kernels of their own
_BLOCK = 32  # terms at a time: a power of 2
_MOST_TERMS = 1024
_STEP = 0.05  # from node to node: the last of so many polynomials is a wave of the length 2*pi/sqrt(1024)


def _smooth_average(factors: Function, slopes: Sequence, one: str, two: str, *arguments: Array) -> Array:
    """<f(z1) g(z2)> of two factors for K1, K2, C and parameters, of the type of C; slopes are those of all factors."""
    shape = jnp.broadcast_shapes(*(a.shape for a in arguments))
    if math.prod(shape) == 0:  # no entries
        return jnp.zeros(shape, arguments[2].dtype)
    wide = [_widened(a) for a in arguments]
    return _averages(factors, slopes, [(one, two)], *wide)[0].astype(arguments[2].dtype)


def _averages(factors: Function, slopes: Sequence, pairs: Sequence[tuple[str, str]], *arguments: Array) -> Array:
    """Averages of pairs of derivatives along a first axis, whose derivatives are averages of further ones."""

    def moved(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
        value = _averages(factors, slopes, pairs, *primals)
        moving = [n for n, t in enumerate(tangents) if not isinstance(t, jax.custom_derivatives.SymbolicZero)]
        rows = [(n, terms) for n in moving for terms in zip(*(_price(n, pair) for pair in pairs))]
        distinct = list(dict.fromkeys(pair for _, terms in rows for pair in terms))
        total = jnp.zeros_like(value)
        averages = _averages(factors, slopes, distinct, *primals) if distinct else total
        for n, terms in rows:
            slope = averages[jnp.array([distinct.index(pair) for pair in terms])]
            total = total + (0.5 if n < 2 else 1.0) * slope * tangents[n]
        return value, total

    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    functions = [_derivative(factors, slopes, name) for name in names]
    sides = [jnp.array([names.index(name) for name in side]) for side in zip(*pairs)]

    def values(*primals: Array) -> Array:
        return _series_values(lambda z, *p: jnp.stack([f(z, *p) for f in functions]), sides, *primals)

    averages = jax.custom_jvp(lambda *primals: _mapped(values, *primals))
    averages.defjvp(lambda primals, tangents: moved(primals, tangents), symbolic_zeros=True)
    return averages(*arguments)


def _mapped(function: Callable[..., Array], *arguments: Array) -> Array:
    """A function of arguments that broadcast, which jax.vmap calls once with all entries.

    Their number of terms is one then, and arguments that it does not map keep their shape.
    """

    def over_batch(size: int, mapped: Sequence[bool], *batched: Array) -> tuple[Array, bool]:
        depth = max(a.ndim - along for a, along in zip(batched, mapped))
        alike = [
            a.reshape(a.shape[:1] + (1,) * (depth + 1 - a.ndim) + a.shape[1:]) if along else a
            for a, along in zip(batched, mapped)
        ]
        return jnp.moveaxis(_mapped(function, *alike), 1, 0), True

    entries = jax.custom_batching.custom_vmap(lambda *single: _in_chunks(function, *single))
    entries.def_vmap(over_batch)
    return entries(*arguments)


def _in_chunks(function: Callable[..., Array], *arguments: Array) -> Array:
    """The values, some entries at a time where there are many that have kernels of their own."""
    K1, K2, _, *parameters = arguments
    shape = jnp.broadcast_shapes(*(a.shape for a in arguments))
    size, columns = math.prod(shape), [a for a in arguments if a.size > 1]
    kernels = sum(math.prod(jnp.broadcast_shapes(K.shape, *(p.shape for p in parameters))) for K in (K1, K2))
    if size <= _CHUNK or 8 * kernels <= size:
        return function(*arguments)

    def of_chunk(chunk: Sequence[Array]) -> Array:
        entries = iter(chunk)
        values = function(*(next(entries) if a.size > 1 else a.reshape(()) for a in arguments))
        return jnp.broadcast_to(values, (*values.shape[:1], _CHUNK))

    flat = [jnp.resize(jnp.broadcast_to(a, shape).reshape(-1), (-(-size // _CHUNK), _CHUNK)) for a in columns]
    values = jnp.moveaxis(jax.lax.map(of_chunk, flat), 1, 0)
    return values.reshape((values.shape[0], -1))[:, :size].reshape((-1, *shape))


@jax.default_matmul_precision("highest")
def _series_values(f: Function, sides: Sequence[Array], *arguments: Array) -> Array:
    """Averages along a first axis, with as many terms as the worst entry needs; in the plane where none are enough.

    Args:
        f: gives all functions along a first axis.
        sides: the numbers of the first functions of all averages, and those of the second ones.
        arguments: K1, K2, C, parameters.
    """
    K1, K2, C, *parameters = arguments
    shape, eps = jnp.broadcast_shapes(*(a.shape for a in arguments)), _eps(C)
    many = [p.shape for p in parameters if p.size > 1]
    shapes = [jnp.broadcast_shapes((1,) * len(shape), K.shape, *many) for K in (K1, K2)]
    finite = jnp.isfinite(K1 + K2 + C + sum(parameters))
    rho, complement = (jnp.broadcast_to(a, shape) for a in _exact_correlation(K1, K2, C))
    largest = [jnp.max(jnp.where(jnp.isfinite(K), K, 1.0), initial=1.0) for K in (K1, K2)]
    x, weight = _side_rule(1.0 / jnp.sqrt(jnp.maximum(*largest)), _STEP)
    parts, sizes = [], []
    for kernels, K in zip(shapes, (K1, K2)):
        values = _at_nodes(f, _column(K, kernels, True), [_column(p, kernels) for p in parameters], x)
        of_one, size = _parts_of_one(values.reshape((2, -1, x.size)), weight)
        parts.append(of_one)
        sizes.append(size)

    def of_pairs(rows: Sequence[Array], *after: int) -> list[Array]:
        """What both functions of every pair have, in the shape of their kernels."""
        return [a.reshape((-1, *kernels, *after))[side] for a, kernels, side in zip(rows, shapes, sides)]

    def goes_on(state: tuple) -> Array:
        terms, *_, left = state
        return (terms < _MOST_TERMS) & (left > _ENOUGH * eps)

    def more_terms(state: tuple) -> tuple:
        terms, polynomials, sums, off, power, total, _ = state
        polynomials, table = _polynomials(polynomials, x, terms, _BLOCK)
        coefficients, changes = zip(*(_coefficients_of(of_one, table) for of_one in parts))
        a, b = (jnp.moveaxis(h, -1, 0) for h in of_pairs(coefficients, _BLOCK))
        sums_of_terms = [jnp.zeros_like(rho)] * len(sides[0])
        for n in range(_BLOCK - 1, -1, -1):  # one array for each average: all in one are slower by half
            sums_of_terms = [s * rho + a[n, k] * b[n, k] for k, s in enumerate(sums_of_terms)]
        total = total + power * jnp.stack(sums_of_terms)
        sums = [before + (h * h).sum(1) for before, h in zip(sums, coefficients)]
        off = [jnp.maximum(before, change) for before, change in zip(off, changes)]
        roots = map(_root_of_rest, sums, off)
        one, two = (jnp.max(jnp.where(jnp.isfinite(root), root, 0.0), initial=0.0) for root in roots)
        terms = terms + _BLOCK
        return terms, polynomials, sums, off, power * rho**_BLOCK, total, reach**terms * one * two

    none, empty = [0.0 * size for size in sizes], jnp.zeros((len(sides[0]), *shape), rho.dtype)
    inside = finite & (jnp.abs(rho) < 1.0 - 4.0 * eps)
    reach = jnp.max(jnp.where(inside, jnp.abs(rho), 0.0), initial=0.0)
    start = 0, (0.0 * weight, weight), none, none, jnp.ones_like(rho), empty, jnp.ones_like(reach)
    _, _, sums, off, power, total, _ = jax.lax.while_loop(goes_on, more_terms, start)
    one, two = of_pairs([_root_of_rest(s, change) for s, change in zip(sums, off)])
    parallel = complement == 0.0
    left = (finite & (parallel | ~(jnp.abs(power) * one * two <= _ENOUGH * eps))).reshape((empty.shape[0], -1))
    one, two = of_pairs(sizes)
    value, parallel = (total * one * two).reshape(left.shape), parallel.reshape(-1)

    one, two = (lambda z, *p, side=side: f(z, *p)[side] for side in sides)
    entries = [_column(a, shape, True) for a in (K1, K2, rho, complement)] + [_column(p, shape) for p in parameters]
    on_line = functools.partial(_parallel_average, one, two, rule=(x, weight, weight[None]))
    in_plane = functools.partial(_plane_average, one, two, finer=1)
    value = _replaced_by(on_line, 256, value, left & parallel, entries)
    value = _replaced_by(in_plane, 16, value, left & ~parallel, entries).reshape(empty.shape)
    return jnp.where(finite & jnp.isfinite(value), value, jnp.nan)


def _replaced_by(function: Function, few: int, values: Array, left: Array, columns: Sequence[Array]) -> Array:
    """Values, those that are left computed by a function, a few entries at a time."""
    few = min(few, values.shape[1])

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        start, order, total = state
        at = order[jnp.minimum(start + jnp.arange(few), order.size - 1)]
        K1, K2, rho, complement, *parameters = (c[at] if c.shape else c for c in columns)
        averages = function(K1, K2, rho, complement, parameters)
        return start + few, order, total.at[:, at].set(jnp.where(left[:, at], averages, total[:, at]))

    def replaced() -> Array:
        entries = left.any(0)
        count, order = entries.sum(), jnp.nonzero(entries, size=entries.size)[0]
        return jax.lax.while_loop(lambda state: state[0] < count, step, (0, order, values))[2]

    return jax.lax.cond(left.any(), replaced, lambda: values)


def _polynomials(before: tuple[Array, Array], x: Array, first: Array, count: int) -> tuple[tuple[Array, Array], Array]:
    """Hermite polynomials as other libraries have them, by a loop that is compiled once."""

    def following(rows: tuple[Array, Array], n: Array) -> tuple[tuple[Array, Array], Array]:
        last, row = rows
        return (row, (x * row - (first + n) ** 0.5 * last) / (first + n + 1) ** 0.5), row

    before, rows = jax.lax.scan(following, before, jnp.arange(count))
    return before, jnp.stack([rows[::2], rows[1::2]])


def _column(a: Array, shape: tuple[int, ...], always: bool = False) -> Array:
    """One number for each entry of a shape, along one axis; what is one number stays one, unless ``always``."""
    return a.reshape(()) if a.size == 1 and not always else jnp.broadcast_to(a, shape).reshape(-1)


def _side_nodes(scale: Array, step: float) -> int:
    """The number of nodes on each side of 0 for kernels up to 1e4; for larger ones they are a little farther apart."""
    return math.ceil(math.asinh(100.0 * math.sinh(_FARTHEST)) / step)
