"""Where a function of a positive number is largest, or 0, looked for from place to place.

The scan begins at the places where problems without large or small numbers are solved. It goes on beyond them as long
as what it has seen says so, up to where numbers end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from ...core.errors import NoClosedForm
from ...numerics.roots.brent import brent

FACTOR = 4.0  # from one place to the next, beyond those of the start
REACH = 1e-12  # the smallest place, in units of the smallest of the start
LARGEST = 1e150  # its square is a finite number
FLAT = 1e-9  # rounding errors of a logarithmic slope are smaller

Function: TypeAlias = Callable[[float], float]
Row: TypeAlias = tuple[float, float]  # a place, and the value there


@dataclass(frozen=True)
class ScannedPlaces:
    """Places, and what a function is there.

    Args:
        rows: in increasing order of places.
    """

    rows: tuple[Row, ...]

    @property
    def tops(self) -> list[tuple[float, float]]:
        """Neighbours between which the values, of a slope, fall below 0."""
        return [(low, high) for (low, left), (high, right) in pairwise(self.rows) if left > 0 >= right]

    @property
    def crossings(self) -> list[tuple[float, float]]:
        """Neighbours whose values have different signs."""
        return [(low, high) for (low, left), (high, right) in pairwise(self.rows) if (left > 0) != (right > 0)]

    def range_of(self, name: str) -> str:
        """In words, where it was looked."""
        return f"between {name} = {self.rows[0][0]:.3g} and {self.rows[-1][0]:.3g}"

    def instead(self, name: str, without: str) -> str:
        """In words, what there is instead of a maximum.

        Args:
            name: of the places.
            without: what is so where the place is 0.
        """
        heights = [slope for _, slope in self.rows]
        if min(heights) > 0:
            how = "it rises throughout"
        elif max(heights) < 0:
            how = f"it falls, and {without} it is largest"
        else:
            how = "it never turns from rising to falling" if any(heights) else "it is constant"
        return f"the response has no interior maximum {self.range_of(name)}: {how}"


def maxima(slope: Function, start: Sequence[float], *, down: bool = True) -> ScannedPlaces:
    """Look for maxima, beyond the first places while the function is seen to be larger there.

    Args:
        slope: ``d log f/d log place``, not finite where numbers end.
        start: the first places, increasing.
        down: whether places below may be looked at.

    Raises:
        NoClosedForm: numbers end everywhere.
    """
    rows = _finite(slope, start)
    above = _outwards(slope, rows[-1], FACTOR, lambda height: height < -FLAT) if rows[-1][1] > 0 else []
    below = _outwards(slope, rows[0], 1 / FACTOR, lambda height: height > 0) if down and rows[0][1] < 0 else []
    beyond = [row for row in above if abs(row[1]) > FLAT]  # where it is flat, signs are those of rounding errors
    return ScannedPlaces((*reversed(list(below)), *rows, *beyond))


def zeros(function: Function, start: Sequence[float]) -> ScannedPlaces:
    """Look for zeros, beyond the first places if there is none between these.

    Args:
        function: not finite where numbers end.
        start: the first places, increasing.

    Raises:
        NoClosedForm: numbers end everywhere.
    """
    found = ScannedPlaces(tuple(_finite(function, start)))
    if found.crossings:
        return found
    first, last = found.rows[0], found.rows[-1]
    other = (lambda value: value <= 0) if first[1] > 0 else (lambda value: value > 0)
    below, above = (list(_outwards(function, row, by, other)) for row, by in ((first, 1 / FACTOR), (last, FACTOR)))
    return ScannedPlaces((*reversed(below), *found.rows, *above))


def root(function: Function, low: float, high: float) -> float:
    """The zero between two places where a function has different signs."""
    return brent(function, low, high, xtol=1e-15 * low, rtol=1e-14)


def number_or_end(function: Function) -> Function:
    """The same function, nan where numbers end."""

    def found(place: float) -> float:
        try:
            with np.errstate(all="ignore"):
                return function(place)
        except (NoClosedForm, OverflowError, ZeroDivisionError):
            return float("nan")

    return found


def _finite(function: Function, places: Sequence[float]) -> list[Row]:
    rows = [(float(place), value) for place in places if np.isfinite(value := function(float(place)))]
    if not rows:
        found = f"there are no finite numbers between {places[0]:.3g} and {places[-1]:.3g}"
        raise NoClosedForm("the response", found, "take smaller kernels, or fewer layers")
    return rows


def _outwards(function: Function, row: Row, factor: float, done: Callable[[float], bool]) -> Iterator[Row]:
    """Places further and further out, until one is found or numbers end."""
    place, value = row
    least = REACH * place
    while least <= place * factor <= LARGEST:
        place *= factor
        value = function(place)
        if not np.isfinite(value):
            return
        yield place, value
        if done(value):
            return
