"""Averages of two variables, that over one of them in closed form: piecewise polynomials, and exponentials beside them.

Given z1, the other variable is normal with mean m and deviation s. The average of a piecewise polynomial g is that of
the polynomial which holds at m, plus a correction for each breakpoint: the average of what g has there instead of that
polynomial. The corrections are tails of the normal law. Decaying exponentials have an average in erfcx.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as xp
from scipy import special

from .array_types import ClosedAverage, Factor, Floats, Tilt
from .error_free import _determinant
from .gauss_legendre import _count, _sorted, _strip
from .quadrature_nodes import _longest, _panels, _reach, _sized, _whole, _wide, _within


def _given(f: Factor, g: Factor, K1: Floats, K2: Floats, C: Floats, parameters: Sequence[Floats]) -> Floats:
    """<f(z1) g(z2)> for a piecewise polynomial g: its average over z2 given z1, then quadrature over z1."""
    first = xp.sqrt(xp.clip(K1, 1e-280, None))
    spread = xp.clip(xp.sqrt(_determinant(K1, K2, C)) / first, 1e-280, None)
    slope = C / first  # of the mean of z2, per standard deviation of z1
    steep = xp.where(C < 0.0, -1.0, 1.0) * xp.clip(xp.abs(slope), 1e-140, None)
    scale, rate, load, wave = f[3]
    width = xp.clip(xp.minimum(spread / xp.abs(steep), scale / first), 1e-10, 1e8)
    known, shift, wave = _within(rate * first, load * first, wave * first, 300.0)
    reach = _reach(f[5] + g[5]) + float(shift.max())
    places, longest = [p / first for p in f[2]] + [b / steep for b in g[1]], _longest(2.5, wave)
    x, mass = _panels(places, width, longest, reach, max(reach, f[4], g[4]), f[9])
    inner = _averaged(g[6], g[1], slope[..., None] * x, spread[..., None] + 0.0 * x, parameters)
    value = _sized(_whole(f[0], f[1], first[..., None] * x, parameters) * inner, f[9])
    return xp.where(known, (value * mass).sum(-1), math.nan)


def _averaged(
    closed: ClosedAverage, edges: Sequence[Floats], mean: Floats, spread: Floats, parameters: Sequence[Floats]
) -> Floats:
    """<g(mean + spread*y)> of a piecewise polynomial over a standard normal y."""
    means, jumps, degree, ratio = closed
    parameters = [_wide(p, mean) for p in parameters]
    square = spread * spread
    value = means[0](mean, square, *parameters) + 0.0 * mean
    for k, edge in enumerate(edges):
        value = xp.where(mean >= _wide(edge, mean), means[k + 1](mean, square, *parameters), value)
    for jump, edge in zip(jumps, edges):
        distance = _wide(edge, mean) - mean
        side = xp.where(distance > 0.0, 1.0, 0.0 * distance - 1.0)  # of the kind of the distance in PyTorch too
        t = xp.clip(xp.abs(distance) / spread, None, 40.0)
        scale = side
        for height, tail in zip(jump(*parameters), _tails(t, degree, ratio)):
            value = value + height * scale * tail
            scale = scale * side * spread
    return value


def _tails(t: Floats, degree: int, ratio: Sequence[float]) -> list[Floats]:
    """The averages T_k of (y - t)**k over y > t >= 0, k = 0 ... degree, for a standard normal y.

    T_k = (k - 1) T_(k-2) - t T_(k-1) cancels; T_k/T_(k-1) = k/(t + T_(k+1)/T_k) does not. The last of these ratios is
    a polynomial in 1/(5 + t), divided by 5 + t.
    """
    tails = [0.5 * special.erfc(0.7071067811865476 * t)]
    if degree == 1 and not ratio:  # fast, and accurate beside functions that do not vanish around 0
        tails.append(0.3989422804014327 * xp.exp(-0.5 * t * t) - t * tails[0])
    elif degree:
        u = 5.0 / (5.0 + t)
        x = 2.25 * u - 1.25
        high, low = 0.0 * t, 0.0 * t
        for c in ratio[:0:-1]:
            high, low = c + 2.0 * x * high - low, high
        ratios = [0.2 * u * (ratio[0] + x * high - low)]
        for k in range(degree - 1, 0, -1):
            ratios.insert(0, k / (t + ratios[0]))
        for r in ratios:
            tails.append(tails[-1] * r)
    return tails


def _given_the_second(f: Factor, g: Factor, K1: Floats, K2: Floats, C: Floats, parameters: Sequence[Floats]) -> Floats:
    """<f(z1) g(z2)> for a piecewise polynomial f."""
    return _given(g, f, K2, K1, C, parameters)


def _tilted(f: Factor, g: Factor, K1: Floats, K2: Floats, C: Floats, parameters: Sequence[Floats]) -> Floats:
    """<f(z1) g(z2)> for piecewise polynomials and decaying exponentials: the average of g given z1, then over z1."""
    first = xp.sqrt(xp.clip(K1, 1e-280, None))
    spread = xp.clip(xp.sqrt(_determinant(K1, K2, C)) / first, 1e-280, None)
    slope = C / first  # of the mean of z2, per standard deviation of z1
    steep = xp.where(C < 0.0, -1.0, 1.0) * xp.clip(xp.abs(slope), 1e-140, None)
    reach = _reach(f[5] + g[5])
    places = [p / first for p in f[1]]
    places += [f[1][k] / first - side * 38.0 / (rate * first) for side, rate, k, _ in f[7][0]]
    for b in g[1]:
        places += [(b + shift * spread) / steep for shift in (-8.5, 0.0, 8.5)]
    places += [(g[1][k] - side * 38.0 / rate) / steep for side, rate, k, _ in g[7][0]]
    places = _sorted([xp.clip(p, -reach, reach) for p in [*places, 0.0 * K1 - reach, 0.0 * K1, 0.0 * K1 + reach]])
    ends = xp.stack(places, -1)
    left, length = ends[..., :-1], ends[..., 1:] - ends[..., :-1]
    whole = length > 0.0
    entry = (_count(first.shape[0], first)[:, None] + 0 * whole)[whole]
    nodes, weights = _strip(first)
    x = left[whole][..., None] + length[whole][..., None] * nodes
    first, slope, spread = first[entry], slope[entry], spread[entry]
    breaks, edges = ([b[entry] for b in group] for group in (f[1], g[1]))
    own = [p[entry] for p in parameters]
    inner = _tilted_average(g[7], edges, slope[..., None] * x, spread, own)
    value = (_whole(f[0], breaks, first[..., None] * x, own) * inner * xp.exp(-0.5 * x * x) * weights).sum(-1)
    total = xp.bincount(entry, value * length[whole], minlength=whole.shape[0])
    return xp.asarray(0.3989422804014327 * total, dtype=first.dtype)


def _tilted_average(
    tilt: Tilt, edges: Sequence[Floats], mean: Floats, spread: Floats, parameters: Sequence[Floats]
) -> Floats:
    """<g(mean + spread*y)> over a standard normal y."""
    exponentials, largest, polynomial, series = tilt
    narrow = spread * largest <= 0.05
    out = 0.0 * mean
    for some, closed in ((narrow, series), (~narrow, polynomial)):
        if not bool(some.any()):
            continue
        b, own, m = [e[some] for e in edges], [p[some] for p in parameters], mean[some]
        s = spread[some][..., None] + 0.0 * m
        value = _averaged(closed, b, m, s, own)
        if closed is polynomial:
            for side, rate, k, height in exponentials:
                value = value + _wide(height(*own) + 0.0 * b[k], m) * _exponential(m, s, side, rate, _wide(b[k], m))
        out[some] = value
    return out


def _exponential(mean: Floats, spread: Floats, side: float, rate: float, edge: Floats) -> Floats:
    """The average of exp(side*rate*(z - edge)) where side*(z - edge) < 0."""
    distance = side * (mean - edge) / spread
    t = distance + rate * spread
    tail = xp.exp(-0.5 * distance * distance) * special.erfcx(0.7071067811865476 * xp.abs(t))
    inside = 2.0 * xp.exp(xp.clip(rate * spread * (distance + 0.5 * rate * spread), None, 0.0))
    return 0.5 * xp.where(t < 0.0, inside - tail, tail)
