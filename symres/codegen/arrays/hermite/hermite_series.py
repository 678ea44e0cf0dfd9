"""Averages of two smooth functions over a matrix, as series in the correlation.

<f(z1) g(z2)> = sum_n a_n(K1) b_n(K2) rho**n with a_n(K) = <f(sqrt(K) x) h_n(x)> and normalised Hermite polynomials h_n.
What the first N terms leave is at most abs(rho)**N times the root of (<f**2> - sum a_n**2)*(<g**2> - sum b_n**2).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as xp

from ..runtime.array_types import Floats

Expansion: TypeAlias = tuple[Floats, Floats, list[float]]

_ENOUGH = 1e-14  # of the root of <f**2> <g**2>: the largest error of a series that is not looked at closer
_HELD = 1 << 25  # coefficients of all kernels of one input, at most


def _hermite(f: Callable[..., Floats], K: Floats, *parameters: Floats) -> Expansion | None:
    """Coefficients of a smooth function, and what they leave; None where they need too many nodes, or are too many.

    Returns:
        a_n(K) along a last axis; the root of 1 - sum a_n**2/<f**2>, infinite for kernels that need too many nodes; for
        each number of terms the largest such root of the other kernels.
    """
    if any(math.prod(p.shape) > 1 for p in parameters):
        return None
    kernels, place = xp.unique(K.reshape(-1), return_inverse=True)
    deviation = xp.sqrt(kernels)
    rest = xp.where(deviation >= 0.0, xp.inf, xp.nan)
    bounds, found = [len(kernels) - int(xp.count_nonzero(~xp.isfinite(deviation)))], []
    worst: list[Floats] = []
    while bounds[-1]:
        stop = bounds[-1]
        rule = _hermite_rule(f, float(deviation[stop - 1]), parameters)
        if rule is None:
            break
        reached, x, table = rule
        stop = int(xp.count_nonzero(deviation[:stop] <= reached))
        if not stop:
            break
        start = min(int(xp.count_nonzero(deviation[:stop] < 0.5 * reached)), max(stop - 16, 0))
        start = max(start, stop - 256)
        x, table = _beside(x, K), _beside(table, K)
        values = f(deviation[start:stop, None] * x, *parameters) + 0.0 * x
        a = table @ values.T
        total = table[0] @ (values * values).T
        share = a * a / xp.where(total == 0.0, 1.0, total)
        lack = xp.clip(1.0 - share.sum(0), 1e-15, None)
        left = xp.flip(xp.cumsum(xp.flip(share, (0,)), 0), (0,)) + lack
        worst.append(xp.sqrt(xp.amax(xp.concatenate([left, lack[None]]), 1)))
        rest[start:stop] = xp.sqrt(lack)
        found.append((start, stop, a))
        bounds.append(start)
    terms = max([a.shape[0] for _, _, a in found], default=0)
    if not terms or terms * len(kernels) > _HELD:
        return None
    coefficients = _beside(xp.zeros((terms, len(kernels)), dtype=xp.float64), K)
    for start, stop, a in found:
        coefficients[: a.shape[0], start:stop] = a
    coefficients = _dense(coefficients[:, place]).reshape((terms, *K.shape))
    return xp.moveaxis(coefficients, 0, -1), rest[place].reshape(K.shape), _largest(worst, terms)


def _largest(worst: Sequence[Floats], terms: int) -> list[float]:
    """The largest of what each number of terms leaves; what is shorter than that goes on with its last value."""
    rows = [row.tolist() for row in worst]
    return [max(row[min(n, len(row) - 1)] for row in rows) for n in range(terms + 1)]


def _hermite_both(
    f: Callable[..., Floats], K1: Floats, K2: Floats, *parameters: Floats
) -> tuple[Expansion | None, Expansion | None]:
    """The coefficients of one function for both inputs, which may have the same kernels."""
    found = _hermite(f, xp.concatenate([K1.reshape(-1), K2.reshape(-1)]), *parameters)
    if found is None:
        return None, None
    (a, rest, worst), count = found, math.prod(K1.shape)
    one, two = [
        (xp.moveaxis(xp.moveaxis(a[cut], -1, 0).reshape((-1, *K.shape)), 0, -1), rest[cut].reshape(K.shape), worst)
        for cut, K in ((slice(0, count), K1), (slice(count, None), K2))
    ]
    return one, two


def _hermite_rule(
    f: Callable[..., Floats], largest: float, parameters: Sequence[Any]
) -> tuple[float, Floats, Floats] | None:
    """Nodes, and weights times Hermite polynomials: as many as the largest standard deviation needs, or a smaller one.

    Returns:
        that deviation, nodes, and a row for each polynomial; None if there are none for any but very small ones.
    """
    for _ in range(8):
        rule = _hermite_nodes(f, largest, parameters)
        if rule is not None:
            return largest, *rule
        largest *= 0.5
    return None


def _hermite_nodes(f: Callable[..., Floats], largest: float, parameters: Sequence[Any]) -> tuple[Floats, Floats] | None:
    """Nodes and polynomials for deviations up to the largest; None if the nodes would be too many."""
    step = 0.25
    for terms in (64, 256, 1024):
        while True:
            x, table = _hermite_table(step, terms)
            own = [_beside(p, x) for p in parameters]
            values = f(largest * x, *own) + 0.0 * x
            finer, finer_table = _hermite_table(0.5 * step, terms)
            found, better = table @ values, finer_table @ (f(largest * finer, *own) + 0.0 * finer)
            total = float(table[0] @ (values * values))
            if float(xp.abs(found - better).max()) <= 2e-15 * math.sqrt(total):
                break
            step *= 0.5
            if step < 1.0 / 256.0:
                return None
        left = total - xp.cumsum(found * found, 0)
        enough = xp.where(left <= 0.5 * _ENOUGH * total)[0]
        if enough.shape[0]:
            return x, table[: int(enough[0]) + 1]
    return x, table


def _hermite_table(step: float, terms: int) -> tuple[Floats, Floats]:
    """The table of a rule; those that are small are kept."""
    return _short_table(step, terms) if terms <= 32768 * step else _long_table(step, terms)


def _long_table(step: float, terms: int) -> tuple[Floats, Floats]:
    """Nodes of the trapezoidal rule, exponentially accurate, and its weights times normalised Hermite polynomials."""
    half = math.ceil(13.5 / step)
    x = step * xp.arange(-half, half + 1, dtype=xp.float64)
    table: Floats = xp.empty((terms, 2 * half + 1), dtype=xp.float64)
    table[0] = step / math.sqrt(2.0 * math.pi) * xp.exp(-0.5 * x * x)
    table[1] = x * table[0]
    for n in range(1, terms - 1):
        table[n + 1] = (x * table[n] - math.sqrt(n) * table[n - 1]) / math.sqrt(n + 1)
    return x, table


_short_table = functools.lru_cache(maxsize=16)(_long_table)


def _beside(a: Floats, like: Floats) -> Floats:
    """An array where another one is."""
    return a


def _hermite_tile(
    K1: Floats, K2: Floats, C: Floats, one: Expansion | None, two: Expansion | None, scratch: Any, fine: list[Any]
) -> None:
    """The average for a part of a matrix, put to scratch[0]; adds to ``fine`` where the series is long enough."""
    total, rho, size, square = scratch[:4]
    if one is None or two is None:
        fine.append(xp.zeros_like(total) > 0.0)
        return
    a, b = [xp.moveaxis(s, -1, 0) for s in (one[0], two[0])]
    terms = min(a.shape[0], b.shape[0])
    inverse = [1.0 / xp.sqrt(xp.where(K > 0.0, K, xp.inf)) for K in (K1, K2)]
    xp.multiply(C, inverse[0], out=rho)
    xp.multiply(rho, inverse[1], out=rho)
    xp.clip(rho, -1.0, 1.0, out=rho)
    xp.abs(rho, out=size)
    if not float(one[1].max()) * float(two[1].max()) <= _ENOUGH:
        fine.append(size**terms * (one[1] * two[1]) <= _ENOUGH)
    cut, short = _hermite_cut(size, terms, [first * second for first, second in zip(one[2], two[2])])
    apart = xp.where(size > cut) if short < terms else ()
    a_n, b_n = _dense(a[:short]), _dense(b[:short])
    weights = (_hermite_weight(a_n) * _hermite_weight(b_n)).tolist()
    *others, last = [0, *[n for n in range(1, short) if weights[n] > 1e-17]]
    xp.multiply(rho, rho, out=square)
    total[...] = a_n[last] * b_n[last]
    for n in reversed(others):
        for _ in range((last - n) // 2):
            xp.multiply(total, square, out=total)
        if (last - n) % 2:
            xp.multiply(total, rho, out=total)
        if weights[n] > 1e-17:
            _add_product(total, a_n[n], b_n[n], size)
        last = n
    if apart:
        products = _hermite_at(a[:terms], apart) * _hermite_at(b[:terms], apart)
        total[apart] = (products * _hermite_powers(rho[apart], terms)).sum(0)


def _hermite_powers(r: Floats, terms: int) -> Floats:
    """1, r, r**2, ... along a new first axis."""
    found, more = xp.ones_like(r)[None], r[None]
    while found.shape[0] < terms:
        found, more = xp.concatenate([found, found * more]), more * more
    return found[:terms]


def _add_product(total: Floats, a: Floats, b: Floats, room: Floats) -> None:
    """Add a*b to an array, in place; the room has its shape."""
    whole = xp.broadcast_shapes(a.shape, b.shape) == total.shape
    xp.add(total, xp.multiply(a, b, out=room) if whole else a * b, out=total)


def _dense(a: Floats) -> Floats:
    """An array in the order of its axes in memory."""
    return xp.ascontiguousarray(a)


def _hermite_weight(coefficients: Floats) -> Floats:
    """How large the coefficients of each order are beside the largest of the same kernel: 0 of what is even or odd."""
    size = xp.abs(coefficients).reshape((coefficients.shape[0], -1))
    largest = xp.amax(size, 0)
    shares: Floats = xp.amax(size / xp.where(largest > 0.0, largest, 1.0), 1)
    return shares


def _hermite_cut(size: Floats, terms: int, left: Sequence[float]) -> tuple[float, int]:
    """The correlation up to which fewer terms serve, and their number: what costs least, others taken one by one.

    Args:
        size: absolute correlations.
        terms: how many there are.
        left: what each number of terms leaves at the correlation 1, at most.
    """
    best, entries = (1.0, terms), math.prod(size.shape)
    cost = float(terms * entries)
    for cut in (1.0, 0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1):
        enough = (n for n in range(1, terms) if left[n] * cut**n <= _ENOUGH)
        short = next(enough, terms)
        if short < terms:
            spent = short * entries + 8.0 * terms * float(xp.count_nonzero(size > cut))
            if spent < cost:
                best, cost = (cut, short), spent
    return best


def _hermite_at(coefficients: Floats, places: Sequence[Any]) -> Floats:
    """The coefficients, along a first axis, at some entries of the tile."""
    shape = coefficients.shape[1:]
    places = places[len(places) - len(shape) :]
    at = [p * (n > 1) for p, n in zip(places, shape)]
    return coefficients[(slice(None), *at)] if shape else coefficients[:, None]
