"""Averages of products of signs: of two variables with thresholds, of four centred ones.

Two variables: seen from the origin of the plane in which they are independent, the part of the plane beyond two lines
has two edges, and each edge adds the integral of ``exp(-distance**2/2)`` over the angle that it fills. Those are
functions of two numbers, h and y, positive where both are, so that tails keep their digits. The correlation r comes as
the legs x, y of an angle, ``r = x/sqrt(x**2 + y**2)``: what is near 1 would else have lost its digits before. For S2
of correlations far from 1 and -1 Plackett's integral starts at independent variables, and small values keep theirs.

Four variables: Plackett's identity along the path t*r, 0 < t < 1, the nodes crowded at the end,
where the integrand has roots if the variables are linearly dependent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as xp
from scipy import special

from .array_types import Floats
from .entries import _flat
from .gauss_legendre import _gauss


def _in_parts(function: Callable[..., Floats], *arguments: Floats) -> Floats:
    """The values of a function of entries, some at a time: each takes many nodes."""
    return _flat(function, 512, *arguments)


def _legs(h: Floats, k: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The sides of the corner at x1 = h, x2 = k along both edges, from the feet of the origin on."""
    size = xp.hypot(x, y)
    size = xp.where(size > 0.0, size, 1.0)
    r, s = x / size, xp.clip(y / size, 1e-300, None)
    part = s * s / (1.0 + xp.abs(r))  # 1 - abs(r)
    first = xp.where(r > 0.0, (k - h) + h * part, (k + h) - h * part) / s
    second = xp.where(r > 0.0, (h - k) + k * part, (h + k) - k * part) / s
    return first, second


def _edge(h: Floats, y: Floats) -> Floats:
    """The integral of exp(-(h*h + t*t)/2)*h/(h*h + t*t) over t from y on, over 2*pi: odd in h, 1/2 on one side of 0.

    Near the origin the complement of Owen's function is taken, whose integrand is smooth there.
    """
    nodes, weights = _gauss(h)
    size, start = xp.abs(h), xp.abs(y)
    far = (size >= 1.0) | (start >= 1.0)
    a, b = xp.where(far, size, 1.0), xp.clip(start, None, 1e150)
    length = 76.0 / (b + xp.sqrt(b * b + 76.0))  # all but exp(-38) of it
    square = (a * a)[..., None]
    t = b[..., None] + length[..., None] * nodes
    value = a * length * (xp.exp(-0.5 * (square + t * t)) / (square + t * t) * weights).sum(-1)
    a, b = xp.where(far, 0.5, size), xp.where(far, 0.25, start)
    large = xp.maximum(a, b)
    slope = xp.minimum(a, b) / xp.clip(large, 1e-300, None)
    t = slope[..., None] * nodes
    owen = slope * (xp.exp(-0.5 * (large * large)[..., None] * (1.0 + t * t)) / (1.0 + t * t) * weights).sum(-1)
    tail = special.erfc(0.7071067811865476 * b)
    first = 1.5707963267948966 * special.erfc(0.7071067811865476 * a) - owen
    near = xp.where(b <= a, first, owen - 1.5707963267948966 * special.erf(0.7071067811865476 * a) * tail)
    value = 0.15915494309189535 * xp.where(far, value, near)
    value = xp.where(y < 0.0, 0.5 * special.erfc(0.7071067811865476 * size) - value, value)
    return xp.where(h < 0.0, -value, value)


def _of_two_tails(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
    """P(x1 > h, x2 > k) of standard normal variables with correlation x/sqrt(x*x + y*y), y >= 0."""
    h, k = (xp.where(xp.abs(a) < 1e-150, 1e-150, a) for a in (h, k))  # the edges of a corner at 0 need a direction
    first, second = _legs(h, k, x, y)
    inside = (h < 0.0) & (k < 0.0)
    return xp.where(inside, 1.0, 0.0 * h) + (_edge(h, first) + _edge(k, second))


def _two_tails(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
    """The upper tail of the bivariate normal law, see _of_two_tails."""
    return _in_parts(_of_two_tails, xp.clip(h, -99.0, 99.0), xp.clip(k, -99.0, 99.0), x, y)


def _of_two_signs(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
    """<sgn(h + x1) sgn(k + x2)> of standard normal variables with correlation x/sqrt(x*x + y*y), y >= 0."""
    nodes, weights = _gauss(h)
    angle = xp.arctan2(x, y)  # asin of the correlation
    half, other = special.erf(0.7071067811865476 * h), special.erf(0.7071067811865476 * k)
    mild = xp.abs(angle) < 1.0
    start = xp.where(mild, angle, 0.0)
    t = start[..., None] * nodes
    cosine = xp.cos(t)
    exponent = ((h * h + k * k)[..., None] - 2.0 * (h * k)[..., None] * xp.sin(t)) / (cosine * cosine)
    near = half * other + 0.6366197723675814 * start * (xp.exp(-0.5 * exponent) * weights).sum(-1)
    odd = xp.where((h < 0.0) ^ (k < 0.0), -1.0, 1.0)
    tails = _of_two_tails(xp.abs(h), xp.abs(k), xp.where(mild, 0.0, odd * x), xp.where(mild, 1.0, y))
    return xp.where(mild, near, odd * (4.0 * tails - 1.0 + xp.abs(half) + xp.abs(other)))


def _two_signs(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
    """The average of two signs, see _of_two_signs."""
    return _in_parts(_of_two_signs, xp.clip(h, -99.0, 99.0), xp.clip(k, -99.0, 99.0), x, y)


_OTHERS = (
    (5, 1, 2, 3, 4),
    (4, 0, 2, 3, 5),
    (3, 0, 1, 4, 5),
    (2, 0, 4, 1, 5),
    (1, 0, 3, 2, 5),
    (0, 1, 3, 2, 4),
)  # the opposite correlation of each, then its neighbours


def _conditional_sine(t: Floats | float, *correlations: Floats) -> Floats:
    """The sine of the angle of two variables, where two others are 0: of all correlations times t."""
    r, kl, ik, il, jk, jl = (t * correlation for correlation in correlations)
    variance = (1.0 - r) * (1.0 + r)
    covariance = kl * variance - ik * il - jk * jl + r * (ik * jl + il * jk)
    first = variance - ik * ik - jk * jk + 2.0 * r * ik * jk
    second = variance - il * il - jl * jl + 2.0 * r * il * jl
    size = xp.sqrt(xp.clip(first, 1e-300, None)) * xp.sqrt(xp.clip(second, 1e-300, None))
    return xp.clip(covariance / size, -1.0, 1.0)


def _of_four_signs(*r: Floats) -> Floats:
    """<sgn(x1) sgn(x2) sgn(x3) sgn(x4)> of centred normal variables with correlations r12, r13, r14, r23, r24, r34."""
    nodes, weights = _gauss(r[0])
    path, weights = nodes * (2.0 - nodes), weights * (2.0 - 2.0 * nodes)
    total = 0.0 * r[0]
    for fixed, others in zip(r, _OTHERS):
        angle = xp.arcsin(xp.clip(fixed, -1.0, 1.0))
        sure = xp.where(fixed == 0.0, 1.0, fixed)
        share = xp.sin(angle[..., None] * path) / sure[..., None]
        inner = xp.arcsin(_conditional_sine(share, *[r[i][..., None] for i in (_OTHERS.index(others), *others)]))
        total = total + angle * (inner * weights).sum(-1)
    return 0.4052847345693511 * total


def _four_signs(*r: Floats) -> Floats:
    """The average of four signs, see _of_four_signs; up to 4e-11 off close to linear dependence."""
    return _in_parts(_of_four_signs, *r)


def _of_equal_signs(r: Floats) -> Floats:
    """The average of the product of the signs of four centred normal variables with equal correlations."""
    nodes, weights = _gauss(r)
    angle = xp.arcsin(xp.clip(r, -0.3333333333333333, 1.0))
    sine = xp.sin(angle[..., None] * (nodes * (2.0 - nodes)))
    inner = xp.arcsin(xp.clip(sine / (1.0 + 2.0 * sine), -1.0, 1.0))
    return 2.431708407416107 * angle * (inner * (weights * (2.0 - 2.0 * nodes))).sum(-1)


def _equal_signs(r: Floats) -> Floats:
    """The average of four signs of equal correlations, see _of_equal_signs."""
    return _in_parts(_of_equal_signs, r)
