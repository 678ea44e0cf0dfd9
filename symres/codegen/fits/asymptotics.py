"""How a function of one kernel behaves at small and at large K, found from its values.

It vanishes as K**p, or as exp(-E/K)*K**p. Its numbers go to the largest float, or to where none can be found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import sympy as sp

from ...core.errors import SymresError

TINY = 800.0  # exp(-TINY) is no float
STEEPEST = 1000  # a power of K; what vanishes faster is tried for a decay
ROOTS = 12  # the largest denominator of a power of K
NEARLY = 1e-4  # how far a slope is from a power: by its corrections, of the order of sqrt(K); logarithms shift it more
NEARLY_LIMIT = 1e-3  # the same, of the slope in the limit
FAR = 200  # E/K where the decay is read off: corrections in powers of K are small there
TERMS = 10  # of the series behind the decay that are solved for with it
SIMPLE = 10**5  # largest denominator of a rate that is taken to be rational
LOG_LARGEST = 650  # exp of it is a float, and times a power of K still
STEEPER = 3  # an exponential grows ten times more from decade to decade, in logarithms, a power as much as before
GROWN = 20  # and by more than this

Values = Callable[[mp.mpf], mp.mpf]


def power_of(values: Values, end: mp.mpf, inner: mp.mpf) -> sp.Rational:
    """The power of K at an end: a root's, from one such as z**(1/3), or else the nearest half.

    Args:
        values: the function.
        end: the kernel nearest to the end.
        inner: where the slope is measured from there; where corrections are roots of K, from farther inside too.
    """
    slope = _slope(values, end, inner)
    if slope is None:
        return sp.Integer(0)
    for measure, tolerance in ((_slope, NEARLY), (_limit, NEARLY_LIMIT)):
        if (measured := measure(values, end, inner)) is not None:
            fraction = Fraction(_bounded(measured)).limit_denominator(ROOTS)
            if abs(_bounded(measured) - fraction) < tolerance:
                return sp.Rational(fraction)
    return sp.Rational(round(2 * _bounded(slope)), 2)


def _bounded(slope: mp.mpf) -> float:
    return max(-STEEPEST, min(STEEPEST, float(slope)))


def _limit(values: Values, end: mp.mpf, inner: mp.mpf) -> mp.mpf | None:
    """The slope at the end whose corrections fall like a power of K (Aitken)."""
    places = [end * (inner / end) ** k for k in range(4)]
    slopes = [s for one, other in pairwise(places) if (s := _slope(values, one, other)) is not None]
    first, second = (b - a for a, b in pairwise(slopes)) if len(slopes) == len(places) - 1 else (0, 0)
    return slopes[0] - first**2 / (second - first) if second and 0 < first / second < 1 else None


def decay_of(values: Values, smallest: mp.mpf, largest: mp.mpf) -> tuple[float, sp.Rational] | None:
    """Rate and power of exp(-rate/K)*K**power at small K, or None if it is a power of K at the smallest kernels.

    The logarithm is -E/K + p*log(K) + c0 + c1*K + ..., so that from K to K/2 its decrease doubles where E/K counts.
    """
    slope = _slope(values, smallest, 100 * smallest)
    if values(smallest) != 0 and (slope is None or abs(slope) <= STEEPEST):
        return None
    k = largest
    while k > 16 * smallest:
        halved = [values(k / 2**j) for j in range(3)]
        if {mp.sign(v) for v in halved} in ({1}, {-1}):
            a, b, c = (mp.log(abs(v)) for v in halved)
            if (b - c) - (a - b) > FAR:
                return _solved(values, k)
        k /= 2
    return None


def _slope(values: Values, a: mp.mpf, b: mp.mpf) -> mp.mpf | None:
    first, second = values(a), values(b)
    if first == 0 or second == 0 or first * second < 0:
        return None
    return mp.log(second / first) / mp.log(b / a)


def _solved(values: Values, k: mp.mpf) -> tuple[float, sp.Rational] | None:
    """Rate and power from as many values as unknowns, at and below a kernel."""
    count = TERMS + 2
    points = [k * mp.mpf(4) ** (-mp.mpf(j) / (count - 1)) for j in range(count)]  # where all is known not to be 0
    numbers = [values(point) for point in points]
    if {mp.sign(v) for v in numbers} not in ({1}, {-1}):
        return None
    matrix = mp.matrix([[-k / x, mp.log(x / k), *((x / k) ** j for j in range(TERMS))] for x in points])
    solution = mp.lu_solve(matrix, mp.matrix([mp.log(abs(v)) for v in numbers]))
    rate = float(solution[0] * k)
    return (simple(rate), sp.Rational(int(mp.nint(2 * solution[1])), 2)) if rate > 0 else None


def simple(rate: float) -> float:
    """The rational number that a positive rate seems to be: half the square of a breakpoint, or of a growth."""
    fraction = Fraction(rate).limit_denominator(SIMPLE)
    return float(fraction) if abs(rate - fraction) < 1e-9 * rate else rate


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


def _is_steep(logs: list[mp.mpf]) -> bool:
    """Whether logarithms of values, from decade to decade, grow like those of an exponential in the last one."""
    if len(logs) < 3:
        return False
    before, now = (b - a for a, b in pairwise(logs[-3:]))
    return bool(now > GROWN and now > STEEPER * abs(before))


def _between(values: Values, last: mp.mpf) -> float:
    """The last kernel with a number, to half a decade."""
    try:
        values(3 * last)
    except SymresError:
        return float(last)
    return float(3 * last)


def _log(value: mp.mpf) -> mp.mpf:
    return mp.log(abs(value)) if value else mp.mpf(0)


def _growth(values: Values, k: mp.mpf) -> float:
    """The rate r for which the logarithm is r*K + p*log(K) + c; 0 if it is not."""
    a, b, c = (_log(values(k / 2**j)) for j in range(3))
    rate = 4 * ((a - b) - (b - c)) / k
    return simple(float(rate)) if rate * k > GROWN else 0.0
