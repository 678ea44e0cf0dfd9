"""Averages of two smooth functions over a matrix, as series in the correlation.

<f(z1) g(z2)> = sum_n a_n(K1) b_n(K2) rho**n with a_n(K) = <f(sqrt(K) x) h_n(x)> and normalised Hermite polynomials h_n.
What the first N terms leave is at most abs(rho)**N times the root of (<f**2> - sum a_n**2)*(<g**2> - sum b_n**2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ....arrays.runtime.array_types import Floats

Expansion: TypeAlias = tuple[Floats, Floats, tuple[float, ...]]

_ENOUGH = 3e-15  # of the root of <f**2> <g**2>: the largest error of a series that is not looked at closer


def _hermite(f: Callable[..., Floats], K: Floats, *parameters: Floats) -> Expansion | None:
    """Coefficients of a smooth function, and what they leave; None where they are not worth it, or need too many nodes.

    Returns:
        a_n(K) along a last axis; the root of 1 - sum a_n**2/<f**2>; for each number of terms the largest such root.
    """
    kernels, place = np.unique(np.reshape(K, -1), return_inverse=True)
    if any(np.size(p) > 1 for p in parameters) or 8 * kernels.size > max(np.size(K), 32768):
        return None
    deviation = np.sqrt(kernels)
    known = deviation[np.isfinite(deviation)]
    rule = _hermite_rule(f, float(known.max()) if known.size else 1.0, parameters)
    if rule is None:
        return None
    x, table = rule
    found = np.empty((kernels.size, len(table)))
    rest = np.empty(kernels.size)
    worst = np.zeros(len(table) + 1)
    for start in range(0, kernels.size, 256):
        values = f(deviation[start : start + 256, None] * x, *parameters) + 0.0 * x
        some = values @ table.T
        total = (values * values) @ table[0]
        found[start : start + 256] = some
        share = some * some / np.where(total == 0.0, 1.0, total)[:, None]
        lack = np.maximum(1.0 - share.sum(1), 1e-15)
        rest[start : start + 256] = np.sqrt(lack)
        left = lack[:, None] + np.cumsum(share[:, ::-1], axis=1)[:, ::-1]
        worst = np.fmax(worst, np.append(np.sqrt(np.fmax.reduce(left)), 0.0))
    worst[-1] = np.fmax.reduce(rest)
    return found[place].reshape(*np.shape(K), -1), rest[place].reshape(np.shape(K)), tuple(worst.tolist())


def _hermite_both(
    f: Callable[..., Floats], K1: Floats, K2: Floats, *parameters: Floats
) -> tuple[Expansion | None, Expansion | None]:
    """The coefficients of one function for both inputs, which may have the same kernels."""
    found = _hermite(f, np.concatenate([np.reshape(K1, -1), np.reshape(K2, -1)]), *parameters)
    if found is None:
        return None, None
    (a, rest, worst), count = found, np.size(K1)
    first = a[:count].reshape(*np.shape(K1), -1), rest[:count].reshape(np.shape(K1)), worst
    return first, (a[count:].reshape(*np.shape(K2), -1), rest[count:].reshape(np.shape(K2)), worst)


def _hermite_rule(f: Callable[..., Floats], largest: float, parameters: Sequence[Any]) -> tuple[Floats, Floats] | None:
    """Nodes, and weights times Hermite polynomials: as many as the largest standard deviation needs."""
    step = 0.25
    x, table = _hermite_table(step, 2)
    for terms in (64, 256, 1024):
        while step >= 1.0 / 256.0:
            x, table = _hermite_table(step, terms)
            values = f(largest * x, *parameters) + 0.0 * x
            finer, finer_table = _hermite_table(0.5 * step, terms)
            found, better = table @ values, finer_table @ (f(largest * finer, *parameters) + 0.0 * finer)
            total = float(table[0] @ (values * values))
            if np.abs(found - better).max() <= 2e-15 * math.sqrt(total):
                break
            step *= 0.5
        else:
            return None
        left = np.maximum(total - np.cumsum(found * found), 0.0)
        enough = np.flatnonzero(left <= 3e-15 * total)
        if enough.size:
            return x, table[: int(enough[0]) + 1]
    return x, table


def _hermite_table(step: float, terms: int) -> tuple[Floats, Floats]:
    """Nodes of the trapezoidal rule, exponentially accurate, and its weights times normalised Hermite polynomials."""
    half = math.ceil(13.5 / step)
    x = np.arange(-half, half + 1, dtype=np.float64)
    x *= step
    table: Floats = np.empty((terms, x.size))
    table[0] = step / math.sqrt(2.0 * math.pi) * np.exp(-0.5 * x * x)
    table[1] = x * table[0]
    for n in range(1, terms - 1):
        table[n + 1] = (x * table[n] - math.sqrt(n) * table[n - 1]) / math.sqrt(n + 1)
    return x, table


def _hermite_tile(
    K1: Floats, K2: Floats, C: Floats, one: Expansion | None, two: Expansion | None, scratch: Any, fine: list[Any]
) -> None:
    """The average for a part of a matrix, put to scratch[0]; adds to ``fine`` where the series is long enough."""
    total, rho, size, square = scratch[:4]
    if one is None or two is None:
        fine.append(np.zeros(total.shape, dtype=bool))
        return
    a, b, terms = one[0], two[0], min(one[0].shape[-1], two[0].shape[-1])
    inverse = [1.0 / np.sqrt(np.where(K > 0.0, K, np.inf)) for K in (K1, K2)]
    np.multiply(C, inverse[0], out=rho)
    np.multiply(rho, inverse[1], out=rho)
    np.minimum(rho, 1.0, out=rho)
    np.maximum(rho, -1.0, out=rho)
    np.abs(rho, out=size)
    left = float(np.fmax.reduce(one[1], axis=None)) * float(np.fmax.reduce(two[1], axis=None))
    if not left <= _ENOUGH:
        fine.append(size**terms * (one[1] * two[1]) <= _ENOUGH)
    cut, short = _hermite_cut(size, terms, [first * second for first, second in zip(one[2], two[2])])
    apart = np.nonzero(size > cut) if short < terms else ()
    np.multiply(rho, rho, out=square)
    one_by_one = [np.ascontiguousarray(np.moveaxis(s[..., :short], -1, 0)) for s in (a, b)]
    active = np.flatnonzero(_hermite_weight(one_by_one[0]) * _hermite_weight(one_by_one[1]) > 1e-17)
    last = int(active[-1]) if active.size else 0
    np.multiply(one_by_one[0][last], one_by_one[1][last], out=total)
    for n in active[-2::-1]:
        gap = last - int(n)
        for _ in range(gap // 2):
            np.multiply(total, square, out=total)
        if gap % 2:
            np.multiply(total, rho, out=total)
        np.multiply(one_by_one[0][n], one_by_one[1][n], out=size)
        np.add(total, size, out=total)
        last = int(n)
    for _ in range(last):
        np.multiply(total, rho, out=total)
    if apart:
        products = _hermite_at(a, apart)[..., :terms] * _hermite_at(b, apart)[..., :terms]
        r, value = rho[apart], 0.0
        for n in range(terms - 1, -1, -1):
            value = value * r + products[:, n]
        total[apart] = value


def _hermite_weight(coefficients: Floats) -> Floats:
    """How large the coefficients of each order are beside the largest of the same kernel: 0 of what is even or odd."""
    size = np.abs(coefficients).reshape(len(coefficients), -1)
    largest = size.max(0)
    shares: Floats = np.fmax.reduce(size / np.where(largest > 0.0, largest, 1.0), axis=1)  # not those of nan
    return shares


def _hermite_cut(size: Floats, terms: int, left: Sequence[float]) -> tuple[float, int]:
    """The correlation up to which fewer terms serve, and their number: what costs least, others taken one by one.

    Args:
        size: absolute correlations.
        terms: how many there are.
        left: what each number of terms leaves at the correlation 1, at most.
    """
    best = 1.0, terms
    cost = float(terms * size.size)
    for cut in (1.0, 0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1):
        enough = (n for n in range(1, terms) if left[n] * cut**n <= _ENOUGH)
        short = next(enough, terms)
        if short < terms:
            spent = short * size.size + 8.0 * terms * np.count_nonzero(size > cut)
            if spent < cost:
                best, cost = (cut, short), spent
    return best


def _hermite_at(coefficients: Floats, places: Sequence[Any]) -> Floats:
    """The coefficients at some entries of the tile."""
    shape = coefficients.shape[:-1]
    places = places[len(places) - len(shape) :]
    return coefficients[tuple([p * (n > 1) for p, n in zip(places, shape)])] if shape else coefficients[None]
