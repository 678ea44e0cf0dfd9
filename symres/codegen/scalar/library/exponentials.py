"""Exponentials that vector code can contain, and their combinations that neither overflow nor cancel."""

from __future__ import annotations

from math import copysign, erf, erfc, fabs

from .double_precision import LARGEST, LOG2_HIGH, LOG2_LOW, SHIFT, SMALLEST, atanh_tail, erfcx_scaled, exp_tail
from .machine import INFINITY, fma, power_of_two


def exp_parts(u: float) -> tuple[float, float]:
    """Numbers h and r with exp(u) = 2*(h + h*r), h half of a power of 2: 2**1024 is not a float."""
    inside = LARGEST if u > LARGEST else u
    inside = SMALLEST if inside < SMALLEST else inside
    k = fma(inside, 1.4426950408889634, SHIFT) - SHIFT
    rest = fma(k, -LOG2_LOW, fma(k, -LOG2_HIGH, inside))
    return (power_of_two(k - 1.0), fma(rest * rest, exp_tail(rest), rest))


def exp(u: float) -> float:
    """The exponential; 0 where that is not a normal float."""
    half, part = exp_parts(u)
    value = INFINITY if u > LARGEST else 2.0 * fma(half, part, half)
    return 0.0 if u < SMALLEST else value


def expm1(u: float) -> float:
    """exp(u) - 1."""
    half, part = exp_parts(u)
    return INFINITY if u > LARGEST else 2.0 * fma(half, part, half - 0.5)


def exp_sinh(a: float, b: float) -> float:
    """exp(a)*sinh(b), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    size = fabs(b)
    return copysign(0.5, b) * exp(a + size) * -expm1(-2.0 * size)


def exp_cosh(a: float, b: float) -> float:
    """exp(a)*cosh(b), without overflow where a + abs(b) <= 0."""
    size = fabs(b)
    return 0.5 * exp(a + size) * (1.0 + exp(-2.0 * size))


def exp_coshm1(a: float, b: float) -> float:
    """exp(a)*(cosh(b) - 1), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    size = fabs(b)
    half = expm1(-size)
    return 0.5 * exp(a + size) * half * half


def erfcx_of_positive(u: float) -> float:
    """exp(u*u)*erfc(u) for u >= 0."""
    return erfcx_scaled(1.0 - 6.0 / (u + 3.0)) / (1.0 + 2.0 * u)


def erfc_by_exp(u: float) -> float:
    """erfc(u), in operations that vector code can contain; the square in the exponent keeps what rounding loses."""
    size = fabs(u)
    square = size * size
    lost = fma(size, size, -square)
    tail = (exp(-square) * (1.0 - lost)) * erfcx_of_positive(size)
    return 2.0 - tail if u < 0.0 else tail


def erfcx(u: float) -> float:
    """exp(u*u)*erfc(u)."""
    tail = erfcx_of_positive(fabs(u))
    return 2.0 * exp(u * u) - tail if u < 0.0 else tail


def erfcxm1(u: float) -> float:
    """exp(u*u)*erfc(u) - 1 for u >= 0, without cancellation at u = 0."""
    small = 1.0 if u > 1.0 else u
    near = expm1(small * small) * erfc(small) - erf(small)
    return near if u < 1.0 else erfcx_of_positive(u) - 1.0


def sigmoid(u: float) -> float:
    """1/(1 + exp(-u)), without overflow."""
    small = exp(-fabs(u))
    return (small if u < 0.0 else 1.0) / (1.0 + small)


def log1p_of_unit(x: float) -> float:
    """log(1 + x) for x from 0 to 1."""
    u = x / (2.0 + x)
    v = u * u
    half = fma(u * v, atanh_tail(v), u)
    return half + half


def softplus(u: float) -> float:
    """log(1 + exp(u)), without overflow."""
    return (0.0 if u < 0.0 else u) + log1p_of_unit(exp(-fabs(u)))


def tanh(u: float) -> float:
    """The hyperbolic tangent."""
    size = fabs(u)
    rest = expm1(-2.0 * size)
    return copysign(-rest / (2.0 + rest), u)


def restored(value: float, x: float, y: float, b: float) -> float:
    """An exponential times 1 + e, e what its exponent (x + y) + abs(b) has lost to rounding (Knuth)."""
    size = fabs(b)
    first = x + y
    back = first - x
    lost = (x - (first - back)) + (y - back)
    total = first + size
    back = total - first
    lost = lost + ((first - (total - back)) + (size - back))
    return value * (1.0 + lost)
