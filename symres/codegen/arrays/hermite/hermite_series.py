"""Averages of two smooth functions over a matrix, as series in the correlation.

<f(z1) g(z2)> = sum_n a_n(K1) b_n(K2) rho**n with a_n(K) = <f(sqrt(K) x) h_n(x)> and normalised Hermite polynomials h_n.
What the first N terms leave is at most abs(rho)**N times the root of (<f**2> - sum a_n**2)*(<g**2> - sum b_n**2).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as xp

from ..runtime.array_types import Bools, Floats, Places
from ..runtime.entries import _integers
from ..runtime.error_free import _exact_correlation
from .clustered_nodes import (
    _ENOUGH,
    _SOUGHT,
    Rule,
    _at_nodes,
    _coefficients_of,
    _eps,
    _parts_of_one,
    _polynomials,
    _root_of_rest,
    _side_rule,
)
from .plane_sums import _parallel_average, _plane_average

Function: TypeAlias = Callable[..., Floats]
Expansion: TypeAlias = tuple[Floats, Floats, list[float], list[float]]
Pairs: TypeAlias = Sequence[tuple[Function, Function]]

_TERMS = (64, 128, 256, 512, 1024)  # numbers of terms that are tried: kernels of order 1 need the first or second
_FINEST = 16  # nodes are so many times closer, at most, and to 0 the square of that
_FINEST_PLANE = 2  # the same in the plane, where their number is squared
_VALUES = 1 << 21  # numbers in the arrays of a part: values at the nodes of some kernels, or of some entries


def _correlations(K1: Floats, K2: Floats, C: Floats) -> Floats:
    """C/sqrt(K1*K2), cut off at 1; 0 where a kernel vanishes."""
    one, two = (1.0 / xp.sqrt(xp.where(K == 0.0, xp.inf, K)) for K in (K1, K2))
    return xp.clip(C * one * two, -1.0, 1.0)


def _largest_inside(size: Floats) -> float:
    """The largest of some correlations but for those that are 1 but for rounding, of which no series is asked."""
    return float(xp.where(size < 1.0 - 4.0 * _eps(size), size, 0.0).max())


def _hermite_pairs(
    pairs: Pairs, K1: Floats, K2: Floats, C: Floats, *parameters: Floats
) -> tuple[tuple[Expansion, Expansion], ...]:
    """Expansions of the two functions of every pair, with as many terms as inputs need that are not parallel.

    They are what _expanded returns, in the shape of the kernels.
    """
    K1, K2 = (xp.asarray(K, dtype=C.dtype) for K in (K1, K2))  # behind a normaliser they are the number 1
    many = [p for p in parameters if math.prod(p.shape) > 1]
    shapes = [xp.broadcast_shapes(K.shape, *(p.shape for p in many)) for K in (K1, K2)]

    def both(first: Floats, second: Floats) -> Floats:
        """What the first and the second inputs have, one behind the other."""
        return xp.concatenate([xp.broadcast_to(a, shape).reshape(-1) for a, shape in zip((first, second), shapes)])

    kernels, columns = both(K1, K2), [both(p, p) if math.prod(p.shape) > 1 else p.reshape(()) for p in parameters]
    index = _integers(kernels.shape[0], kernels)
    if not many:
        kernels, index = xp.unique(kernels, return_inverse=True)
    reach = _largest_inside(xp.abs(_correlations(K1, K2, C)))
    functions, terms, finer = dict.fromkeys(h for pair in pairs for h in pair), _TERMS[0], 1
    while True:
        expansions = {h: _expanded(h, kernels, columns, terms, finer) for h in functions}
        left = max(reach**terms * expansions[f][2][-1] * expansions[g][2][-1] for f, g in pairs)
        if finer < _FINEST and any(
            bool((xp.isinf(each) & xp.isfinite(kernels)).any()) for _, each, *_ in expansions.values()
        ):
            finer *= 2
        elif terms < _TERMS[-1] and left > _ENOUGH * _eps(K1):
            terms = _TERMS[_TERMS.index(terms) + 1]
        else:
            break

    def of_one(h: Function, shape: tuple[int, ...], at: Places) -> Expansion:
        a, each, worst, largest = expansions[h]
        return a[at].reshape((*shape, terms)), each[at].reshape(shape), worst, largest

    first, second = shapes
    size = math.prod(first)
    return tuple([(of_one(f, first, index[:size]), of_one(g, second, index[size:])) for f, g in pairs])


def _expanded(f: Function, kernels: Floats, columns: Sequence[Floats], terms: int, finer: int) -> Expansion:
    """The expansion of one function at kernels.

    Returns:
        a_n along a last axis; the root of 1 - sum a_n**2/<f**2>, infinite where nodes are too far apart; the largest of
        all kernels, as lists: that root for each number of terms, and abs(a_n) in units of the root of <f**2>.
    """
    x, weight, table = _rule_for(kernels, finer, terms)
    step, rows = max(_VALUES // x.shape[0], 1), []
    for start in range(0, kernels.shape[0], step):
        at = slice(start, start + step)
        parts, size = _parts_of_one(_at_nodes(f, kernels[at], [_at(p, at) for p in columns], x), weight)
        a, off = _coefficients_of(parts, table)
        shares = xp.flip(xp.cumsum(xp.flip(a * a, (1,)), 1), (1,))
        left = _root_of_rest(shares[:, 0], off)
        shares = xp.concatenate([shares, 0.0 * shares[:, :1]], 1)
        squares = xp.where(xp.isfinite(left)[:, None], left[:, None] ** 2 + shares, 0.0)
        rows.append((a * size[:, None], left, xp.sqrt(xp.amax(squares, 0)), xp.amax(xp.nan_to_num(xp.abs(a)), 0)))
    coefficients, lefts, *largest = zip(*rows)
    worst, sizes = (xp.amax(xp.stack(part), 0).tolist() for part in largest)
    return xp.concatenate(coefficients), xp.concatenate(lefts), worst, sizes


def _rule_for(kernels: Floats, finer: int, terms: int) -> Rule:
    """The rule for the largest kernel, where kernels are."""
    largest = float(xp.where(xp.isfinite(kernels), kernels, 1.0).max())
    rule = _kept_rule(math.ceil(0.5 * math.log2(max(largest, 1.0))), finer, terms)
    return tuple([xp.asarray(a, device=kernels.device) for a in rule])  # type: ignore[return-value]


@functools.lru_cache(maxsize=16)
def _kept_rule(level: int, finer: int, terms: int) -> Rule:
    """The rule for kernels up to 4**level; the last of so many polynomials is a wave of the length 2*pi/sqrt(terms)."""
    scale = xp.asarray(0.5**level / finer**2, dtype=xp.float64)
    x, weight = _side_rule(scale, min(0.125, 1.6 / math.sqrt(terms)) / finer)
    return x, weight, _polynomials((0.0 * weight, weight), x, 0, terms)[1]


def _hermite_sum(K1: Floats, K2: Floats, C: Floats, one: Expansion, two: Expansion, fine: list[Bools]) -> Floats:
    """The average for a part of a matrix; adds to ``fine`` where the series is long enough, unless it is everywhere.

    It has as many terms as the inputs need that are not parallel: those of a matrix have the value of one input.
    """
    (a, one_left, one_worst, one_largest), (b, two_left, two_worst, two_largest) = one, two
    eps, rho = _eps(a), xp.atleast_1d(_correlations(K1, K2, C))
    size = xp.abs(rho)
    reach = max(_largest_inside(size), 0.1)  # small correlations keep the digits of odd functions
    left = [first * second * reach**n / eps for n, (first, second) in enumerate(zip(one_worst, two_worst))]
    short = next((n for n in range(1, len(left)) if left[n] <= _SOUGHT), len(left) - 1)
    root = 1.0 / (len(left) - 1)  # of what is left, which takes powers of one kernel alone
    good = (size <= reach) & (size * one_left**root * two_left**root <= (_ENOUGH * eps) ** root)
    if not bool(good.all()):
        fine.append(good)
    # the others are 0 but for rounding: those of even or of odd functions
    orders = [n for n in range(short) if one_largest[n] * two_largest[n] > 0.05 * eps] or [0]
    gaps = [n - before for n, before in zip(orders, [0, *orders])]
    powers = {gap: rho**gap if gap > 1 else rho for gap in gaps}
    terms = zip(gaps, *(xp.stack([h[..., n] for n in orders]) for h in (a, b)))
    total = xp.zeros_like(rho)
    for gap, a_n, b_n in reversed(list(terms)):
        total += a_n * b_n
        if gap:
            total *= powers[gap]
    return total


def _at(a: Floats, entries: Places | slice) -> Floats:
    """Some entries of an array of one axis; a number is the same for all."""
    return a[entries] if a.shape else a


def _smooth_entries(
    f: Function, g: Function, K1: Floats, K2: Floats, C: Floats, *parameters: Floats, closer: Function | None = None
) -> Floats:
    """<f(z1) g(z2)> at entries, arrays of one axis: series, and sums in the plane where they are too long.

    Parameters may be numbers. Inputs of correlation 1 are one variable. Where nodes are too far apart, values are nan,
    or what ``closer`` computes from the functions and all arguments.
    """
    rho, apart = _exact_correlation(K1, K2, C)
    finite, out = xp.isfinite(K1 + K2 + C + sum(parameters)), math.nan * rho
    parallel = apart == 0.0
    order = xp.argsort(xp.abs(rho))
    order, too_long = order[(finite & ~parallel)[order]], []
    for start in range(0, order.shape[0], _VALUES // _TERMS[-1]):
        at = order[start : start + _VALUES // _TERMS[-1]]
        k1, k2, c, fine = K1[at], K2[at], C[at], []  # type: ignore[var-annotated]
        ((one, two),) = _hermite_pairs([(f, g)], k1, k2, c, *(_at(p, at) for p in parameters))
        out[at] = _hermite_sum(k1, k2, c, one, two, fine)
        too_long += [at[~part] for part in fine]
    plane, line, finer = xp.concatenate([order[:0], *too_long]), xp.where(finite & parallel)[0], 1
    while finer <= _FINEST and line.shape[0] + plane.shape[0]:
        rule = _rule_for(xp.maximum(K1, K2), finer, 2)
        on_line = functools.partial(_parallel_average, f, g, rule=rule)
        in_plane = functools.partial(_plane_average, f, g, finer=finer)
        parts = (on_line, line, _VALUES // rule[0].shape[0]), (in_plane, plane, max(16 // finer**2, 1))
        for average, entries, few in parts:
            for start in range(0, entries.shape[0], few):
                at = entries[start : start + few]
                out[at] = average(K1[at], K2[at], rho[at], apart[at], [_at(p, at) for p in parameters])
        line, plane, finer = line[xp.isnan(out[line])], plane[xp.isnan(out[plane])], 2 * finer
        plane = plane if finer <= _FINEST_PLANE else plane[:0]
    if closer is not None:
        at = xp.where(finite & ~xp.isfinite(out))[0]
        out[at] = closer(f, g, K1[at], K2[at], C[at], *(p[at] if p.shape else p + 0.0 * K1[at] for p in parameters))
    return xp.where(xp.isfinite(out), out, math.nan)
