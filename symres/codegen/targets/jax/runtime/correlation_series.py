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

from ....arrays.sloped.refused_derivatives import NoDerivative
from .given_derivatives import _with_slopes
from .traced_arrays import _widened

_STEP = 0.0625  # from node to node, in standard deviations
_SIDE_NODES = 217  # at 0 and on one side of it, as far as something is left of the normal law times a polynomial
_BLOCK = 64  # terms at a time: a power of 2
_MOST_TERMS = 1024
_ENOUGH = 16.0  # roundings: what a series may leave of the root of <f**2> <g**2> when it ends
_LEFT = 5e-13  # of that root: what an entry may lack; in float32 the following
_LEFT_IN_SINGLE = 1e-5
_APART = 2.0  # roots of a rounding: what the sum over every second node may differ by, of <f**2>
_FEWER = "take fewer derivatives, or differences of these"
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
        raise NoDerivative("a third derivative", "averages of smooth functions have two derivatives", _FEWER)
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
        return _mapped(lambda *some: _series_values(f, g, *some), *given)

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


def _series_values(
    f: Callable[..., Array], g: Callable[..., Array], K1: Array, K2: Array, C: Array, *parameters: Array
) -> Array:
    """<f(z1) g(z2)> at entries."""
    eps, shape = float(jnp.finfo(C.dtype).eps), jnp.broadcast_shapes(*(a.shape for a in (K1, K2, C, *parameters)))
    points = [_STEP * q for q in range(_SIDE_NODES)]
    weights = [_STEP / math.sqrt(2.0 * math.pi) * math.exp(-0.5 * x * x) / (1 + (x == 0.0)) for x in points]
    x, weight = (jnp.asarray(numbers, dtype=C.dtype) for numbers in (points, weights))
    first, second = (jnp.broadcast_shapes(K.shape, *(p.shape for p in parameters if p.size > 1)) for K in (K1, K2))
    count = math.prod(first)
    columns = [_columns((K1, *parameters), first), _columns((K2, *parameters), second)]
    if f is g:
        values, units = _in_units(_at_nodes(f, x, [_joined(pair) for pair in zip(*columns)]))
        squares, other_unit = values * values, units[:count]
    else:
        values, units = _in_units(jnp.concatenate([_at_nodes(f, x, columns[0]), _at_nodes(g, x, columns[1])], 2))
        other, other_unit = _in_units(_at_nodes(g, x, columns[0]))
        squares = jnp.concatenate([values * values, values[:, :, :count] * other], 2)

    # <f**2> of all kernels, the same over every second node, and <f g> of equal and of opposite inputs
    every_second = [2.0 * w if q % 2 == 0 else 0.0 for q, w in enumerate(weights)]
    both = jnp.asarray([weights, every_second], dtype=C.dtype)
    even, odd = (_product(both, 0.5 * part) for part in squares)
    kernels = values.shape[2]
    sizes, others = (even + odd)[:, :kernels]
    known = jnp.isfinite(sizes) & (jnp.abs(others - sizes) <= _APART * math.sqrt(eps) * sizes)
    unit = jnp.where(known & (sizes > 0.0), sizes, 1.0)
    alike = slice(0, count) if f is g else slice(kernels, kernels + count)

    inverse = [1.0 / jnp.sqrt(jnp.where(K > 0.0, K, jnp.inf)) for K in (K1, K2)]
    rho = jnp.clip(jnp.broadcast_to(C * inverse[0] * inverse[1], shape), -1.0, 1.0)
    same = (K1 == K2) & (jnp.abs(rho) > 1.0 - 4.0 * eps)
    parallel = even[0, alike].reshape(first) + jnp.where(rho < 0.0, -1.0, 1.0) * odd[0, alike].reshape(first)
    unit1, unit2 = units[:count].reshape(first), units[count:].reshape(second)
    parallel = parallel * unit1 * other_unit.reshape(first)
    rho = jnp.where(same, 0.0, rho)
    reach = jnp.max(jnp.where(jnp.isnan(rho), 0.0, jnp.abs(rho)), initial=0.0)

    def goes_on(state: tuple) -> Array:
        terms, largest, *_ = state
        return (terms < _MOST_TERMS) & (largest > _ENOUGH * eps)

    def more_terms(state: tuple) -> tuple:
        terms, _, polynomials, shares, power, total = state
        polynomials, rows = jax.lax.scan(_two_more(x), polynomials, _factors(terms, C.dtype))
        found = _product(rows.swapaxes(0, 1), values)
        a = found[:, :, :count].reshape((*found.shape[:2], *first))
        b = found[:, :, count:].reshape((*found.shape[:2], *second))
        part, step = jnp.zeros_like(total), rho
        for n in range(_BLOCK // 2 - 1, -1, -1):
            part = part * rho + a[1, n] * b[1, n]
            part = part * rho + a[0, n] * b[0, n]
        for _ in range(_BLOCK.bit_length() - 1):
            step = step * step
        shares = jnp.maximum(shares - (found * found).sum((0, 1)) / unit, 0.0)
        largest = reach ** (terms + _BLOCK) * jnp.max(jnp.where(known, shares, 0.0), initial=0.0)
        return terms + _BLOCK, largest, polynomials, shares, power * step, total + power * part

    start = 0, jnp.ones_like(reach), (jnp.zeros_like(x), weight), sizes / unit, jnp.ones_like(rho), jnp.zeros_like(rho)
    *_, shares, power, total = jax.lax.while_loop(goes_on, more_terms, start)
    most = _LEFT if C.dtype == jnp.float64 else _LEFT_IN_SINGLE
    lacking = jnp.sqrt(jnp.where(known, shares, jnp.inf))
    left = lacking[:count].reshape(first) * lacking[count:].reshape(second)
    left = jnp.where(same & jnp.isfinite(left), 0.0, power * left)
    return jnp.where(left <= most, jnp.where(same, parallel, total * unit1 * unit2), jnp.nan)


def _columns(arguments: Sequence[Array], shape: tuple[int, ...]) -> list[Array]:
    """Numbers as they are; else one for each of the kernels, one behind the other."""
    return [
        a.reshape(()) if n and a.size == 1 else jnp.broadcast_to(a, shape).reshape(-1) for n, a in enumerate(arguments)
    ]


def _joined(pair: tuple[Array, Array]) -> Array:
    """The columns of both inputs, one behind the other; a number as it is."""
    return pair[0] if pair[0].ndim == 0 else jnp.concatenate(pair)


def _at_nodes(f: Callable[..., Array], x: Array, columns: Sequence[Array]) -> Array:
    """f(z) + f(-z), and f(z) - f(-z): a row for each node, a column for each kernel."""
    K, *parameters = columns
    z = jnp.sqrt(K) * jnp.stack([x, -x])[:, :, None]
    right, left = jnp.broadcast_to(f(z, *parameters), z.shape)
    return jnp.stack([right + left, right - left])


def _in_units(values: Array) -> tuple[Array, Array]:
    """Values of order 1, whose squares are floats, and for each kernel the power of 2 that is their unit."""
    _, exponent = jnp.frexp(jnp.max(jnp.abs(values), (0, 1)))
    unit = jnp.ldexp(jnp.ones_like(values[0, 0]), exponent)
    return values / unit, unit


def _factors(n: Array, kind: jnp.dtype) -> Array:
    """What polynomials n to n + _BLOCK are made of: the factors of the last one and of the one before it, in pairs."""
    m = (n + 1.0 + jnp.arange(_BLOCK)).astype(kind)
    return jnp.stack([1.0 / jnp.sqrt(m), jnp.sqrt((m - 1.0) / m)], 1).reshape(_BLOCK // 2, 2, 2)


def _two_more(x: Array) -> Callable[..., tuple]:
    """From polynomials n - 1 and n, times weights, to those of the next step but one; n and n + 1 as rows."""

    def step(polynomials: tuple[Array, Array], factors: Array) -> tuple[tuple[Array, Array], Array]:
        before, here = polynomials
        following = factors[0, 0] * x * here - factors[0, 1] * before
        last = factors[1, 0] * x * following - factors[1, 1] * here
        return (following, last), jnp.stack([here, following])

    return step


def _product(a: Array, b: Array) -> Array:
    """The product of matrices in all digits of their type."""
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)
