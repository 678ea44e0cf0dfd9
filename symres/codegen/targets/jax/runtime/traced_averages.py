"""Averages of two smooth functions as series in the correlation, whose derivatives are series too.

A compiled program has as many nodes for all kernels, and one number of terms for all entries. What depends on one
kernel has the shape of that, not of the entries.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

from ....arrays.hermite.clustered_nodes import (
    _ENOUGH,
    _FARTHEST,
    _at_nodes,
    _coefficients_of,
    _eps,
    _parallel,
    _parts_of_one,
    _polynomials,
    _root_of_rest,
    _side_rule,
    _step,
)
from ....arrays.hermite.plane_sums import _parallel_average, _plane_average
from ....arrays.sloped.product_sums_at_nodes import _derivative, _price
from ....arrays.sloped.two_inputs import _correlation
from .traced_arrays import _widened

Function: TypeAlias = Callable[..., Array]

_CHUNK = 4096  # entries at a time that have kernels of their own
_BLOCK = 32  # terms at a time: a power of 2
_MOST_TERMS = 1024  # what nodes _step(1024) apart are for


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
        every = list(dict.fromkeys(pair for _, terms in rows for pair in terms))
        total = jnp.zeros_like(value)
        found = _averages(factors, slopes, every, *primals) if every else total
        for n, terms in rows:
            slope = found[jnp.array([every.index(pair) for pair in terms])]
            total = total + (0.5 if n < 2 else 1.0) * slope * tangents[n]
        return value, total

    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    functions = [_derivative(factors, slopes, name) for name in names]
    places = [jnp.array([names.index(name) for name in side]) for side in zip(*pairs)]

    def values(*given: Array) -> Array:
        return _series_values(lambda z, *p: jnp.stack([f(z, *p) for f in functions]), places, *given)

    averages = jax.custom_jvp(lambda *given: _mapped(values, *given))
    averages.defjvp(lambda primals, tangents: moved(primals, tangents), symbolic_zeros=True)
    return averages(*arguments)


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
        return jnp.moveaxis(_mapped(function, *placed), 1, 0), True

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
        return jnp.broadcast_to(found, (*found.shape[:1], _CHUNK))

    found = jnp.moveaxis(jax.lax.map(some, columns), 1, 0)
    return found.reshape((found.shape[0], -1))[:, :size].reshape((-1, *shape))


@jax.default_matmul_precision("highest")
def _series_values(f: Function, places: Sequence[Array], *arguments: Array) -> Array:
    """Averages along a first axis, with as many terms as the worst entry needs; in the plane where none are enough.

    Args:
        f: gives all functions along a first axis.
        places: the numbers of those that are averaged together.
        arguments: K1, K2, C, parameters.
    """
    K1, K2, C, *parameters = arguments
    shape, eps = jnp.broadcast_shapes(*(a.shape for a in arguments)), _eps(C)
    axes = (1,) * len(shape)
    shapes = [jnp.broadcast_shapes(axes, K.shape, *(p.shape for p in parameters if p.size > 1)) for K in (K1, K2)]
    known = jnp.isfinite(K1 + K2 + C + sum(parameters))
    rho, complement = (jnp.broadcast_to(a, shape) for a in _correlation(K1, K2, C))
    largest = [jnp.max(jnp.where(jnp.isfinite(K), K, 1.0), initial=1.0) for K in (K1, K2)]
    scale = 1.0 / jnp.sqrt(jnp.maximum(*largest))
    x, weight = _side_rule(scale, _side_nodes(scale, _step(_MOST_TERMS)))
    parallel, sides, sizes = complement == 0.0, [], []
    for own, K in zip(shapes, (K1, K2)):
        values = _at_nodes(f, _column(K, own, True), [_column(p, own) for p in parameters], x)
        parts, size = _parts_of_one(values.reshape((2, -1, x.size)), weight)
        sides.append(parts)
        sizes.append(size)

    def chosen(rows: Sequence[Array], *after: int) -> list[Array]:
        """What both functions of every pair have, in the shape of their kernels."""
        return [a.reshape((-1, *own, *after))[at] for a, own, at in zip(rows, shapes, places)]

    def goes_on(state: tuple) -> Array:
        terms, *_, largest = state
        return (terms < _MOST_TERMS) & (largest > _ENOUGH * eps)

    def more_terms(state: tuple) -> tuple:
        terms, polynomials, sums, off, power, total, _ = state
        polynomials, table = _polynomials(polynomials, x, terms, _BLOCK)
        found, changes = zip(*(_coefficients_of(parts, table) for parts in sides))
        a, b = (jnp.moveaxis(s, -1, 0) for s in chosen(found, _BLOCK))
        sums_of_terms, step = [jnp.zeros_like(rho)] * len(places[0]), rho
        for n in range(_BLOCK - 1, -1, -1):  # one array for each average: all in one are slower by half
            sums_of_terms = [s * rho + a[n, k] * b[n, k] for k, s in enumerate(sums_of_terms)]
        for _ in range(_BLOCK.bit_length() - 1):
            step = step * step
        sums = [before + (s * s).sum(1) for before, s in zip(sums, found)]
        off = [jnp.maximum(before, s) for before, s in zip(off, changes)]
        rest = [_root_of_rest(s, change) for s, change in zip(sums, off)]
        one, two = (jnp.max(jnp.where(jnp.isfinite(a), a, 0.0), initial=0.0) for a in rest)
        largest = reach ** (terms + _BLOCK) * one * two
        return terms + _BLOCK, polynomials, sums, off, power * step, total + power * jnp.stack(sums_of_terms), largest

    none, empty = [0.0 * size for size in sizes], jnp.zeros((len(places[0]), *shape), rho.dtype)
    reach = jnp.max(jnp.where(known & (jnp.abs(rho) < _parallel(C)), jnp.abs(rho), 0.0), initial=0.0)
    start = 0, (0.0 * weight, weight), none, none, jnp.ones_like(rho), empty, jnp.ones_like(reach)
    _, _, sums, off, power, total, _ = jax.lax.while_loop(goes_on, more_terms, start)
    one, two = chosen([_root_of_rest(s, change) for s, change in zip(sums, off)])
    good = jnp.abs(power) * one * two <= _ENOUGH * eps
    one, two = chosen(sizes)
    alike = parallel & (K1 == K2) & known  # the average of one input, whose values are there
    parts, size = (a.reshape((*a.shape[:-2], -1, math.prod(shapes[0]), *a.shape[2:])) for a in (sides[0], sizes[0]))
    even, odd = ((0.5 * p[places[0]] * p[places[1]] @ weight).reshape((-1, *shapes[0])) for p in parts)
    both = (size[places[0]] * size[places[1]]).reshape((-1, *shapes[0]))
    value = jnp.where(alike, (even + jnp.where(rho < 0.0, -odd, odd)) * both, total * one * two)
    fine = jnp.isfinite(_root_of_rest(sums[0], off[0])).reshape((-1, *shapes[0]))
    good = jnp.where(alike, fine[places[0]] & fine[places[1]], good & ~parallel).reshape((empty.shape[0], -1))

    one, two = (lambda z, *p, at=at: f(z, *p)[at] for at in places)
    entries = [_column(a, shape, True) for a in (K1, K2, rho, complement)] + [_column(p, shape) for p in parameters]
    line, left, rule = parallel.reshape(-1), ~good & known.reshape(-1), (x, weight, weight[None])
    on_line = functools.partial(_parallel_average, one, two, rule=rule)
    in_plane = functools.partial(_plane_average, one, two, finer=1)
    value = _some(on_line, 256, value.reshape(good.shape), left & line, entries)
    value = _some(in_plane, 16, value, left & ~line, entries)
    value = value.reshape(empty.shape)
    return jnp.where(known & jnp.isfinite(value), value, jnp.nan)


def _some(function: Function, few: int, value: Array, left: Array, columns: Sequence[Array]) -> Array:
    """Values, those that are left computed by a function, a few entries at a time."""

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        start, order, total = state
        at = order[jnp.minimum(start + jnp.arange(few), order.size - 1)]
        K1, K2, rho, complement, *parameters = (c[at] if c.shape else c for c in columns)
        found = function(K1, K2, rho, complement, parameters)
        return start + few, order, total.at[:, at].set(jnp.where(left[:, at], found, total[:, at]))

    def replaced() -> Array:
        entries = left.any(0)
        count = entries.sum()
        return jax.lax.while_loop(
            lambda state: state[0] < count, step, (0, jnp.nonzero(entries, size=entries.size)[0], value)
        )[2]

    few = min(few, value.shape[1])
    return jax.lax.cond(left.any(), replaced, lambda: value)


def _column(a: Array, shape: tuple[int, ...], always: bool = False) -> Array:
    """One number for each entry of a shape, along one axis; what is one number stays one, unless ``always``."""
    return a.reshape(()) if a.size == 1 and not always else jnp.broadcast_to(a, shape).reshape(-1)


def _side_nodes(scale: Array, step: float) -> int:
    """The number of nodes on each side of 0 for kernels up to 1e4; for larger ones they are a little farther apart."""
    return math.ceil(math.asinh(100.0 * math.sinh(_FARTHEST)) / step)


def _scan(step: Callable[..., tuple[Any, Any]], state: Any, rows: Array) -> tuple[Any, Any]:
    """The last state and the results of all steps, which take the state and a row."""
    return jax.lax.scan(step, state, rows)
