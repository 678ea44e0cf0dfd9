"""The upper tail of two correlated normal variables, as in arrays/runtime/sign_averages.py.

The integrals along the edges of the corner are sums over points that crowd at both ends of the interval (the rule of
Takahasi and Mori), which exponentials give without a table.
"""

from __future__ import annotations

from math import erf, erfc, fabs, sqrt

from .double_precision import NEGLIGIBLE, SMALLEST_FACTOR
from .exponentials import exp
from .machine import NAN


def bounded_threshold(u: float) -> float:
    """A threshold, at most 99 deviations from 0: nothing is left beyond."""
    below = 99.0 if u > 99.0 else u
    return -99.0 if below < -99.0 else below


def density_along(square: float, start: float, length: float) -> float:
    """The integral of exp(-r/2)/r, r = square + t*t, over t on an interval."""
    total = 0.0
    for k in range(-38, 39):
        u = 0.0859375 * k
        grown = exp(u)
        turn = 1.5707963267948966 * (grown - 1.0 / grown)
        near = 1.0 / (1.0 + exp(-turn))
        rest = 1.0 / (1.0 + exp(turn))
        t = start + length * near
        r = square + t * t
        total = total + (grown + 1.0 / grown) * near * rest * exp(-0.5 * r) / r
    return 0.0859375 * 1.5707963267948966 * length * total


def edge(h: float, y: float) -> float:
    """The integral of exp(-(h*h + t*t)/2)*h/(h*h + t*t) over t from y on, over 2*pi; h is positive."""
    place = fabs(y)
    value = 0.0
    if h >= 1.0 or place >= 1.0:
        inside = 1.0 / SMALLEST_FACTOR if place > 1.0 / SMALLEST_FACTOR else place  # its square is a float
        length = 76.0 / (inside + sqrt(inside * inside + 76.0))
        value = h * density_along(h * h, inside, length)
    else:  # the complement of Owen's function, whose integrand is smooth around the origin
        large = place if place > h else h
        small = h if place > h else place
        owen = large * density_along(large * large, 0.0, small)
        turned = 1.5707963267948966 * erf(0.7071067811865476 * h) * erfc(0.7071067811865476 * place)
        side = 1.5707963267948966 * erfc(0.7071067811865476 * h)
        value = side - owen if place <= h else owen - turned
    value = 0.15915494309189535 * value
    return 0.5 * erfc(0.7071067811865476 * h) - value if y < 0.0 else value


def signed_edge(h: float, y: float) -> float:
    """The same for h of either sign."""
    return -edge(-h, y) if h < 0.0 else edge(h, y)


def two_tails(h: float, k: float, x: float, y: float) -> float:
    """P(x1 > h, x2 > k) of standard normal variables with correlation x/sqrt(x*x + y*y), y >= 0."""
    least = SMALLEST_FACTOR  # the edges of a corner at 0 need a direction
    first = bounded_threshold(least if fabs(h) < least else h)
    second = bounded_threshold(least if fabs(k) < least else k)
    largest = fabs(x) if fabs(x) > y else y
    largest = 1.0 if largest == 0.0 else largest
    p = x / largest
    q = y / largest
    size = sqrt(p * p + q * q)
    size = 1.0 if size == 0.0 else size
    r = p / size
    s = q / size
    s = least * least if s < least * least else s
    part = s * s / (1.0 + fabs(r))
    along = ((second - first) + first * part if r > 0.0 else (second + first) - first * part) / s
    beside = ((first - second) + second * part if r > 0.0 else (first + second) - second * part) / s
    both = signed_edge(first, along) + signed_edge(second, beside)
    value = 1.0 + both if first < 0.0 and second < 0.0 else both
    return value if h == h and k == k and x == x and y == y else NAN


def certain(value: float, error: float) -> float:
    """A value; no number where rounding may have cost more than six digits of it, unless it is no normal float."""
    return value if error <= 1e-6 * fabs(value) + NEGLIGIBLE else NAN
