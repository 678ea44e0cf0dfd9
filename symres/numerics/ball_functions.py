"""The elementary functions on real and complex balls, where flint's own need help.

A rule is a pair: the function of real balls, and that of complex balls, whose first argument is the ``analytic`` flag:
if it is set, the answer is nan unless the function is analytic on the whole ball.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from flint import acb, arb

Ball: TypeAlias = arb | acb
BallRule: TypeAlias = tuple[Callable[..., arb], Callable[..., acb]]
_FEW_BITS = 4  # of a ball from which on its square by mid and radius is as tight as by its ends
_WIDE = 0.01  # radius of a ball from which on a monotone function is enclosed by its values at the two ends
_NARROW = 2.0**-10  # radius of a ball beside its middle up to which a bound of the slope is tight enough


def restricted(function: Callable[[arb], arb], low: int | None = None, high: int | None = None) -> Callable[[arb], arb]:
    """A monotone real function, on the part of a ball inside its domain [low, high]; wide balls by their ends."""

    def restricted(x: arb) -> arb:
        result = function(x)
        if result.is_finite() or not x.is_finite():
            return result
        left, right = x.lower(), x.upper()
        if (low is not None and right < low) or (high is not None and left > high):
            return result
        left = arb(low) if low is not None and left < low else left
        right = arb(high) if high is not None and right > high else right
        return function(left).union(function(right))

    return restricted


_sqrt = restricted(arb.sqrt, 0)


def integer_power(power: int) -> BallRule:
    """The power function on real and on complex balls.

    Of a wide ball by its ends: flint's own squares contain negative numbers, and are nan where a ball is centred at 0.
    """
    if power == -1:
        return lambda x: 1 / x, lambda analytic, x: 1 / acb(x)
    if power < 0:
        real, complex_ = integer_power(-power)
        return lambda x: 1 / real(x), lambda analytic, x: 1 / complex_(analytic, x)

    def real_power(x: arb) -> arb:
        if x.rel_accuracy_bits() > _FEW_BITS or not x.is_finite():
            return x**power
        low, high = x.lower(), x.upper()
        low = arb(0) if low.is_zero() else low**power
        high = arb(0) if high.is_zero() else high**power
        ends = low.union(high)
        return arb(0).union(ends) if power % 2 == 0 and x.contains(0) else ends

    def complex_power(analytic: bool, x: acb) -> acb:
        return acb(x) ** power

    if power == 2:
        return lambda x: x * x if x.rel_accuracy_bits() > _FEW_BITS else real_power(x), complex_power
    return real_power, complex_power


def half_integer_power(numerator: int) -> BallRule:
    """The power function x**(numerator/2) on real and on complex balls."""
    if numerator == 1:
        return _sqrt, lambda analytic, x: acb(x).sqrt(analytic)
    if numerator < 0:
        return lambda x: x.rsqrt() ** -numerator, lambda analytic, x: acb(x).rsqrt(analytic) ** -numerator
    return lambda x: _sqrt(x) ** numerator, lambda analytic, x: acb(x).sqrt(analytic) ** numerator


def real_power(x: arb, y: arb) -> arb:
    """x**y; of a ball around 0 only the non-negative part."""
    result = x**y
    if result.is_finite() or not y > 0 or x < 0 or not x.is_finite():
        return result
    return arb(0).union(x.upper() ** y)  # increasing in x from 0


def softplus(u: arb) -> arb:
    """log(1 + exp(u)); increasing, so a wide ball is enclosed by its two ends."""
    if u.rad() > _WIDE:
        return softplus(u.lower()).union(softplus(u.upper()))
    return u + (-u).exp().log1p() if u > 0 else u.exp().log1p()


def complex_softplus(analytic: bool, u: acb) -> acb:
    """The same on a complex ball."""
    # The principal logarithm jumps at Im u = pi for Re u > 0, the function continued from the real line does not.
    u = acb(u)
    if u.real > 0:
        return u + (-u).exp().log1p()
    return with_branch_cuts(acb.log1p, lambda w: w.real < -1)(analytic, u.exp())


def sigmoid(u: arb) -> arb:
    """1/(1 + exp(-u)); increasing, so a wide ball is enclosed by its two ends."""
    if u.rad() > _WIDE:
        return sigmoid(u.lower()).union(sigmoid(u.upper()))
    return _in_the_smaller_exponential(u, u < 0)


def complex_sigmoid(analytic: bool, u: acb) -> acb:
    """The same on a complex ball."""
    u = acb(u)
    return _in_the_smaller_exponential(u, u.real < 0)


def _in_the_smaller_exponential(u: Ball, is_negative: bool) -> Ball:
    """1/(1 + exp(-u)): exp(-u) of a wide ball surrounds -1, and of a large one overflows, where exp(u) does not."""
    growth = (u if is_negative else -u).exp()
    return growth / (1 + growth) if is_negative else 1 / (1 + growth)


def with_branch_cuts(function: Callable[[acb], acb], on_cut: Callable[[acb], bool]) -> Callable[[bool, acb], acb]:
    """A complex function with branch cuts on the real line; ``on_cut`` may be true only where it is not analytic.

    It is given the real ends of the ball, one after the other.
    """

    def checked(analytic: bool, x: acb) -> acb:
        x = acb(x)
        if analytic and x.imag.contains(0) and (on_cut(acb(x.real.lower())) or on_cut(acb(x.real.upper()))):
            return acb(arb.nan())
        return function(x)

    return checked


def rotated(function: Callable[[bool, acb], acb]) -> Callable[[bool, acb], acb]:
    """A cut on the real line turned onto the imaginary one."""
    return lambda analytic, x: -acb(0, 1) * function(analytic, acb(0, 1) * acb(x))


def from_flint(name: str, is_monotone: bool = False) -> BallRule:
    """Flint's own functions of a name; of a monotone one wide real balls by their ends."""
    real, complex_ = getattr(arb, name), getattr(acb, name)
    return restricted(real) if is_monotone else real, lambda analytic, x: complex_(acb(x))


def sech(x: arb) -> arb:
    """1/cosh(x), decreasing in |x|."""
    if x.rad() > _WIDE:
        return sech(x.abs_lower()).union(sech(x.abs_upper()))
    return x.sech()


def heaviside(x: arb, at_zero: arb) -> arb:
    """0 below zero, 1 above, and the second argument at zero."""
    if x > 0:
        return arb(1)
    if x < 0:
        return arb(0)
    return at_zero if x.is_zero() else arb(0).union(1).union(at_zero)


def real_only(real: Callable) -> Callable:
    """Constant or selecting functions of acb, usable where the real parts decide."""

    def checked(analytic: bool, *values: Ball) -> acb:
        values = tuple(acb(v) for v in values)
        if analytic or not all(v.imag.is_zero() for v in values):
            return acb(arb.nan())
        return acb(real(*(v.real for v in values)))

    return checked


def outside_unit(w: acb) -> bool:
    """Whether a real number is not inside of (-1, 1): the branch cuts of asin and atanh."""
    return bool(abs(w.real) >= 1)


complex_asin = with_branch_cuts(acb.asin, outside_unit)
complex_acos = with_branch_cuts(acb.acos, outside_unit)
complex_atanh = with_branch_cuts(acb.atanh, outside_unit)
complex_atan = rotated(complex_atanh)
_asinh = rotated(complex_asin)


def complex_asinh(analytic: bool, x: acb) -> acb:
    """The inverse hyperbolic sine."""
    x = acb(x)
    if x.real < -1:
        return -complex_asinh(analytic, -x)
    if x.real > 1:  # a wide ball far from 0: 1 + x**2 may surround 0, 1 + x**-2 does not
        return x.log() + (1 + 1 / (x * x)).sqrt(analytic).log1p()
    return _asinh(analytic, x)


def scaled_ierfc(x: arb) -> arb:
    """``1 - sqrt(pi)*x*exp(x**2)*erfc(x)``, falling; nan unless x > 0."""
    if not x > 0 or not x.is_finite():
        return arb.nan()
    if x.rad() > x.mid() * _NARROW:
        return scaled_ierfc(x.lower()).union(scaled_ierfc(x.upper()))
    middle = x.mid()
    return (middle**2).hypgeom_u(1, arb(1) / 2) / 2 + (x - middle) * arb(0, 1) / x.abs_lower() ** 3


def complex_scaled_ierfc(analytic: bool, x: acb) -> acb:
    """The same around the positive real line; nan where ``|arg x|`` may be above pi/4.

    The function is the average of ``t/(x**2 + t)`` over t > 0 with the density ``exp(-t)/sqrt(pi*t)``. There
    ``|x**2 + t| >= |x**2|``, so that its slope is at most ``1/|x|**3``; and the next term of its asymptotic series
    bounds what the first one misses.
    """
    x = acb(x)
    if not x.is_finite() or not x.real.lower() > x.imag.abs_upper():
        return acb(arb.nan())
    middle, error = x.mid(), acb(arb(0, 1), arb(0, 1))
    from_middle = (middle**2).hypgeom_u(1, acb(1) / 2) / 2 + (x - middle) * error / x.abs_lower() ** 3
    asymptotic = 1 / (2 * x * x) + error * 3 / (4 * x.abs_lower() ** 4)
    return min(from_middle, asymptotic, key=lambda ball: float(ball.rad()))
