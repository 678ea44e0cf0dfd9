"""Averages of functions with breakpoints or unknown scales: the trapezoidal rule between the breakpoints.

Beyond the last of them nodes are at distances scale*exp(t - exp(-t)), with equal steps of t: in proportion to the
distance where that is above the scale on which functions change, doubly exponentially close below it. On an interval
from a to b they are x = a + (b - a)*sigmoid(t + exp(t - T) - exp(-t - T)), the same at either end with the scale
(b - a)*exp(-T). So a kink at an end costs no digits. Every second node tells whether nodes are close enough: the error
of all of them is the square of what both differ by.

A function is a triple: its parts, functions of z and of parameters; the breakpoints between them; the anchors, which
are the breakpoints and 0, where functions change at large kernels. Either is a number or an array with one for each
entry. Entries are arrays of one axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as xp

from ..runtime.array_types import Floats, Places
from ..runtime.entries import _integers
from ..runtime.error_free import _exact_correlation

Breaks: TypeAlias = Sequence[Floats | float]
Piecewise: TypeAlias = tuple[Sequence[Callable[..., Floats]], Breaks, Breaks]
Rule: TypeAlias = tuple[Floats, Floats, Floats]  # nodes, their weights, those of the sum over every second one

_REACH = 38.0  # standard deviations behind which the normal density is no float
_ENDS = 3.7  # how far t goes beyond T: exp(-exp(3.7)) is below a rounding
_DISTANCE = 0.105  # of t from node to node: for softsign, at any kernels, that of twice as many is a rounding away
_INVISIBLE = 1e-17  # of an average: what no rounding shows
_SERIES = (64, 256, 1024, 4096)  # numbers of terms that are tried
_NODES_AT_ONCE = 1 << 20  # numbers in the arrays of a part


def _steps(first: float, last: float, finer: int, like: Floats) -> tuple[Floats, Floats, Floats]:
    """Equidistant numbers from one to another, on the device of an array; their distances; twice those of every second.

    There is an odd number of them, so that every second ones are from end to end too.
    """
    half = math.ceil(0.5 * (last - first) / _DISTANCE * finer)
    step = 0.0 * like.reshape(-1)[:1] + (last - first) / (2 * half)
    number = _integers(2 * half + 1, like)
    return 0.5 * (first + last) + (number - half) * step, step, step * (2.0 - 2.0 * (number % 2))


def _half_line(scale: float, finer: int, like: Floats) -> Rule:
    """Distances from an anchor to all that the normal law has beyond it, with weights of the sums over all and half."""
    t, step, second = _steps(-_ENDS, math.log(2.0 * _REACH / scale), finer, like)
    fall = xp.exp(-t)
    x = scale * xp.exp(t - fall)
    slope = x * (1.0 + fall)
    return x, step * slope, second * slope


def _interval(grade: float, finer: int, like: Floats) -> Rule:
    """Nodes between 0 and 1, less 1 from their middle on, with weights; functions change exp(-grade) from the ends."""
    t, step, second = _steps(-grade - _ENDS, grade + _ENDS, finer, like)
    rise, fall = xp.exp(t - grade), xp.exp(-t - grade)
    u = t + (rise - fall)  # of the other half exactly the negative: what is odd cancels
    share = 1.0 / (1.0 + xp.exp(xp.abs(u)))
    slope = share * (1.0 - share) * (1.0 + (rise + fall))
    return xp.where(u < 0.0, share, -share), step * slope, second * slope


def _between(anchors: Sequence[Floats], scale: float, finer: int) -> Rule:
    """Nodes along a last axis and weights of the normal law, crowded on both sides of every anchor.

    The anchors, in any order, have one shape; the scale is that on which functions change beside them, at most 1.
    """
    ends = [a[..., None] for a in _sorted([xp.clip(anchor, -_REACH, _REACH) for anchor in anchors])]
    x, *both = _half_line(scale, finer, ends[0])
    left = [xp.flip(a, (0,)) for a in (x, *both)]
    pieces = [(ends[0] - left[0], *left[1:]), (ends[-1] + x, *both)]
    for number, a in enumerate(ends[:-1]):
        b = ends[number + 1]
        length = b - a
        longest = float(length.max())
        if longest == 0.0:
            continue
        grade = math.log(max(longest / scale, 1.0))
        share, *both = _interval(grade, finer, a)
        pieces.insert(-1, (xp.where(share < 0.0, b, a) + length * share, *(length * weight for weight in both)))
    densities = [0.3989422804014327 * xp.exp(-0.5 * piece[0] * piece[0]) for piece in pieces]
    nodes = xp.concatenate([piece[0] for piece in pieces], -1)
    weights = [[p * piece[n] for p, piece in zip(densities, pieces, strict=True)] for n in (1, 2)]
    return nodes, xp.concatenate(weights[0], -1), xp.concatenate(weights[1], -1)


def _sorted(anchors: Sequence[Floats]) -> list[Floats]:
    """Anchors in increasing order, entry by entry."""
    ordered: list[Floats] = []
    for anchor in anchors:
        for position, other in enumerate(ordered):
            ordered[position], anchor = xp.minimum(other, anchor), xp.maximum(other, anchor)
        ordered.append(anchor)
    return ordered


def _values(f: Piecewise, z: Floats, parameters: Sequence[Floats]) -> Floats:
    """A piecewise function; parts are evaluated on their sides of the breakpoints only."""
    parts, breaks, _ = f
    edges, columns = [_wide(b, z) for b in breaks], [_wide(p, z) for p in parameters]
    value = parts[0](z.clip(None, edges[0]) if edges else z, *columns) + 0.0 * z
    for part, edge in zip(parts[1:], edges):
        value = xp.where(z >= edge, part(z.clip(edge), *columns), value)
    return value


def _within(exponent: Floats) -> Floats:
    """An exponent, nan where the exponential is no float."""
    return xp.where(exponent > 700.0, xp.nan, exponent)


def _wide(a: Floats | float, z: Floats) -> Floats | float:
    """Numbers of entries, shaped to stand beside the entries' nodes z."""
    return a if isinstance(a, float) or not a.ndim else a.reshape((-1,) + (1,) * (z.ndim - 1))


def _chosen(f: Piecewise, at: Places) -> Piecewise:
    """A function at some entries."""
    parts, *breaks = f
    one, two = ([b if isinstance(b, float) else b[at] for b in group] for group in breaks)
    return parts, one, two


def _scale(finer: int, *deviations: Floats) -> float:
    """On which functions change, in standard deviations of preactivations."""
    return 1.0 / max(1.0, *(float(d.max()) for d in deviations)) / finer**2


def _sum(values: Floats, rule: Rule, close: float) -> Floats:
    """The sum of values times weights; nan where every second node does not give nearly the same, or mass is left out.

    Values of mirrored nodes are added first: what is odd cancels exactly. Where values are no floats, they are left
    out like those beyond the last nodes; then terms beside them are to be negligible.
    """
    _, weight, second = rule
    finite = xp.isfinite(values)
    values = xp.where(finite, values, 0.0)
    terms, ends = values * weight, 0.0 * values[..., :1] == 0.0
    value, coarse = ((0.5 * (p + xp.flip(p, (-1,)))).sum(-1) for p in (terms, values * second))
    last = xp.concatenate([ends, ~finite[..., :-1]], -1) | xp.concatenate([~finite[..., 1:], ends], -1)
    sizes = xp.abs(terms)
    size, lost = sizes.sum(-1), xp.where(last, sizes, 0.0).sum(-1)
    return xp.where((xp.abs(value - coarse) <= close * size) & (lost <= _INVISIBLE * size), value, math.nan)


def _closer(
    average: Callable[..., Floats], few: int, finest: int, close: float, entries: Places, like: Floats
) -> Floats:
    """Averages at entries, with nodes so close that closer ones would change nothing; nan where none are.

    In the end six digits are better than none: rounding hides the others where terms of the function itself cancel.

    Args:
        average: of some entries, with ``finer`` and ``close``.
        few: entries at a time.
        finest: the largest value of ``finer``.
        close: by how much of the size a sum over every second node may differ; with the finest nodes by 1e-6.
        entries: their numbers.
        like: an array of the type of the averages.
    """
    out, left, finer = math.nan * like[entries], _integers(entries.shape[0], like), 1
    while finer <= finest and left.shape[0]:
        step = max(few // finer**2, 1)
        for start in range(0, left.shape[0], step):
            at = left[start : start + step]
            out[at] = average(entries[at], finer, close if finer < finest else 1e-6)
        left, finer = left[xp.isnan(out[left])], 2 * finer
    return out


def _kernel_average(f: Piecewise, K: Floats, *parameters: Floats) -> Floats:
    """<f(z)> for z of variance K."""
    return _conditional_average(f, 0.0 * K, K, *parameters)


def _conditional_average(f: Piecewise, mean: Floats, variance: Floats, *parameters: Floats) -> Floats:
    """<f(z)> for z of that law; where it is narrow, its mean is on neither side of a breakpoint that it meets."""
    deviation = xp.maximum(xp.sqrt(variance.clip(1e-280)), 1e-9 * xp.abs(mean))

    def average(at: Places, finer: int, close: float) -> Floats:
        h, m, s = _chosen(f, at), mean[at], deviation[at]
        anchors = [(a - m) / s for a in h[2]]
        rule = _between([0.0 * m, *anchors, *(-x for x in anchors)], _scale(finer, s), finer)  # odd functions cancel
        z = m[..., None] + s[..., None] * rule[0]
        return _sum(_values(h, z, [p[at] for p in parameters]), rule, close)

    return _closer(average, 256, 512, 1e-9, _integers(mean.shape[0], mean), mean)


def _pair_average(f: Piecewise, g: Piecewise, K1: Floats, K2: Floats, C: Floats, *parameters: Floats) -> Floats:
    """<f(z1) g(z2)> for variances K1, K2 and covariance C: the series in the correlation, and sums beside it."""
    rho, apart = _exact_correlation(K1, K2, C)
    first, second = (xp.sqrt(K.clip(1e-280)) for K in (K1, K2))
    second = xp.where(rho < 0.0, -second, second)
    parallel, finite = apart == 0.0, xp.isfinite(rho + apart)  # squares of kernels may be no floats
    order = xp.argsort(xp.where(finite, xp.where(parallel, 2.0, xp.abs(rho)), 3.0))[: int(finite.sum())]
    count = order.shape[0] - int(parallel.sum())
    left, line, out = order[:count], order[count:], math.nan * rho
    for terms in _SERIES:
        short = left[xp.abs(rho[left]) ** terms <= 4e-16]
        kernels = _expansions_needed(f, g, first[short], second[short])
        if kernels * terms**1.5 * 4e-8 < short.shape[0] * 1e-3:  # seconds for coefficients, and in the plane
            out[short] = _series(_chosen(f, short), _chosen(g, short), first[short], xp.abs(second[short]), rho[short],
                                [p[short] for p in parameters], terms)  # fmt: skip
            left = left[xp.isnan(out[left])]

    def on_line(at: Places, finer: int, close: float) -> Floats:
        h, k, one, two = _chosen(f, at), _chosen(g, at), first[at], second[at]
        anchors, columns = [a / one for a in h[2]] + [b / two for b in k[2]], [p[at] for p in parameters]
        rule = _between(anchors, _scale(finer, one, xp.abs(two)), finer)
        product = _values(h, one[..., None] * rule[0], columns) * _values(k, two[..., None] * rule[0], columns)
        return _sum(product, rule, close)

    def in_plane(at: Places, finer: int, close: float) -> Floats:
        law = first[at], second[at], xp.abs(rho[at]), apart[at]
        columns = [p[at] for p in parameters]
        return _kinked_plane(_chosen(f, at), _chosen(g, at), *law, columns, finer, close)

    out[line] = _closer(on_line, 256, 64, 1e-9, line, rho)
    left = left[xp.argsort(K1[left])]
    out[left] = _closer(in_plane, 16, 4, 1e-8, left, rho)
    return out


def _kinked_plane(
    f: Piecewise,
    g: Piecewise,
    first: Floats,
    second: Floats,
    rho: Floats,
    apart: Floats,
    parameters: Sequence[Floats],
    finer: int,
    close: float,
) -> Floats:
    """<f(z1) g(z2)> where z1/first and z2/second are c*u + d*v and c*u - d*v with independent u, v.

    The average over u, between the lines on which either function has a kink, is smooth in v but where two of the
    lines meet. It is nan where nodes are too far apart, or mass is beyond the last ones. The standard deviations are
    of one sign where the correlation is positive and of two where it is negative; ``rho`` is its size, and ``apart``
    is sqrt(1 - rho**2).
    """
    gap = apart * apart / (1.0 + rho)
    c, d = xp.sqrt(1.0 - 0.5 * gap), xp.sqrt(0.5 * gap)
    scale, p, q = _scale(finer, first, xp.abs(second)), [a / first for a in f[2]], [b / second for b in g[2]]
    outer = _between([0.5 * (a - b) / d for a in p for b in q], scale, finer)
    v, c, d = outer[0], c[..., None], d[..., None]
    lines = [(a[..., None] - d * v) / c for a in p] + [(b[..., None] + d * v) / c for b in q]
    u, weight, every_second = _between(lines, scale, finer)
    one, two = c[..., None] * u, d[..., None] * v[..., None]
    product = _values(f, first[..., None, None] * (one + two), parameters)
    product = product * _values(g, second[..., None, None] * (one - two), parameters)
    sizes = xp.abs(product) * weight
    value = ((product * weight).sum(-1) * outer[1]).sum(-1)
    coarse, over_v = ((product * every_second).sum(-1) * outer[2]).sum(-1), sizes.sum(-1) * outer[1]
    lost = ((sizes[..., 0] + sizes[..., -1]) * outer[1]).sum(-1) + over_v[..., 0] + over_v[..., -1]
    size = over_v.sum(-1)
    return xp.where((xp.abs(value - coarse) <= close * size) & (lost <= _INVISIBLE * size), value, math.nan)


def _expansions_needed(f: Piecewise, g: Piecewise, first: Floats, second: Floats) -> int:
    """The number of coefficient lists that a series of some entries needs."""
    if _varies(f) or _varies(g):
        return 2 * first.shape[0]
    return int(xp.unique(first).shape[0] + xp.unique(second).shape[0])


def _varies(f: Piecewise) -> bool:
    """Whether anchors differ from entry to entry."""
    return not all(isinstance(a, float) for a in f[2])


def _series(
    f: Piecewise, g: Piecewise, first: Floats, second: Floats, rho: Floats, parameters: Sequence[Floats], terms: int
) -> Floats:
    """<f(z1) g(z2)> = sum_n a_n b_n rho**n with Hermite coefficients; nan where nodes are too far apart.

    By Bessel's inequality what so many terms leave is at most abs(rho)**terms times the root of <f**2> <g**2>.
    """
    (a, i), (b, j) = (_expansion(h, s, parameters, terms) for h, s in ((f, first), (g, second)))
    out = []
    for start in range(0, rho.shape[0], 16384):
        part = slice(start, start + 16384)
        r, one, two, total = rho[part], i[part], j[part], 0.0 * rho[part]
        for n in range(terms - 1, -1, -1):
            total = total * r + a[n][one] * b[n][two]
        out.append(total)
    return xp.concatenate(out)


def _expansion(f: Piecewise, deviation: Floats, parameters: Sequence[Floats], terms: int) -> tuple[Floats, Places]:
    """The Hermite coefficients of every different entry, a row for each order; which of them an entry has."""
    position = _integers(deviation.shape[0], deviation)
    if not _varies(f) and not parameters:
        deviation, position = xp.unique(deviation, return_inverse=True)
    finer, columns = math.ceil(0.375 * math.sqrt(terms)), []  # the last polynomial is a wave of length 2*pi/sqrt(terms)
    few = max(_NODES_AT_ONCE // (1024 * finer), 1)
    for start in range(0, deviation.shape[0], few):
        at = _integers(deviation.shape[0], deviation)[start : start + few]
        h, s = _chosen(f, at), deviation[at]
        shared = s[:1] if all(isinstance(a, float) and a == 0.0 for a in h[2]) else s  # the same nodes for all
        x, weight, second = _between([a / shared for a in h[2]], _scale(1, s), finer)
        value = _values(h, s[..., None] * x, [p[at] for p in parameters])
        columns.append(_moments(x, value * weight, value * second, (value * value * weight).sum(-1), terms))
    return xp.concatenate(columns, 1), position


def _moments(x: Floats, mass: Floats, second: Floats, square: Floats, terms: int) -> Floats:
    """Sums of normalised Hermite polynomials times masses; nan where every second node gives others at the last ones.

    Masses are values times weights, of all nodes and of every second one; ``square`` is the average of the squares.
    """
    before, h, rows, near = 0.0 * x, 0.0 * x + 1.0, [], square >= 0.0
    for n in range(terms):
        rows.append(_summed(h, mass))
        if n == 0 or n >= terms - 2:
            near = near & (xp.abs(_summed(h, second) - rows[-1]) <= 3e-8 * xp.sqrt(square))
        before, h = h, (x * h - math.sqrt(n) * before) / math.sqrt(n + 1)
    return xp.where(near, xp.stack(rows), math.nan)


def _summed(h: Floats, mass: Floats) -> Floats:
    """Sums of values times masses, whose rows may share one row of values."""
    if h.shape[0] == 1:
        shared: Floats = mass @ h[0]
        return shared
    return (h * mass).sum(-1)
