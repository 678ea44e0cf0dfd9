"""Newton's method for several numbers, also where quantities only touch their targets.

A quantity that only touches its target (a mean that is squared vanishes) makes the zero a double one: the slopes have
no inverse there, and every step of Newton's method leaves half of the distance. Where a step is half of the step
before, the sum of that geometric series is taken at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mpmath as mp

_STEPS = 30  # of double zeros too: each second step squares the distance
_HALF = 0.1  # of a step: how far from half of the step before it may be
_CLOSE = 1e-15  # of a place, or of 1 where it is smaller: a step that no double tells

Equations = Callable[[Sequence[mp.mpf]], Sequence[mp.mpf]]


def newton(equations: Equations, start: Sequence[float], digits: int) -> list[mp.mpf] | None:
    """A zero of as many equations as numbers.

    Args:
        equations: maps numbers to what should vanish; nan where it does not exist.
        start: near the zero.
        digits: that values have; slopes are differences of them, with half of the digits.

    Returns:
        The zero, to doubles; None where the search leads nowhere.
    """
    with mp.workdps(digits):
        places, before = [mp.mpf(float(x)) for x in start], None
        for _ in range(_STEPS):
            step = _step(equations, places, mp.mpf(10) ** -(digits // 2))
            if step is None:
                return None
            halved = before is not None and mp.norm(before - 2 * step) < 2 * _HALF * mp.norm(step)
            before = None if halved else step
            places = [x + (2 if halved else 1) * s for x, s in zip(places, step, strict=True)]
            if all(abs(s) <= _CLOSE * max(1, abs(x)) for x, s in zip(places, step, strict=True)):
                return places
    return None


def _step(equations: Equations, places: Sequence[mp.mpf], change: mp.mpf) -> mp.matrix | None:
    values = mp.matrix(equations(places))
    if not any(values):
        return values
    slopes = mp.matrix(len(places), len(places))
    for column, place in enumerate(places):
        beside = mp.matrix(equations([*places[:column], place + change, *places[column + 1 :]]))
        slopes[:, column] = (beside - values) / change
    try:
        step = mp.lu_solve(slopes, -values)
    except ZeroDivisionError:
        return None
    return step if all(map(mp.isfinite, step)) else None
