"""Where a positive function of a positive number is highest: every maximum is compared with the others and the ends.

The function is seen at places on a grid, with its slope there, and looked at more closely where the cubics through
neighbours do not describe it, unless it is too low there to matter. Generated modules contain these functions too,
therefore the names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

Function: TypeAlias = Callable[[float], float]
Row: TypeAlias = tuple[float, float, float]  # a place, the logarithm of the function, the slope of that in log(place)
Rows: TypeAlias = Callable[[Sequence[float]], Iterable[Row]]

_WIDER = 4.0  # from one place to the next, beyond those of the start
_BEYOND = 1e12  # how far beyond the start the function is looked at, in units of the places there
_LARGEST_PLACE = 1e150  # how far where it rises on: the square of this is a finite number
_LEVEL = 1e-9  # rounding errors of a logarithm, and of its slope, are smaller
_NEARLY_CUBIC = 0.02  # of the logarithm, by which a cubic may miss it
_NARROWEST = 1e-4  # of log(place): what changes faster has too many maxima to be told from each other
_NEIGHBOUR = 2.0**-40  # from a place to its neighbour, relative: rounding errors there are others
_SAME_DIGITS = 1e-8  # of a logarithm: where neighbours differ by more than their slope says, digits are lost


def _surveyed(rows_at: Rows, start: Sequence[float], below: bool = True, above: bool = True) -> tuple[list[Row], bool]:
    """What is seen of a function, up to where numbers end, or lose their digits.

    Args:
        rows_at: the rows of some places; logarithm or slope are not finite where there are no numbers.
        start: the first places, increasing.
        below: whether smaller places may be looked at.
        above: whether larger ones may.

    Returns:
        The rows in increasing order of places, and whether they end at one beyond which the function is rough.
    """
    rows = [row for row in _rows_seen(rows_at, start) if _has_numbers(row)]
    if not rows:
        return rows, False
    if below:
        rows = _rows_outwards(rows_at, start[0], 1 / _WIDER, start[0] / _BEYOND)[::-1] + rows
    if above:
        rows += _rows_outwards(rows_at, start[-1], _WIDER, start[-1] * _BEYOND)
        if rows[-1][0] >= start[-1] * _BEYOND / _WIDER and rows[-1][2] > _LEVEL:
            rows += _rows_outwards(rows_at, rows[-1][0], _WIDER, _LARGEST_PLACE)
    return _rows_between(rows_at, rows)


def _rows_seen(rows_at: Rows, places: Sequence[float]) -> list[Row]:
    """The rows of some places, nan where rounding has taken their digits."""
    rows = list(rows_at([*places, *(place * (1 + _NEIGHBOUR) for place in places)]))
    return [
        row if abs(other[1] - row[1]) <= _NEIGHBOUR * abs(row[2]) + _SAME_DIGITS else (row[0], math.nan, math.nan)
        for row, other in zip(rows, rows[len(places) :])
    ]


def _has_numbers(row: Row) -> bool:
    return math.isfinite(row[1]) and math.isfinite(row[2])


def _rows_outwards(rows_at: Rows, place: float, factor: float, end: float) -> list[Row]:
    """Further and further out, until numbers end."""
    count = int(abs(math.log(end / place)) / math.log(_WIDER))
    found: list[Row] = []
    for row in _rows_seen(rows_at, [place * factor ** (k + 1) for k in range(count)]):
        if not _has_numbers(row):
            break
        found.append(row)
    return found


def _rows_between(rows_at: Rows, rows: list[Row]) -> tuple[list[Row], bool]:
    """The rows with others between them; only those before the first place where the function is rough."""
    rough = math.inf
    pending = [(low, high, low[0]) for low, high in zip(rows, rows[1:])]  # and where the undivided interval begins
    while pending:
        highest = max(height for _, height, _ in rows)
        middles = rows_at([math.sqrt(low[0]) * math.sqrt(high[0]) for low, high, _ in pending])
        doubtful = []
        for (low, high, first), middle in zip(pending, middles):
            if not _has_numbers(middle):
                continue
            width = math.log(high[0] / low[0])
            cubic = (low[1] + high[1]) / 2 + width * (low[2] - high[2]) / 8
            missed = abs(middle[1] - cubic)
            if missed > _NEARLY_CUBIC and max(low[1], high[1], middle[1], cubic) + missed > highest:
                doubtful.append((low, middle, high, first))
            else:
                rows.append(middle)
        divided = []
        seen = _rows_seen(rows_at, [middle[0] for _, middle, _, _ in doubtful]) if doubtful else []
        for (low, _, high, first), middle in zip(doubtful, seen):
            if not _has_numbers(middle):
                continue
            rows.append(middle)
            if math.log(high[0] / low[0]) > _NARROWEST:
                divided += [(low, middle, first), (middle, high, first)]
            else:
                rough = min(rough, first)
        pending = [interval for interval in divided if interval[0][0] < rough]
    return sorted(row for row in rows if row[0] <= rough), rough < math.inf


def _highest_maximum(rows_at: Rows, rows: Sequence[Row], zero: Callable[[Function, float, float], float]) -> Row | None:
    """The highest of all maxima between the ends.

    Args:
        rows_at: the rows of some places.
        rows: what was seen of the function.
        zero: of a function between two places.
    """
    brackets = []
    for low, high in zip(rows, rows[1:]):
        if low[2] > 0 >= high[2] and max(low[2], -high[2]) > _LEVEL:
            width = math.log(high[0] / low[0])
            bound = min(low[1] + width * low[2], high[1] - width * high[2])  # of tangents, to which it is concave
            brackets.append((bound, low, high))
    least = max((max(low[1], high[1]) for _, low, high in brackets), default=0.0) - _NEARLY_CUBIC
    tops = []
    for bound, low, high in brackets:
        if bound >= least:
            row = _only_row(rows_at, zero(lambda place: _only_row(rows_at, place)[2], low[0], high[0]))
            if row[1] >= max(low[1], high[1]) - _LEVEL:  # else its slopes have lost their digits
                tops.append(row)
    return max(tops, key=lambda row: row[1], default=None)


def _only_row(rows_at: Rows, place: float) -> Row:
    (row,) = rows_at([place])
    return row


def _instead_of_maximum(rows: Sequence[Row], rough: bool, top: Row | None, name: str, without: str) -> str:
    """What the function has instead of a maximum that is its largest value; an empty text if it has one.

    Args:
        rows: what was seen of it.
        rough: whether it is rough beyond them.
        top: its highest maximum.
        name: of the places.
        without: what is so where the place is 0.
    """
    if not rows:
        return f"the response is 0 or not a finite number at every sampled value of {name}"
    (least, first, _), (most, last, rising) = rows[0], rows[-1]
    span = f"between {name} = {least:.3g} and {most:.3g}"
    hidden = f", and beyond it changes too fast to be followed from {name} to {name}" if rough else ""
    if top is None:
        heights = [height for _, height, _ in rows]
        steps = [after - before for before, after in zip(heights, heights[1:])]
        if max(map(abs, steps), default=0.0) <= _LEVEL:
            how = "it is constant"
        elif min(steps) >= -_LEVEL:
            how = "it rises throughout"
        elif max(steps) <= _LEVEL:
            how = f"it falls, and {without} it is largest"
        else:
            how = "it never turns from rising to falling"
        return f"the response has no interior maximum {span}: {how}{hidden}"
    best = f"the highest maximum of the response {span} is {_as_number(top[1])}, at {name} = {top[0]:.5g}"
    if first >= top[1] - _LEVEL:
        return f"{best}; {without} it is {_as_number(first)}{hidden}"
    if last >= top[1] - _LEVEL:
        return f"{best}; at {name} = {most:.3g} it is {_as_number(last)}{hidden}"
    if rising > _LEVEL and last + rising * math.log(_LARGEST_PLACE / most) > top[1]:
        return f"{best}; for still larger {name}, beyond the range of floating-point numbers, it rises again"
    return best + hidden if rough else ""


def _as_number(logarithm: float) -> str:
    return f"{math.exp(logarithm):.4g}" if abs(logarithm) < 700 else f"exp({logarithm:.5g})"
