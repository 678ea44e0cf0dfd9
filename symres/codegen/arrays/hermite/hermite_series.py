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
from ..runtime.error_free import _correlation
from .clustered_nodes import (
    _ENOUGH,
    _SOUGHT,
    _TERMS,
    Expansion,
    Rule,
    _at_nodes,
    _correlations,
    _eps,
    _hermite_expansion,
    _integers,
    _parallel,
    _polynomials,
    _side_nodes,
    _side_rule,
    _step,
)
from .plane_sums import _parallel_average, _plane_average

Function: TypeAlias = Callable[..., Floats]
Pairs: TypeAlias = Sequence[tuple[Function, Function]]

_FINEST = 16  # nodes are so many times closer, at most, and to 0 the square of that
_FINEST_PLANE = 2  # the same in the plane, where their number is squared
_VALUES = 1 << 21  # numbers in the arrays of a part: values at the nodes of some kernels, or of some entries


def _hermite_pair(f: Function, g: Function, *arguments: Floats) -> tuple[Expansion, Expansion]:
    """The expansions of two functions, see _hermite_pairs."""
    return _hermite_pairs([(f, g)], *map(xp.asarray, arguments))[0]


def _hermite_pairs(
    pairs: Pairs, K1: Floats, K2: Floats, C: Floats, *parameters: Floats
) -> tuple[tuple[Expansion, Expansion], ...]:
    """Expansions of the two functions of every pair, with as many terms as inputs need that are not parallel.

    They are what _hermite_expansion returns, in the shape of the kernels, what is left as a list.
    """
    many = [math.prod(p.shape) > 1 for p in parameters]
    varying = [p.shape for p, varies in zip(parameters, many) if varies]
    shapes = [xp.broadcast_shapes(K.shape, *varying) for K in (K1, K2)]

    def listed(first: Floats, second: Floats) -> Floats:
        """What the first and the second inputs have, one behind the other."""
        return xp.concatenate([xp.broadcast_to(a, shape).reshape(-1) for a, shape in zip((first, second), shapes)])

    kernels, columns = (
        listed(K1, K2),
        [listed(p, p) if varies else p.reshape(()) for p, varies in zip(parameters, many)],
    )
    place = _integers(kernels.shape[0], kernels)
    if not any(many):
        kernels, place = xp.unique(kernels, return_inverse=True)
    correlations = xp.abs(_correlations(K1, K2, C))
    reach = float(xp.where(correlations < _parallel(C), correlations, 0.0).max())
    functions, terms, finer = dict.fromkeys(h for pair in pairs for h in pair), _TERMS[0], 1
    while True:
        found = {h: _expanded(h, kernels, columns, terms, finer) for h in functions}
        left = max(reach**terms * found[f][2][-1] * found[g][2][-1] for f, g in pairs)
        if finer < _FINEST and any(
            bool((xp.isinf(each) & xp.isfinite(kernels)).any()) for _, each, _ in found.values()
        ):
            finer *= 2
        elif terms < _TERMS[-1] and left > _ENOUGH * _eps(K1):
            terms = _TERMS[_TERMS.index(terms) + 1]
        else:
            break
    size = math.prod(shapes[0])
    sides = [(place.reshape(-1)[part], shape) for part, shape in zip((slice(size), slice(size, None)), shapes)]
    one, two = (
        {h: (a[at].reshape((*shape, terms)), each[at].reshape(shape), worst) for h, (a, each, worst) in found.items()}
        for at, shape in sides
    )
    return tuple([(one[f], two[g]) for f, g in pairs])


def _expanded(f: Function, kernels: Floats, columns: Sequence[Floats], terms: int, finer: int) -> Expansion:
    """The expansion of one function, some kernels at a time; what is left as a list."""
    x, weight, table = (_placed(a, kernels) for a in _kept_rule(_level(kernels), finer, terms))
    step, parts = max(_VALUES // x.shape[0], 1), []
    for start in range(0, kernels.shape[0], step):
        some = slice(start, start + step)
        values = _at_nodes(f, kernels[some], [p[some] if p.shape else p for p in columns], x)
        parts.append(_hermite_expansion(values, (x, weight, table)))
    a, left, worst = zip(*parts)
    return xp.concatenate(a), xp.concatenate(left), xp.amax(xp.stack(worst), 0).tolist()


def _level(*kernels: Floats) -> int:
    """The smallest n for which all kernels are at most 4**n."""
    largest = max(float(xp.where(xp.isfinite(K), K, 1.0).max()) for K in kernels)
    return max(0, math.ceil(0.5 * math.log2(max(largest, 1.0))))


@functools.lru_cache(maxsize=16)
def _kept_rule(level: int, finer: int, terms: int) -> Rule:
    """The rule for kernels up to 4**level; the last ones are kept."""
    scale = xp.asarray(0.5**level / finer**2, dtype=xp.float64)
    x, weight = _side_rule(scale, _side_nodes(scale, _step(terms) / finer))
    return x, weight, _polynomials((0.0 * weight, weight), x, 0, terms)[1]


def _placed(a: Floats, like: Floats) -> Floats:
    """An array where another one is."""
    return a


def _hermite_sum(K1: Floats, K2: Floats, C: Floats, one: Expansion, two: Expansion, fine: list[Bools]) -> Floats:
    """The average for a part of a matrix; adds to ``fine`` where the series is long enough, unless it is everywhere.

    It has as many terms as the inputs need that are not parallel: those of a matrix have the value of one input.
    """
    (a, one_left, one_worst), (b, two_left, two_worst) = one, two
    eps, rho = _eps(a), xp.atleast_1d(_correlations(K1, K2, C))
    size, square = xp.abs(rho), rho * rho
    inside = size < _parallel(a)
    reach = max(float(xp.where(inside, size, 0.0).max()), 0.1)  # small correlations keep the digits of odd functions
    left = [first * second * reach**n / eps for n, (first, second) in enumerate(zip(one_worst, two_worst))]
    short = next((n for n in range(1, len(left)) if left[n] <= _SOUGHT), len(left) - 1)
    good = inside & (size ** (len(left) - 1) * (one_left * two_left) <= _ENOUGH * eps)
    if not bool(good.all()):
        fine.append(good)
    a_n, b_n = [_dense(xp.moveaxis(s[..., :short], -1, 0)) for s in (a, b)]
    weights = (_hermite_weight(a_n) * _hermite_weight(b_n)).tolist()
    *others, last = [0, *[n for n in range(1, short) if weights[n] > 0.05 * eps]]  # others are 0 but for rounding
    total = a_n[last] * b_n[last] + xp.zeros_like(rho)
    for n in reversed(others):
        for _ in range((last - n) // 2):
            total *= square
        if (last - n) % 2:
            total *= rho
        if weights[n] > 0.05 * eps:
            total += a_n[n] * b_n[n]
        last = n
    return total


def _dense(a: Floats) -> Floats:
    """An array in the order of its axes in memory."""
    return xp.ascontiguousarray(a)


def _hermite_weight(coefficients: Floats) -> Floats:
    """How large the coefficients of each order are beside the largest of the same kernel: 0 of what is even or odd."""
    size = xp.nan_to_num(xp.abs(coefficients)).reshape((coefficients.shape[0], -1))
    largest = xp.amax(size, 0)
    shares: Floats = xp.amax(size / xp.where(largest > 0.0, largest, 1.0), 1)
    return shares


def _at(a: Floats, places: Places) -> Floats:
    """Some entries of an array of one axis; a number is the same for all."""
    return a[places] if a.shape else a


def _smooth_entries(
    f: Function, g: Function, K1: Floats, K2: Floats, C: Floats, *parameters: Floats, closer: Function | None = None
) -> Floats:
    """<f(z1) g(z2)> at entries, arrays of one axis: series, and sums in the plane where they are too long.

    Parameters may be numbers. Inputs of correlation 1 are one variable. Where nodes are too far apart, values are nan,
    or what ``closer`` computes from the functions and all arguments.
    """
    rho, apart = _correlation(K1, K2, C)
    known, out = xp.isfinite(K1 + K2 + C + sum(parameters)), math.nan * rho
    parallel = apart == 0.0
    order = xp.argsort(xp.abs(rho))
    order, too_long = order[(known & ~parallel)[order]], []
    for start in range(0, order.shape[0], _VALUES // _TERMS[-1]):
        some = order[start : start + _VALUES // _TERMS[-1]]
        k1, k2, c, fine = K1[some], K2[some], C[some], []  # type: ignore[var-annotated]
        ((one, two),) = _hermite_pairs([(f, g)], k1, k2, c, *(_at(p, some) for p in parameters))
        out[some] = _hermite_sum(k1, k2, c, one, two, fine)
        too_long += [some[~part] for part in fine]
    rest = xp.concatenate([order[:0], *too_long])
    lines, finer = xp.where(known & parallel)[0], 1
    while finer <= _FINEST and lines.shape[0] + rest.shape[0]:
        x, weight, table = (_placed(a, K1) for a in _kept_rule(_level(K1, K2), finer, 2))
        on_line = functools.partial(_parallel_average, f, g, rule=(x, weight, table))
        in_plane = functools.partial(_plane_average, f, g, finer=finer)
        parts = (on_line, lines, _VALUES // x.shape[0]), (in_plane, rest, max(16 // finer**2, 1))
        for average, places, few in parts:
            for start in range(0, places.shape[0], few):
                at = places[start : start + few]
                out[at] = average(K1[at], K2[at], rho[at], apart[at], [_at(p, at) for p in parameters])
        lines, rest, finer = lines[xp.isnan(out[lines])], rest[xp.isnan(out[rest])], 2 * finer
        rest = rest if finer <= _FINEST_PLANE else rest[:0]
    if closer is not None:
        at = xp.where(known & ~xp.isfinite(out))[0]
        out[at] = closer(f, g, K1[at], K2[at], C[at], *(p[at] if p.shape else p + 0.0 * K1[at] for p in parameters))
    return xp.where(xp.isfinite(out), out, math.nan)
