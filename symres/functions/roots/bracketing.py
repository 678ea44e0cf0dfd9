"""Zeros of functions of the kernel, found from their values and slopes on a grid.

Most of the grid is seen in floats: where the function goes one way, away from zero, floats say so if they have digits.
Everything else is seen in balls: the ends of the grid, cells next to zeros and extrema, and places where floats differ
from balls or from their neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import sympy as sp
from flint import arb

from ...core.errors import SymresError
from ...core.symbols import kappa
from ...core.work_budget import panel_budget
from ...numerics.brent import brent
from ...numerics.deferred_numpy import Array, np
from ..balls import Number, enclose
from ..floats.float_compiler import CompiledFormula

_PER_DECADE, _DECADES = 6, (-9, 12)
GRID = tuple(
    sp.Rational(round(10 ** (12 + k / _PER_DECADE)), 10**12)
    for k in range(_DECADES[0] * _PER_DECADE, _DECADES[1] * _PER_DECADE + 1)
)
_BEYOND = GRID[0] ** 2 / GRID[1], GRID[-1] ** 2 / GRID[-2]  # next to its ends
_KERNELS = (_BEYOND[0], *GRID, _BEYOND[1])
_MIDDLE = 1 - _DECADES[0] * _PER_DECADE  # where the kernel is 1
BITS = (24, 60)  # of an evaluation; the second only where the first leaves a sign open
_CLEAR_BITS = 5  # of a value in a scan: enough to tell it from its neighbours, which spares its slope
_FAILURES = 2  # kernels without a value after which a scan ends
_PANELS = 500  # budget of one average
_MARGIN = 1.5  # a cell is halved where 1.5 times the change that its slopes predict could hide a zero
_MAX_HALVINGS = 6  # of a cell
_STRAIGHT = 2  # a cell is not halved again where its slopes are as steep as its secant to this factor
_MAX_ZEROS = 8  # more would not be of use to anyone
_DOUBLE_ZERO = 1e-12  # an extremum so close to zero is a double zero

_BEND = 0.2  # of the logarithm of a value between its neighbours: floats that bend more have lost their digits
_AGREE = 0.05  # of a value in floats that is right

Function = Callable[[sp.Rational, int], arb]
Floats = Callable[[Array], Array]
_ValueAndSlope = Callable[[sp.Rational], tuple[arb, arb]]
_Row = tuple[sp.Rational, tuple[arb, arb]]


def at_kappa(expression: sp.Expr, k: Number, bits: int) -> arb:
    """A function of kappa at a kernel."""
    return enclose(expression, {kappa: k}, bits)


def float_values(expression: sp.Expr) -> Floats | None:
    """A function of kappa as one of arrays, nan where it has no number; None where floats do not know it."""
    try:
        compiled = CompiledFormula([kappa], expression)
    except SymresError:
        return None

    return lambda kernels: np.asarray(np.broadcast_to(compiled(kernels), kernels.shape), dtype=float)


def scan(function: Function, floats: Floats | None = None) -> tuple[list[tuple[sp.Rational, arb | float]], str]:
    """The values of a function on the grid of kernels, from small to large ones.

    Args:
        function: maps a kernel and a precision in bits to a ball. Where it raises a SymresError (an activation that
            oscillates too often under a wide Gaussian) the kernel is left out, and after the second the scan ends.
        floats: the same in double precision.

    Returns:
        Rows (kernel, value), next to the ends of the grid too if floats tell them, and why the scan ended before the
        end of the grid; an empty text if it did not.
    """
    rows: list[tuple[sp.Rational, arb | float]] = []
    failures, level = 0, 0
    with panel_budget(_PANELS):
        trusted = _trusted(function, floats)
        for k in _KERNELS:
            try:
                if k in trusted:
                    rows.append((k, trusted[k]))
                elif k not in _BEYOND:
                    value, level = _clear_value(function, k, level)
                    rows.append((k, value))
            except SymresError as error:
                failures += 1
                if failures == _FAILURES:
                    return rows, f"kernels above {float(rows[-1][0]) if rows else 0:.3g}: {error.found}"
    return rows, ""


def _trusted(function: Function, floats: Floats | None) -> dict[sp.Rational, float]:
    """The values in floats where they are smooth, between the first and the last that agrees with a ball."""
    if floats is None:
        return {}
    values = floats(np.array([float(k) for k in _KERNELS]))
    with np.errstate(all="ignore"):
        signs, bends = np.sign(values), np.diff(np.log(np.abs(values)), 2)
    smooth = (np.abs(bends) < _BEND) & (signs[:-2] == signs[2:]) & (signs[1:-1] != 0)
    clear = [True, *smooth.tolist(), True]

    def agrees(place: int) -> bool:
        if not clear[place]:
            return False
        try:
            ball, _ = _clear_value(function, _KERNELS[place], 0)
        except SymresError:
            return False
        return bool(abs(ball - values[place]) < _AGREE * abs(values[place]))

    def furthest(place: int) -> int:
        """The place next to an end of the grid up to which floats are right from the middle on; 0 for none."""
        near, far = _MIDDLE, place
        if agrees(far):
            return far
        if not agrees(near):
            return 0
        while abs(far - near) > 1:
            between = (near + far) // 2
            near, far = (between, far) if agrees(between) else (near, between)
        return near

    # places 0 and -1 are beyond the grid: their values are kept where floats are right up to the ends of the grid
    first = furthest(1)
    last = furthest(len(GRID)) if first else 0
    if not last:
        return {}
    right = range(first if first > 1 else 0, last + 1 if last < len(GRID) else len(_KERNELS))
    return {_KERNELS[k]: float(values[k]) for k in right if clear[k]}


@dataclass(frozen=True)
class Zeros:
    """Where a function of the kernel vanishes.

    Args:
        crossings: pairs of kernels where it has opposite signs.
        touches: extrema that are zero to 1e-12.
        unseen: kernels that could not be searched, and why; empty if all were.
    """

    crossings: tuple[tuple[sp.Rational, sp.Rational], ...]
    touches: tuple[sp.Rational, ...]
    unseen: str


def zeros(function: Function, slope: Function, floats: Floats | None = None) -> Zeros:
    """The zeros on the grid's range; pairs in one cell are found by the slope, which points to them from both ends.

    Args:
        function: maps a kernel and a precision in bits to a ball.
        slope: its derivative in log K; asked for only where the function does not move one way.
        floats: the function in double precision.
    """

    scanned, stopped = scan(function, floats)
    balls = {k: value for k, value in scanned if isinstance(value, arb)}

    @cache  # neighbouring cells share an end
    def both(k: sp.Rational) -> tuple[arb, arb]:
        return balls[k] if k in balls else value_with_sign(function, k), value_with_sign(slope, k)

    rows = [row for row in scanned if sign(row[1])]
    values = [value for _, value in rows]
    crossings: list[tuple[sp.Rational, sp.Rational]] = []
    touches: list[sp.Rational] = []
    for i, (first, last) in enumerate(pairwise(rows)):
        neighbours = values[max(i - 1, 0) : i + 3]
        if {first[0], last[0]} & {*_BEYOND} or (_moves_one_way(neighbours) and len(neighbours) > 3):
            continue
        if len(crossings) > _MAX_ZEROS:
            return Zeros(tuple(crossings), tuple(touches), f"kernels above {float(first[0]):.3g}: too many zeros")
        try:
            # at the ends of the grid a neighbour is missing: the slopes stand in for it
            if _moves_one_way(neighbours) and all((last[1] - first[1]) * both(k)[1] > 0 for k, _ in (first, last)):
                continue
            cell = _subdivided(both, (first[0], both(first[0])), (last[0], both(last[0])))
        except SymresError as error:  # the slope is an average of its own, of a function that may grow faster
            return Zeros(tuple(crossings), tuple(touches), f"kernels above {float(first[0]):.3g}: {error.found}")
        for (a, both_a), (b, both_b) in pairwise(cell):
            # by signs: a product of balls may contain 0 although neither does
            (value_a, slope_a), (value_b, slope_b) = (tuple(map(sign, row)) for row in (both_a, both_b))
            if value_a * value_b < 0:
                crossings.append((a, b))
            elif value_a * slope_a < 0 < value_b * slope_b:  # towards zero and away again
                turn = sp.Rational(zero(slope, a, b))
                extremum = function(turn, BITS[-1])
                if abs(extremum) < _DOUBLE_ZERO:
                    touches.append(turn)
                elif extremum * value_a < 0:
                    crossings += [(a, turn), (turn, b)]
    return Zeros(tuple(crossings), tuple(touches), stopped)


def _moves_one_way(values: list[arb | float]) -> bool:
    """Whether values in a row have one sign and grow or fall: no zero is then between the middle two of four."""
    sizes = [abs(value) for value in values]
    if len(values) < 3 or not all(a * b > 0 for a, b in pairwise(values)):
        return False
    return all(a < b for a, b in pairwise(sizes)) or all(a > b for a, b in pairwise(sizes))


def zero(function: Function, low: sp.Rational, high: sp.Rational) -> float:
    """The zero between two kernels where the function has opposite signs, as a float."""
    exact: dict[float, sp.Rational] = {}

    def value(k: float) -> float:
        return float(function(exact.get(k, sp.Rational(k)), BITS[-1]).mid())

    if value(float(low)) * value(float(high)) > 0:  # rounded ends, where a fast oscillation has another sign
        exact = {float(low): low, float(high): high}

    return brent(value, float(low), float(high), xtol=1e-300, rtol=1e-15)


def first_positive(function: Callable[[float], float], start: float, end: float, factor: float = 2.0) -> float | None:
    """The first of start, start*factor, ... where a function is not negative; None if there is none before an end."""
    place = start
    while function(place) < 0:
        place *= factor
        if not min(start, end) <= place <= max(start, end):
            return None
    return place


def _subdivided(functions: _ValueAndSlope, first: _Row, last: _Row, depth: int = 0) -> list[_Row]:
    """The rows of a cell, divided where the slope is large enough for the function to reach zero inside."""
    (a, (value_a, slope_a)), (b, (value_b, slope_b)) = first, last
    steepest = max(abs(float(slope_a.mid())), abs(float(slope_b.mid())))
    width = math.log(b / a)
    secant = float((value_b - value_a).mid()) / width
    ratios = [float(slope.mid()) / secant for slope in (slope_a, slope_b)] if secant else [0.0]
    if depth and all(1 / _STRAIGHT < ratio < _STRAIGHT for ratio in ratios):  # it has one zero at most
        return [first, last]
    nearest = min(abs(float(value_a.mid())), abs(float(value_b.mid())))
    if depth == _MAX_HALVINGS or not steepest * width * _MARGIN >= nearest:
        return [first, last]
    k = sp.Rational(round(math.sqrt(a * b) * 10**15), 10**15)
    middle = (k, functions(k))
    if not sign(middle[1][0]):
        return [first, last]
    left, right = (_subdivided(functions, *ends, depth + 1) for ends in ((first, middle), (middle, last)))
    return [*left[:-1], *right]


def value_with_sign(function: Function, k: sp.Rational) -> arb:
    """A value with its sign, if a reasonable precision gives it."""
    for bits in BITS:
        value = function(k, bits)
        if sign(value):
            break
    return value


def _clear_value(function: Function, k: sp.Rational, level: int) -> tuple[arb, int]:
    """A value with its first digit, if a reasonable precision gives it, and the precision to begin with beside it.

    Precisions are places in ``BITS``, from ``level`` on.
    """
    for used in range(level, len(BITS)):
        value = function(k, BITS[used])
        spare = value.rel_accuracy_bits() - _CLEAR_BITS
        if spare >= 0:
            break
    return value, used - 1 if used and spare > BITS[used] - BITS[used - 1] else used


def sign(value: arb | float) -> int:
    """1, -1, or 0 if the ball does not say."""
    return 1 if value > 0 else -1 if value < 0 else 0
