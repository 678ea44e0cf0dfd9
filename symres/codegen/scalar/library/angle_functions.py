"""Angles and determinants of two kernels."""

from __future__ import annotations

from math import copysign, fabs, sqrt

from .double_precision import arctan_tail
from .machine import fma


def determinant(K1: float, K2: float, C: float) -> float:
    """K1*K2 - C**2 to 1.5 units in the last place (Kahan); 0 where rounding made C a little too large."""
    square = C * C
    lost = fma(-C, C, square)
    difference = fma(K1, K2, -square) + lost
    return 0.0 if difference < 0.0 else difference


def cross_difference(x: float, y: float, u: float, v: float) -> float:
    """x*y - u*v to 1.5 units in the last place (Kahan)."""
    product = u * v
    return fma(x, y, -product) + fma(-u, v, product)


def angle(y: float, x: float) -> float:
    """The angle of the point (x, y), from -pi to pi; 0 at the origin."""
    width = fabs(x)
    height = fabs(y)
    low = width if width < height else height
    high = height if width < height else width
    slope = low / (1.0 if high == 0.0 else high)
    square = slope * slope
    turn = fma(-slope * square, arctan_tail(square), slope)
    turn = 1.5707963267948966 - turn if width < height else turn
    turn = 3.141592653589793 - turn if x < 0.0 else turn
    return copysign(turn, y)


def upper_angle(y: float, x: float) -> float:
    """The angle of the point (x, y) for y >= 0; a right angle at the origin."""
    return angle(1.0 if y == 0.0 and x == 0.0 else y, x)


def right_half_plane_angle(N: float, s: float, r: float) -> float:
    """The angle of the point (s, N) at the distance r, s >= 0."""
    both = r + s
    u = N / (1.0 if both == 0.0 else both)
    v = u * u
    return 2.0 * fma(-u * v, arctan_tail(v), u)


def upper_half_plane_angle(N: float, s: float, r: float) -> float:
    """The angle of the point (-N, s) at the distance r, s >= 0; a right angle at the origin."""
    both = r + fabs(N)
    u = 1.0 if both == 0.0 else s / both
    v = u * u
    turn = 2.0 * fma(-u * v, arctan_tail(v), u)
    return 3.141592653589793 - turn if N > 0.0 else turn


def angular_sum(rest: float, apart: float, M: float, N: float, s: float, r: float) -> float:
    """Rest + M*N*theta, theta the angle of the point (-N, s) at the distance r, from ``apart`` = rest - M*s too.

    Where theta is small that is apart + M*s*(1 - w) with w = -N*theta/s.
    """
    both = r + fabs(N)
    u = 1.0 if both == 0.0 else s / both
    v = u * u
    tail = arctan_tail(v)
    turn = 2.0 * fma(-u * v, tail, u)
    theta = 3.141592653589793 - turn if N > 0.0 else turn
    lacking = v * fma(1.0 - v, tail, 1.0)
    near = fma(M * s, lacking, apart)
    return near if s < -1.5 * N else fma(M * N, theta, rest)


def distance(K1: float, K2: float, C: float) -> float:
    """K1 + K2 - 2*C without rounding where the inputs are near."""
    apart = (K1 - C) + (K2 - C)
    return 0.0 if apart < 0.0 else apart


def separation(K1: float, K2: float, C: float) -> float:
    """sqrt(K1*K2) - C without cancellation; 0 where rounding made C a little too large."""
    size = sqrt(K1) * sqrt(K2)
    both = size + fabs(C)
    return determinant(K1, K2, C) / (1.0 if both == 0.0 else both) if C > 0.0 else size - C


def correlation(K1: float, K2: float, C: float) -> float:
    """C/sqrt(K1*K2), from -1 to 1; 0 where a kernel vanishes."""
    size = sqrt(K1) * sqrt(K2)
    ratio = C / size
    ratio = 1.0 if ratio > 1.0 else ratio
    ratio = -1.0 if ratio < -1.0 else ratio
    return 0.0 if size == 0.0 else ratio


def complement(K1: float, K2: float, C: float) -> float:
    """The root of 1 - C**2/(K1*K2), without cancellation; 1 where a kernel vanishes."""
    size = sqrt(K1) * sqrt(K2)
    rest = sqrt(determinant(K1, K2, C)) / size
    rest = 1.0 if rest > 1.0 else rest
    return 1.0 if size == 0.0 else rest
