"""Zeros of functions of floats by Brent's method."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..core.errors import NoClosedForm

_XTOL, _RTOL = 2e-12, 4 * 2.0**-52
_STEPS = 100


def brent(
    function: Callable[[float], float], low: float, high: float, xtol: float = _XTOL, rtol: float = _RTOL
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

    def at(place: float) -> _Row:
        value = float(function(place))
        if math.isnan(value):
            raise _failed(low, high, f"the function is not a number at {place:.6g}")
        return _Row(place, value)

    before, best = at(low), at(high)
    for end in (before, best):
        if end.value == 0:
            return end.place
    if (before.value > 0) == (best.value > 0):
        raise _failed(low, high, "its signs are the same there")
    across, last, step = before, best.place - before.place, best.place - before.place
    for _ in range(_STEPS):
        if (before.value > 0) != (best.value > 0):  # the zero is between the last two places
            across, last, step = before, best.place - before.place, best.place - before.place
        if abs(across.value) < abs(best.value):
            before, best, across = best, across, best
        half, least = (across.place - best.place) / 2, (xtol + rtol * abs(best.place)) / 2
        if best.value == 0 or abs(half) < least:
            return best.place
        trial = _interpolated(before, best, across) if abs(last) > least and abs(best.value) < abs(before.value) else 0
        if trial and 2 * abs(trial) < min(abs(last), 3 * abs(half) - least):
            last, step = step, trial
        else:
            last = step = half
        moved = step if abs(step) > least else math.copysign(least, half)
        before, best = best, at(best.place + moved)
    raise _failed(low, high, f"{_STEPS} steps are not enough")


class _Row(NamedTuple):
    """A place and the value of the function there."""

    place: float
    value: float


def _interpolated(before: _Row, best: _Row, across: _Row) -> float:
    """The step from the best place to the zero of the line, or of the inverse parabola, through the last places."""
    if before.place == across.place:
        return -best.value * (best.place - before.place) / (best.value - before.value)
    one, other = ((row.value - best.value) / (row.place - best.place) for row in (before, across))
    scale = other * one * (across.value - before.value)
    return -best.value * (across.value * other - before.value * one) / scale if scale else 0.0


def _failed(low: float, high: float, why: str) -> NoClosedForm:
    asked = f"a zero between {low:.6g} and {high:.6g}"
    return NoClosedForm(asked, f"the search for it fails: {why}", "ask where the function changes its sign")
