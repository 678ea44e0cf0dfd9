"""Zeros of functions of floats by Brent's method. Generated modules contain the search too, therefore its name."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..core.errors import NoClosedForm


def brent(
    function: Callable[[float], float], low: float, high: float, xtol: float = 2e-12, rtol: float = 4 * 2.0**-52
) -> float:
    """The zero of a function between two places where its signs differ, by Brent's method.

    Args:
        function: continuous, real.
        low: one place.
        high: the other.
        xtol: absolute error of the zero.
        rtol: relative error, in addition.

    Raises:
        NoClosedForm: the signs do not differ, a value is nan, or a hundred steps are not enough.
    """
    zero = _zero_between(lambda place: float(function(place)), low, high, xtol, rtol)
    if math.isnan(zero):
        found = "the signs are the same there, or it is not a number in between, or a hundred steps are not enough"
        asked = f"a zero between {low:.6g} and {high:.6g}"
        raise NoClosedForm(asked, f"the search for it fails: {found}", "ask where the function changes its sign")
    return zero


def _zero_between(
    function: Callable[[float], float], a: float, b: float, xtol: float = 1e-300, rtol: float = 1e-15
) -> float:
    """The zero between two places where a function has different signs, by Brent's method; nan if none is found."""
    f, g = function(a), function(b)
    if f == 0.0 or g == 0.0:
        return a if f == 0.0 else b
    c, h, last, step = a, f, b - a, b - a
    for _ in range(100 if min(f, g) < 0.0 < max(f, g) else 0):
        if (f > 0.0) != (g > 0.0):  # the zero is between the last two places
            c, h, last, step = a, f, b - a, b - a
        if abs(h) < abs(g):
            a, f, b, g, c, h = b, g, c, h, b, g
        half, least = 0.5 * (c - b), 0.5 * (xtol + rtol * abs(b))
        if g == 0.0 or abs(half) < least:
            return b
        trial = 0.0
        if abs(last) > least and abs(g) < abs(f):  # by a line, or an inverse parabola
            if a == c:
                trial = -g * (b - a) / (g - f)
            else:
                one, other = (f - g) / (a - b), (h - g) / (c - b)
                scale = other * one * (h - f)
                trial = -g * (h * other - f * one) / scale if scale else 0.0
        if trial and 2.0 * abs(trial) < min(abs(last), 3.0 * abs(half) - least):
            last, step = step, trial
        else:
            last = step = half
        a, f, b = b, g, b + (step if abs(step) > least else math.copysign(least, half))
        g = function(b)
        if g != g:
            break
    return math.nan
