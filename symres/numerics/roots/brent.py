"""Brent's method in plain floats: importing SciPy's would take longer than deriving a layer."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...core.errors import NoClosedForm

_XTOL, _RTOL = 2e-12, 4 * 2.0**-52
_STEPS = 100


def brent(
    function: Callable[[float], float], low: float, high: float, xtol: float = _XTOL, rtol: float = _RTOL
) -> float:
    """The zero of a function between two places where its signs differ.

    The steps are those of ``scipy.optimize.brentq``, bit for bit: inverse quadratic interpolation, secants, and
    halving where these are slow.

    Args:
        function: continuous, real.
        low: one place.
        high: the other.
        xtol: absolute error of the zero.
        rtol: relative error, in addition.

    Raises:
        NoClosedForm: the signs do not differ, a value is nan, or a hundred steps are not enough.
    """
    before, here = float(low), float(high)
    value_before, value = _value(function, before), _value(function, here)
    if value_before == 0:
        return before
    if value == 0:
        return here
    if (value_before > 0) == (value > 0):
        raise _failure(low, high, "the function has the same sign at both ends")
    across, value_across, last_step, step = before, value_before, 0.0, 0.0
    for _ in range(_STEPS):
        if value_before and value and (value_before > 0) != (value > 0):
            across, value_across = before, value_before
            last_step = step = here - before
        if abs(value_across) < abs(value):
            before, here, across = here, across, here
            value_before, value, value_across = value, value_across, value
        delta, halving = (xtol + rtol * abs(here)) / 2, (across - here) / 2
        if value == 0 or abs(halving) < delta:
            return here
        tried = math.inf
        if abs(last_step) > delta and abs(value) < abs(value_before):
            if before == across:
                tried = -value * (here - before) / (value - value_before)
            else:
                slope = (value_before - value) / (before - here)
                slope_across = (value_across - value) / (across - here)
                difference = value_across * slope_across - value_before * slope
                divisor = slope_across * slope * (value_across - value_before)
                tried = -value * difference / divisor if divisor else math.inf  # it may underflow
        if 2 * abs(tried) < min(abs(last_step), 3 * abs(halving) - delta):
            last_step, step = step, tried
        else:
            last_step = step = halving
        before, value_before = here, value
        here += step if abs(step) > delta else math.copysign(delta, halving)
        value = _value(function, here)
    raise _failure(low, high, f"{_STEPS} steps are not enough")


def _value(function: Callable[[float], float], place: float) -> float:
    value = float(function(place))
    if math.isnan(value):
        raise _failure(place, place, "the function is no number")
    return value


def _failure(low: float, high: float, found: str) -> NoClosedForm:
    return NoClosedForm(f"a zero between {low:.6g} and {high:.6g}", found, "ask where the function changes its sign")
