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
Function: TypeAlias = Callable[..., Floats]

_SOUGHT = 1e-15  # of the root of <f**2> <g**2>: what is left out, but for rounding
_ENOUGH = 1e-14  # the same as it is known, with rounding: the largest one that is not looked at closer
_HIDDEN = 2e-15  # of the root of <f**2>: coefficients that rounding hides
_BLOCKS = (64, 256, 1024)  # numbers of terms that are tried
_COUNTED = 4096  # correlations by which a number of terms is chosen, at least
_HELD = 1 << 25  # coefficients of all kernels of one input, at most


def _hermite_pair(
    f: Function, g: Function, K1: Floats, K2: Floats, *parameters: Floats
) -> tuple[Expansion | None, Expansion | None]:
    """The expansions of two functions, see _hermite_pairs."""
    return _hermite_pairs([(f, g)], K1, K2, *parameters)[0]


def _hermite_pairs(
    pairs: Sequence[tuple[Function, Function]], K1: Floats, K2: Floats, *parameters: Floats
) -> tuple[tuple[Expansion | None, Expansion | None], ...]:
    """As many coefficients of the two functions of every pair as the product of what they leave needs.

    They are computed once for each function, for groups of similar kernels. In each group they end at the latest where
    those are hidden by rounding that the largest kernel of the group has beyond.

    Returns:
        for each function of each pair a_n(K) along a last axis; the root of 1 - sum a_n**2/<f**2>, infinite for kernels
        that need too many nodes; for each number of terms the largest such root of the other kernels, at most. None
        where parameters differ from entry to entry, nodes or coefficients are too many, or entries have no kernels in
        common.
    """
    none = ((None, None),) * len(pairs)
    if any(math.prod(p.shape) > 1 for p in parameters):
        return none
    first, second = (list(dict.fromkeys(functions)) for functions in zip(*pairs))
    if set(first) & set(second):  # the inputs may have the same kernels
        both = xp.concatenate([K1.reshape(-1), K2.reshape(-1)])
        sides = [(list(dict.fromkeys([*first, *second])), both)]
    else:
        sides = [(first, K1.reshape(-1)), (second, K2.reshape(-1))]
    unique = [(functions, *xp.unique(K, return_inverse=True)) for functions, K in sides]
    count, different = math.prod(K1.shape), sum(len(kernels) for _, kernels, _ in unique)
    if 1 not in (*K1.shape, *K2.shape) and 8 * different > max(2 * count, 32768):  # entries that have nothing in common
        return none
    reached = [[_hermite_reached(h, kernels, parameters) for h in functions] for functions, kernels, _ in unique]
    step = min(step for row in reached for _, step, _ in row)
    terms = max(needed for row in reached for *_, needed in row)
    if not terms or terms * sum(len(functions) * len(kernels) for functions, kernels, _ in unique) > _HELD:
        return none
    x, table = _hermite_table(step, next(some for some in _BLOCKS if some >= terms))
    found: list[dict[Function, Expansion]] = []
    for (functions, kernels, place), row in zip(unique, reached):
        found.append({})
        for h, (largest, *_) in zip(functions, row):
            a, rest, worst = _hermite(h, kernels, largest, x, table[:terms], parameters)
            found[-1][h] = a[place], rest[place], worst
    one, two = found[0], found[-1]
    if len(sides) == 1:
        one, two = ({h: (a[part], rest[part], worst) for h, (a, rest, worst) in one.items()} for part in _halves(count))
    return tuple([(_shaped_like(one[f], K1), _shaped_like(two[g], K2)) for f, g in pairs])


def _halves(count: int) -> tuple[slice, slice]:
    """The entries of the one input, and those of the other one, whose kernels stand behind them."""
    return slice(count), slice(count, None)


def _shaped_like(expansion: Expansion, K: Floats) -> Expansion:
    """An expansion for kernels in their shape."""
    a, rest, worst = expansion
    return a.reshape((*K.shape, a.shape[-1])), rest.reshape(K.shape), worst


def _hermite_reached(f: Function, kernels: Floats, parameters: Sequence[Any]) -> tuple[float, float, int]:
    """The largest standard deviation for which there are not too many nodes, their distance, and the terms it needs."""
    known = kernels[xp.isfinite(kernels)]
    largest = math.sqrt(float(known.max())) if known.shape[0] else 0.0
    for _ in range(8):
        found = _hermite_nodes(f, largest, parameters)
        if found is not None:
            return largest, *found
        largest *= 0.5
    return 0.0, 1.0, 0


def _hermite_nodes(f: Function, deviation: float, parameters: Sequence[Any]) -> tuple[float, int] | None:
    """The distance of nodes, and the number of terms; None if the nodes would be too many."""
    step = 0.25
    for terms in _BLOCKS:
        while True:
            x, table = _hermite_table(step, terms)
            own = [_placed(p, x) for p in parameters]
            values = f(deviation * x, *own) + 0.0 * x
            finer, finer_table = _hermite_table(0.5 * step, terms)
            found, better = table @ values, finer_table @ (f(deviation * finer, *own) + 0.0 * finer)
            total = float(table[0] @ (values * values))
            if float(xp.abs(found - better).max()) <= 2e-15 * math.sqrt(total):
                break
            step *= 0.5
            if step < 1.0 / 256.0:
                return None
        squares = found * found
        if total - float(squares.sum()) <= 0.5 * _ENOUGH * total:
            beyond = xp.flip(xp.cumsum(xp.flip(squares, (0,)), 0), (0,))
            return step, max(int(xp.count_nonzero(beyond > _SOUGHT * total)), 1)
    return step, terms


def _hermite(
    f: Function, kernels: Floats, largest: float, x: Floats, table: Floats, parameters: Sequence[Any]
) -> tuple[Floats, Floats, list[float]]:
    """What _hermite_pairs returns of one function, for kernels that differ, in increasing order."""
    x, table, terms = _placed(x, kernels), _placed(table, kernels), table.shape[0]
    deviation = xp.sqrt(kernels)
    coefficients = xp.zeros_like(deviation[:, None] + table[:, 0])
    rest = xp.where(deviation >= 0.0, xp.inf, xp.nan)
    worst = 0.0 * xp.concatenate([table[:, 0], table[:1, 0]])
    stop = int(xp.count_nonzero(deviation <= largest))
    while stop:
        start = min(int(xp.count_nonzero(deviation[:stop] < 0.5 * deviation[stop - 1])), max(stop - 16, 0))
        start = max(start, stop - 256)
        values = f(deviation[start:stop, None] * x, *parameters) + 0.0 * x
        total = (values * values) @ table[0]
        last = (table @ values[-1]) ** 2
        beyond = xp.flip(xp.cumsum(xp.flip(last, (0,)), 0), (0,))
        count = min(int(xp.count_nonzero(beyond > _HIDDEN * _HIDDEN * total[-1])) + 2, terms)
        a, lack = _shares(values, table[:count], total, coefficients[start:stop])
        # of an odd and of an even order nothing is seen any more; but the largest kernel may need more than all terms
        # and have nothing in the first ones, as waves do: then it says nothing about the others
        ends = xp.abs(a[:, count - 2 :])
        if count < terms and not (float(lack.max()) <= _ENOUGH and float(ends.max()) <= _ENOUGH):
            count = terms
            a, lack = _shares(values, table, total, coefficients[start:stop])
        shares = xp.maximum(xp.amax(a, 0), -xp.amin(a, 0)) ** 2
        most = xp.zeros_like(worst) + lack.max()
        # the kernels of a group are alike: the largest shares of every order add up to little more than those of one
        most[:count] += xp.flip(xp.cumsum(xp.flip(shares, (0,)), 0), (0,))
        worst = xp.maximum(worst, most)
        rest[start:stop] = xp.sqrt(lack)
        stop = start
    return coefficients, rest, xp.sqrt(worst).tolist()


def _shares(values: Floats, table: Floats, total: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """The coefficients as shares of the root of <f**2>, and what their squares leave of 1.

    Args:
        values: of f, a row for each kernel.
        table: a row for each order.
        total: <f**2> for each kernel.
        coefficients: receives those of the orders.
    """
    a = values @ table.T
    coefficients[:, : a.shape[1]] = a
    a /= xp.sqrt(xp.where(total == 0.0, 1.0, total))[:, None]  # in place, as below nothing of its size is made
    return a, xp.clip(1.0 - xp.einsum("kn,kn->k", a, a), 1e-15, None)


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


def _placed(a: Floats, like: Floats) -> Floats:
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
    a, b = one[0], two[0]
    terms = a.shape[-1]
    inverse = [1.0 / xp.sqrt(xp.where(K > 0.0, K, xp.inf)) for K in (K1, K2)]
    xp.multiply(C, inverse[0], out=rho)
    xp.multiply(rho, inverse[1], out=rho)
    xp.clip(rho, -1.0, 1.0, out=rho)
    xp.abs(rho, out=size)
    if not float(one[1].max()) * float(two[1].max()) <= _ENOUGH:
        fine.append(size**terms * (one[1] * two[1]) <= _ENOUGH)
    cut, short = _hermite_cut(size, terms, [first * second for first, second in zip(one[2], two[2])])
    apart = xp.where(size > cut) if short < terms else ()
    a_n, b_n = [_dense(xp.moveaxis(s[..., :short], -1, 0)) for s in (a, b)]
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
        products = _hermite_at(a, apart) * _hermite_at(b, apart)
        total[apart] = (products * _hermite_powers(rho[apart], terms)).sum(-1)


def _hermite_powers(r: Floats, terms: int) -> Floats:
    """1, r, r**2, ... along a new last axis."""
    found, more = xp.ones_like(r)[..., None], r[..., None]
    while found.shape[-1] < terms:
        found, more = xp.concatenate([found, found * more], -1), more * more
    return found[..., :terms]


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
    some = size.reshape(-1)[:: (entries // _COUNTED) | 1]  # an odd step: it does not follow the diagonal of a matrix
    each = entries / some.shape[0]
    cost = float(terms * entries)
    for cut in (1.0, 0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1):
        enough = (n for n in range(1, terms) if left[n] * cut**n <= 2.0 * _SOUGHT)
        short = next(enough, terms)
        if short < terms:
            spent = short * entries + 8.0 * terms * each * float(xp.count_nonzero(some > cut))
            if spent < cost:
                best, cost = (cut, short), spent
    return best


def _hermite_at(coefficients: Floats, places: Sequence[Any]) -> Floats:
    """The coefficients, along a last axis, at some entries of the tile."""
    shape = coefficients.shape[:-1]
    at = tuple([p * (n > 1) for p, n in zip(places[len(places) - len(shape) :], shape)])
    return coefficients[at] if shape else coefficients[None]
