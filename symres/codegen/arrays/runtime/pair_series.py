"""Averages of two variables at run time: the series in the correlation, and quadrature in the plane beside it.

F = sum_n a_n(K1) b_n(K2) rho**n with Hermite coefficients a_n, b_n, one-dimensional averages that are computed once for
each kernel of a matrix. What the terms so far leave is known exactly, by Bessel's inequality: an entry is taken from
the series where that bound says so, and integrated in the plane where not (correlations near 1 of large kernels and of
functions with kinks).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as xp

from .array_types import Bools, Factor, Floats, Places
from .entries import _few, _plain, _taken
from .error_free import _determinant
from .gauss_legendre import _count
from .plane_rules import _line_average
from .quadrature_nodes import _longest, _panels, _reach, _whole, _within


def _coefficients(f: Factor, K: Floats, parameters: Sequence[Floats], terms: int) -> Floats:
    """The root of <f(z)**2>, and <f(z) h_n(z/sqrt(K))> with normalised Hermite polynomials h_n.

    With the longest steps that root is the size too, and few of the others will do.
    """
    parts, breaks, places, (scale, rate, load, wave), far, growth, *_, fine = f
    deviation = xp.sqrt(xp.clip(K, 1e-280, None))
    known, shift, wave = _within(2.0 * rate * deviation, 2.0 * load * deviation, 2.0 * wave * deviation, 100.0)
    reach = max(13.0, _reach(2 * growth)) + float(shift.max())
    longest = _longest(16.0 / math.sqrt(terms), wave)
    width = xp.clip(scale / deviation, 1e-8, 1e8)
    places = [place / deviation for place in places]
    if _at_zero(places):  # the same nodes for all kernels
        width, longest, places = width.min()[None], longest.min()[None], [place[:1] for place in places]
    x, mass = _panels(places, width, longest, reach, max(reach, far), fine)
    value = _whole(parts, breaks, deviation[..., None] * x, parameters)
    mass = mass * value
    root = xp.sqrt((mass * value).sum(-1))[None]
    before, h, rows, some = 0.0 * x, 0.0 * x + 1.0, [], []
    for n in range(32 if fine == 0 else terms):
        some.append(h)
        before, h = h, (x * h - math.sqrt(n) * before) / math.sqrt(n + 1)
        if len(some) == 32:
            rows.append(_moments(some, mass))
            some = []
    return xp.where(known, xp.concatenate([root, *([root] if fine == 0 else []), *rows]), math.nan)


def _at_zero(places: Sequence[Floats]) -> bool:
    """Whether functions change around 0 only, for every entry."""
    return all(float(xp.abs(place).max()) == 0.0 for place in places)


def _moments(polynomials: Sequence[Floats], mass: Floats) -> Floats:
    """Sums over the nodes, which are the same for all rows of the mass or each row's own."""
    if polynomials[0].shape[0] < mass.shape[0]:
        return xp.concatenate(polynomials) @ mass.T
    return xp.stack([(h * mass).sum(-1) for h in polynomials])


def _expansion(
    f: Factor, K: Floats, parameters: Sequence[Floats], terms: int
) -> tuple[tuple[Floats, Floats, Floats], Places]:
    """The coefficients of every different kernel, the rest of the sum of their squares, the sum; where entries are."""
    others = [*f[1], *f[2], *f[3], *parameters]
    if all(float(o.min()) == float(o.max()) for o in others):
        kernels, place = xp.unique(K, return_inverse=True)
    else:
        kernels, place = K, _count(K.shape[0], K)

    def part(fine: int | None, some: Places) -> Floats:
        return _coefficients(_taken(f, some, fine), kernels[some], [p[some] for p in parameters], terms)

    steps, few = f[6] or _plain, 1024 if _at_zero(f[2]) else 64
    found = steps(part, few, kernels.shape[0], max(2, 4096 // terms), K)
    total, rows = found[0] * found[0], found[1:]
    rest = xp.maximum(total - (rows * rows).sum(0), 1e-15 * total)  # rounding hides a smaller one
    return (rows, rest, total), place


def _series(
    f: Factor, g: Factor, K1: Floats, K2: Floats, rho: Floats, parameters: Sequence[Floats], terms: int
) -> tuple[Floats, Bools]:
    """The first terms of the series in the correlation, and where they suffice."""
    if g is f:
        breaks, places, scales, both = ([xp.concatenate([p, p]) for p in group] for group in (*f[1:4], parameters))
        a, place = _expansion((f[0], breaks, places, scales, *f[4:]), xp.concatenate([K1, K2]), both, terms)
        b, first, second = a, place[: K1.shape[0]], place[K1.shape[0] :]
    else:
        a, first = _expansion(f, K1, parameters, terms)
        b, second = _expansion(g, K2, parameters, terms)

    def sums(i: Places, j: Places, r: Floats) -> Floats:
        largest = min(max(float(xp.abs(r).max()), 1e-9), 1.0 - 1e-9)
        needed = min(terms, 4 + math.ceil(-40.0 / math.log(largest)))
        total = 0.0 * r
        for n in range(needed - 1, -1, -1):
            total = total * r + a[0][n].take(i) * b[0][n].take(j)
        return total

    value = xp.concatenate(_few(sums, 16384, first, second, rho))
    rest = xp.abs(rho) ** terms * xp.sqrt(a[1][first]) * xp.sqrt(b[1][second])  # the product itself may be no float
    return value, rest <= 4e-15 * xp.sqrt(a[2][first]) * xp.sqrt(b[2][second])


def _pair_average(
    rule: Callable[..., Floats],
    cost: float,
    few: int,
    f: Factor,
    g: Factor,
    K1: Floats,
    K2: Floats,
    C: Floats,
    *parameters: Floats,
) -> Floats:
    """<f(z1) g(z2)> for variances K1, K2 and covariance C, arrays of one axis.

    Where the series is too long a rule of quadrature, whose cost is known, takes a few entries at a time.
    """
    rho = xp.clip(C / (xp.sqrt(xp.clip(K1, 1e-280, None)) * xp.sqrt(xp.clip(K2, 1e-280, None))), -1.0, 1.0)
    out = 0.0 * rho
    kinked, shared = bool(f[1] or g[1]), _at_zero((*f[2], *g[2]))
    line = (_determinant(K1, K2, C) == 0.0) & (xp.abs(rho) > 0.999)
    left = xp.argsort(xp.abs(rho))
    left, line = left[~line[left]], left[line[left]]
    for terms in (64, 256, 1024, 4096, 16384, 65536):
        # with kinks the coefficients alone decay too slowly, unless the kernels are so small that none is met
        hopeful = xp.abs(rho[left]) ** terms < (1e-10 if kinked and terms > 64 else 2.0)
        some = left[hopeful]
        if not _is_worth(terms, cost, shared, _kernels(f, g, K1[some], K2[some]), some.shape[0]):
            # at small correlations the series keeps digits that cancel in quadrature
            hopeful = hopeful & (xp.abs(rho[left]) ** terms < (1e-30 if terms == 64 else 0.0))
            some = left[hopeful]
        if not some.shape[0]:
            continue
        h = _taken(f, some, f[7])
        k = h if g is f else _taken(g, some, g[7])
        value, good = _series(h, k, K1[some], K2[some], rho[some], [p[some] for p in parameters], terms)
        out[some[good]] = value[good]
        left = xp.concatenate([some[~good], left[~hopeful]])
    left = left[xp.argsort(K1[left])]
    for some, by, finest in ((line, _line_average, 64), (left, rule, 8)):
        if some.shape[0]:
            out[some] = _by_quadrature(by, few, f, g, some, K1, K2, C, parameters, finest)
    return out


def _kernels(f: Factor, g: Factor, K1: Floats, K2: Floats) -> int:
    """The number of different kernels for which coefficients are needed."""
    if g is f:
        return xp.unique(xp.concatenate([K1, K2])).shape[0]
    return xp.unique(K1).shape[0] + xp.unique(K2).shape[0]


def _is_worth(terms: int, cost: float, shared: bool, kernels: int, entries: int) -> bool:
    """Whether so many terms cost less than quadrature, in units of ten nanoseconds."""
    return kernels * (0.4 if shared else 5.0) * terms**1.5 + 0.1 * entries * terms < entries * cost


def _by_quadrature(
    rule: Callable[..., Floats],
    few: int,
    f: Factor,
    g: Factor,
    some: Places,
    K1: Floats,
    K2: Floats,
    C: Floats,
    parameters: Sequence[Floats],
    finest: int,
) -> Floats:
    """A rule on a few of the entries at a time."""

    def part(fine: int | None, i: Places) -> Floats:
        i = some[i]
        return rule(_taken(f, i, fine), _taken(g, i, fine), K1[i], K2[i], C[i], [p[i] for p in parameters])

    steps = f[6] or g[6] or _plain
    return steps(part, few, some.shape[0], finest, K1)[0]
