"""Rules of quadrature for averages of two variables, by the kind of the functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as xp

from .array_types import Bools, Factor, Floats
from .error_free import _determinant
from .quadrature_nodes import _line, _longest, _panels, _reach, _sized, _whole, _within


def _both(f: Factor, g: Factor, first: Floats, second: Floats, most: float) -> tuple[Bools, Floats, Floats, Floats]:
    """What two functions share, see _within, and the smaller scale, per standard deviation of each."""
    scale, rate, load, wave = f[3]
    other, slower, heavy, ripple = g[3]
    shift, waves = rate * first + slower * second, wave * first + ripple * second
    known, shift, waves = _within(shift, xp.maximum(load * first, heavy * second), waves, most)
    return known, shift, waves, xp.minimum(scale / first, other / second)


def _line_average(f: Factor, g: Factor, K1: Floats, K2: Floats, C: Floats, parameters: Sequence[Floats]) -> Floats:
    """<f(z1) g(z2)> where z2 is a multiple of z1."""
    first, second = xp.sqrt(xp.clip(K1, 1e-280, None)), xp.sqrt(xp.clip(K2, 1e-280, None))
    second = xp.where(C < 0.0, -second, second)
    known, shift, wave, scale = _both(f, g, first, xp.abs(second), 300.0)
    width, reach = xp.clip(scale, 1e-8, 1e8), _reach(f[5] + g[5]) + float(shift.max())
    places, longest = [p / first for p in f[2]] + [q / second for q in g[2]], _longest(3.0, wave)
    x, mass = _panels(places, width, longest, reach, max(reach, f[4], g[4]), f[7])
    product = _whole(f[0], f[1], first[..., None] * x, parameters) * _whole(
        g[0], g[1], second[..., None] * x, parameters
    )
    return xp.where(known, (_sized(product, f[7]) * mass).sum(-1), math.nan)


def _smooth_plane(f: Factor, g: Factor, K1: Floats, K2: Floats, C: Floats, parameters: Sequence[Floats]) -> Floats:
    """<f(z1) g(z2)> of smooth functions: the average over z2 given z1, then that over z1."""
    K1 = xp.clip(K1, 1e-280, None)
    deviation = xp.sqrt(K1)
    known, shift, wave, _ = _both(f, g, deviation, xp.sqrt(xp.clip(K2, 1e-280, None)), 40.0)
    reach = _reach(f[5] + g[5]) + float(shift.max())
    slope = C / deviation  # of the mean of z2, per standard deviation of z1
    spread = xp.clip(xp.sqrt(_determinant(K1, K2, C) / K1), 1e-280, None)
    scale = g[3][0]
    steepest = xp.clip(xp.maximum(xp.abs(slope) / scale, deviation / f[3][0]), 1e-140, None)
    x, mass = _line(0.0 * K1, xp.clip(1.0 / steepest, 1e-9, 8.0), reach, shift, wave, f[7])
    mean, spread = slope[..., None] * x, spread[..., None] + 0.0 * x
    own = [xp.where(known, g[3][k], 0.0)[..., None] * spread for k in (1, 3)]
    y, weight = _line(-mean / spread, xp.clip(scale[..., None] / spread, 1e-8, 8.0), reach, own[0], own[1], f[7])
    inner = _whole(g[0], g[1], mean[..., None] + spread[..., None] * y, parameters)
    value = _sized(_whole(f[0], f[1], deviation[..., None] * x, parameters), f[7])
    return xp.where(known, (value * (_sized(inner, f[7]) * weight).sum(-1) * mass).sum(-1), math.nan)


def _kinked_plane(f: Factor, g: Factor, K1: Floats, K2: Floats, C: Floats, parameters: Sequence[Floats]) -> Floats:
    """<f(z1) g(z2)> of functions with kinks: z1/s1 and z2/s2 are c*u + d*v and c*u - d*v with independent u, v.

    The average over u, between the lines on which either function has a kink, is smooth in v but where two of the
    lines meet. Neither places nor widths become small as the correlation, here made positive, tends to one.
    """
    first, second = xp.sqrt(xp.clip(K1, 1e-280, None)), xp.sqrt(xp.clip(K2, 1e-280, None))
    sign = xp.where(C < 0.0, -1.0, 1.0)
    size = first * second
    gap = _determinant(K1, K2, C) / xp.clip(size * (size + xp.abs(C)), 1e-280, None)  # 1 - abs(correlation)
    gap = xp.clip(xp.where(size < 1e-140, 1.0 - xp.abs(C) / size, gap), 0.0, 1.0)
    c, d = xp.sqrt(1.0 - 0.5 * gap), xp.sqrt(0.5 * gap)
    known, shift, wave, scale = _both(f, g, first, second, 25.0)
    p, q = [place / first for place in f[2]], [sign * place / second for place in g[2]]
    narrow, reach = xp.clip(d, 1e-140, None), _reach(f[5] + g[5]) + float(shift.max())
    far, longest = max(reach, f[4], g[4]), _longest(3.0, wave)
    meet = [0.5 * (a - b) / narrow for a in p for b in q]
    v, mass = _panels(meet, xp.clip(scale / narrow, 1e-8, 1e8), longest, reach, far, f[7])
    c, d = c[..., None], d[..., None]
    lines = [(a[..., None] - d * v) / c for a in p] + [(b[..., None] + d * v) / c for b in q]
    u, weight = _panels(lines, xp.clip(scale[..., None] / c + 0.0 * v, 1e-8, 1e8), longest[..., None], reach, far, f[7])
    c, d, v = c[..., None], d[..., None], v[..., None]
    z1, z2 = first[..., None, None] * (c * u + d * v), (sign * second)[..., None, None] * (c * u - d * v)
    product = _whole(f[0], f[1], z1, parameters) * _whole(g[0], g[1], z2, parameters)
    return xp.where(known, ((_sized(product, f[7]) * weight).sum(-1) * mass).sum(-1), math.nan)
