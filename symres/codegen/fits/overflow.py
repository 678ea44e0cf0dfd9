"""How far the numbers of a function of one kernel go: to the largest float, or to where none can be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

from ...core.errors import SymresError
from .small_kernel import simple

LOG_LARGEST = 650  # exp of it is a float, and times a power of K still
STEEPER = 3  # an exponential grows ten times more from decade to decade, in logarithms, a power as much as before
GROWN = 20  # and by more than this

Values = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class End:
    """Where a function of K ends.

    Args:
        max_kernel: the last kernel that has a number; infinite if the largest that was asked for has one.
        growth: r of the factor exp(r*K) at large K; 0 if there is none.
        reason: why there are no numbers beyond.
    """

    max_kernel: float = mp.inf
    growth: float = 0.0
    reason: str = ""


def end_of(values: Values, largest: mp.mpf) -> End:
    """The end of a function, looked for in steps of a decade from K = 1 on.

    Raises:
        SymresError: there is no number at K = 1.
    """
    last, logs = mp.mpf(1), [_log(values(mp.mpf(1)))]
    while last < largest:
        growth = _growth(values, last) if _is_steep(logs) else 0.0
        if growth:
            return End(float(f"{LOG_LARGEST / growth:.2g}"), growth, "values exceed the range of floats")
        try:
            logs.append(_log(values(10 * last)))
        except SymresError as error:
            return End(_between(values, last), 0.0, error.found)
        last *= 10
    return End()


def _log(value: mp.mpf) -> mp.mpf:
    return mp.log(abs(value)) if value else mp.mpf(0)


def _is_steep(logs: list[mp.mpf]) -> bool:
    if len(logs) < 3:
        return False
    before, now = logs[-2] - logs[-3], logs[-1] - logs[-2]
    return bool(now > GROWN and now > STEEPER * abs(before))


def _growth(values: Values, k: mp.mpf) -> float:
    """The rate r for which the logarithm is r*K + p*log(K) + c; 0 if it is not."""
    a, b, c = (_log(values(k / 2**j)) for j in range(3))
    rate = 4 * ((a - b) - (b - c)) / k
    return simple(float(rate)) if rate * k > GROWN else 0.0


def _between(values: Values, last: mp.mpf) -> float:
    """The last kernel with a number, to half a decade."""
    try:
        values(3 * last)
    except SymresError:
        return float(last)
    return float(3 * last)
