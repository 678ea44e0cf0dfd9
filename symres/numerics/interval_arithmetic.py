"""Intervals with exact ends, which may be infinite or open, and the elementary functions on them.

A mid-radius ball cannot say "every z above 3". Here an interval has exact ends (python-flint numbers of radius zero,
rounded outwards), an end may be infinite, and an end may be open: approached, never taken. So ``1 - tanh(z)`` is known
to be positive on the whole line, which is what a proof about the whole line needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from flint import arb, fmpq

_INF = arb.pos_inf()
_LARGE = arb(2) ** 1000  # stands for a lower end that overflowed
_HALF_A_TURN = 4  # a length above pi, below which a ball of the sine is tighter than -1 .. 1


class Undefined(Exception):
    """The formula could not be shown to be defined on the whole interval."""


class Range(NamedTuple):
    """The values of a formula lie between two exact ends; an open end is not taken (an infinite one never is)."""

    lo: arb
    hi: arb
    lo_open: bool = False
    hi_open: bool = False

    @property
    def is_positive(self) -> bool:
        """Every value is above zero."""
        return bool(self.lo > 0) or (bool(self.lo == 0) and self.lo_open)

    @property
    def is_nonnegative(self) -> bool:
        """No value is below zero."""
        return bool(self.lo >= 0)

    @property
    def is_negative(self) -> bool:
        """Every value is below zero."""
        return bool(self.hi < 0) or (bool(self.hi == 0) and self.hi_open)

    @property
    def is_nonpositive(self) -> bool:
        """No value is above zero."""
        return bool(self.hi <= 0)

    @property
    def is_finite(self) -> bool:
        """Both ends are numbers."""
        return bool(self.lo.is_finite() and self.hi.is_finite())

    @property
    def excludes_zero(self) -> bool:
        """Zero is not a value."""
        return self.is_positive or self.is_negative


Operation = Callable[..., Range]

LINE = Range(-_INF, _INF, True, True)


def interval(lo: arb, hi: arb, lo_open: bool = False, hi_open: bool = False) -> Range:
    """Ends given as balls, rounded outwards; what overflowed or is not a number becomes infinite."""
    low = -_INF if lo.is_nan() else lo.lower()
    high = _INF if hi.is_nan() else hi.upper()
    low = _LARGE if low == _INF else low
    high = -_LARGE if high == -_INF else high
    return Range(low, high, lo_open or bool(low == -_INF), hi_open or bool(high == _INF))


# ------------------------------------------------------------------------------------------------ arithmetic
def add(x: Range, y: Range) -> Range:
    """The sum."""
    return interval(x.lo + y.lo, x.hi + y.hi, x.lo_open or y.lo_open, x.hi_open or y.hi_open)


def negative(x: Range) -> Range:
    """The negative."""
    return Range(-x.hi, -x.lo, x.hi_open, x.lo_open)


def multiply(x: Range, y: Range) -> Range:
    """The product."""
    corners = [
        (arb(0) if a == 0 or b == 0 else a * b, a_open or b_open)
        for a, a_open in ((x.lo, x.lo_open), (x.hi, x.hi_open))
        for b, b_open in ((y.lo, y.lo_open), (y.hi, y.hi_open))
    ]
    lows, highs = [(c.lower(), o) for c, o in corners], [(c.upper(), o) for c, o in corners]
    lo, hi = min(low for low, _ in lows), max(high for high, _ in highs)
    never_zero = x.excludes_zero and y.excludes_zero
    lo_open = never_zero if lo == 0 else all(o for low, o in lows if low == lo)
    hi_open = never_zero if hi == 0 else all(o for high, o in highs if high == hi)
    return interval(lo, hi, lo_open, hi_open)


def intersection(x: Range, y: Range) -> Range:
    """Two ranges of the same formula."""
    lo, hi = max(x.lo, y.lo), min(x.hi, y.hi)
    lo_open = (x.lo == lo and x.lo_open) or (y.lo == lo and y.lo_open)
    hi_open = (x.hi == hi and x.hi_open) or (y.hi == hi and y.hi_open)
    return Range(lo, hi, bool(lo_open), bool(hi_open))


def absolute(x: Range) -> Range:
    """The absolute value."""
    if x.lo >= 0:
        return x
    if x.hi <= 0:
        return negative(x)
    above = negative(x) if -x.lo > x.hi else x
    return Range(arb(0), above.hi, False, above.hi_open)


def maximum(x: Range, y: Range) -> Range:
    """The larger of two values."""
    return Range(max(x.lo, y.lo), max(x.hi, y.hi), x.lo_open and y.lo_open, x.hi_open and y.hi_open)


def minimum(x: Range, y: Range) -> Range:
    """The smaller of two values."""
    return negative(maximum(negative(x), negative(y)))


def integer_power(x: Range, power: int) -> Range:
    """A positive integer power."""
    x = x if power % 2 else absolute(x)
    return interval(x.lo**power, x.hi**power, x.lo_open, x.hi_open)


def reciprocal(x: Range) -> Range:
    """The reciprocal.

    Raises:
        Undefined: zero cannot be excluded.
    """
    if x.is_negative:
        return negative(reciprocal(negative(x)))
    if not x.is_positive:
        raise Undefined
    low = arb(0) if x.hi == _INF else 1 / x.hi
    high = _INF if x.lo == 0 else 1 / x.lo
    return interval(low, high, x.hi_open, x.lo_open)


def real_power(x: Range, exponent: Range) -> Range:
    """A fixed exponent that is no integer."""
    if exponent.is_negative:
        return reciprocal(real_power(x, negative(exponent)))
    if not x.is_nonnegative or not exponent.is_positive:
        raise Undefined
    e = exponent.lo.union(exponent.hi)
    low, high = (end if end == 0 or end == _INF else end**e for end in (x.lo, x.hi))
    return interval(low, high, x.lo_open, x.hi_open)


def polynomial_range(coefficients: list[fmpq], x: Range) -> Range:
    """Horner's scheme around the end of the interval that is nearer to infinity."""
    if x.lo == -_INF and x.hi == _INF:
        return LINE
    if x.lo == -_INF:
        flipped = [c * (-1) ** k for k, c in enumerate(reversed(coefficients))][::-1]
        return polynomial_range(flipped, negative(x))
    shifted = [arb(c) for c in coefficients]
    for stop in range(len(shifted) - 1, 0, -1):
        for k in range(1, stop + 1):
            shifted[k] = shifted[k] + shifted[k - 1] * x.lo
    distance = Range(arb(0), _INF if x.hi == _INF else (x.hi - x.lo).upper(), x.lo_open, x.hi_open)
    total = interval(shifted[0], shifted[0])
    for c in shifted[1:]:
        total = add(multiply(total, distance), interval(c, c))
    return total._replace(lo_open=False, hi_open=False)


def quotient_range(above: list[fmpq], below: list[fmpq], x: Range) -> Range:
    """The range of a quotient of polynomials, as ``z**(p - q)`` times a quotient of polynomials in w = 1/z."""
    if x.lo.is_finite() == x.hi.is_finite() or not x.excludes_zero:
        return LINE
    w = reciprocal(x)
    try:
        quotient = multiply(polynomial_range(above, w), reciprocal(polynomial_range(below, w)))
    except Undefined:
        return LINE
    degree = len(above) - len(below)
    return multiply(quotient, integer_power(x if degree > 0 else w, abs(degree))) if degree else quotient


# ------------------------------------------------------------------------------------------------ functions
def monotone(
    function: Callable[[arb], arb], ends: Callable[[], tuple[arb, arb]], domain: Range = LINE, falling: bool = False
) -> Operation:
    """The range of a strictly monotone function.

    Args:
        function: on balls.
        ends: what it approaches, or takes, at the lower and at the upper end of its domain.
        domain: where it is defined; values at an open end are limits, which it never takes.
        falling: whether it decreases.
    """
    if falling:
        rising = monotone(lambda x: -function(x), lambda: (-ends()[0], -ends()[1]), domain)
        return lambda x: negative(rising(x))

    def operation(x: Range) -> Range:
        below = x.lo < domain.lo or (x.lo == domain.lo and domain.lo_open and not x.lo_open)
        if below or x.hi > domain.hi or (x.hi == domain.hi and domain.hi_open and not x.hi_open):
            raise Undefined
        bottom, top = ends()
        low = bottom if x.lo == domain.lo else function(x.lo)
        high = top if x.hi == domain.hi else function(x.hi)
        image = interval(low, high, x.lo_open, x.hi_open)
        if image.lo <= bottom.lower():
            image = image._replace(lo=bottom.lower(), lo_open=domain.lo_open or x.lo_open)
        if image.hi >= top.upper():
            image = image._replace(hi=top.upper(), hi_open=domain.hi_open or x.hi_open)
        return image

    return operation


def oscillation(function: Callable[[arb], arb]) -> Operation:
    """The range of the sine or the cosine."""

    def operation(x: Range) -> Range:
        if not x.hi - x.lo < _HALF_A_TURN:
            return Range(arb(-1), arb(1))
        image = function(x.lo.union(x.hi))
        return Range(max(image.lower(), arb(-1)), min(image.upper(), arb(1)))

    return operation


def tangent(x: Range) -> Range:
    """The tangent, between two of its poles."""
    if not x.hi - x.lo < _HALF_A_TURN:
        raise Undefined
    branches = [(end / arb.pi() + arb(1) / 2).floor() for end in (x.lo, x.hi)]
    if not branches[0] == branches[1]:
        raise Undefined
    return interval(x.lo.tan(), x.hi.tan(), x.lo_open, x.hi_open)


def hyperbolic_cosine(x: Range) -> Range:
    """The hyperbolic cosine."""
    size = absolute(x)
    image = interval(size.lo.cosh(), size.hi.cosh(), size.lo_open, size.hi_open)
    return image._replace(lo=max(image.lo, arb(1)))


def sign(x: Range) -> Range:
    """-1, 0 or 1."""
    low, high = (1 if x.is_positive else -1), (-1 if x.is_negative else 1)
    return Range(arb(low), arb(high))


def step(x: Range) -> Range:
    """0 or 1, or what lies between at zero."""
    return Range(arb(bool(x.is_positive)), arb(not x.is_negative))
