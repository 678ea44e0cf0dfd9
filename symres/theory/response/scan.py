"""Where a function of a positive number is 0, looked for from place to place.

The scan begins at the places where problems without large or small numbers are solved. It goes on beyond them as long
as what it has seen says so, up to where numbers end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, TypeVar

from ...core.errors import NoClosedForm
from ...numerics.brent import brent
from ...numerics.deferred_numpy import np
from ...numerics.highest import _BEYOND, _LARGEST_PLACE, _WIDER, Function, Rows

T = TypeVar("T")
Value: TypeAlias = tuple[float, float]  # a place, and the value there


@dataclass(frozen=True)
class ScannedPlaces:
    """Places, and what a function is there.

    Args:
        rows: in increasing order of places.
    """

    rows: tuple[Value, ...]

    @property
    def crossings(self) -> list[tuple[float, float]]:
        """Neighbours whose values have different signs."""
        return [(low, high) for (low, left), (high, right) in pairwise(self.rows) if (left > 0) != (right > 0)]

    def range_of(self, name: str) -> str:
        """In words, where it was looked."""
        return f"between {name} = {self.rows[0][0]:.3g} and {self.rows[-1][0]:.3g}"


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
    below, above = (list(_outwards(function, row, by, other)) for row, by in ((first, 1 / _WIDER), (last, _WIDER)))
    return ScannedPlaces((*reversed(below), *found.rows, *above))


def root(function: Function, low: float, high: float) -> float:
    """The zero between two places where a function has different signs."""
    return brent(function, low, high, xtol=1e-15 * low, rtol=1e-14)


def number_or_end(function: Function) -> Function:
    """The same function, nan where numbers end."""
    return _or_ended(function, float("nan"))


def rows_of(function: Callable[[float], tuple[float, float]]) -> Rows:
    """The rows of a function that returns a logarithm and its slope, nan where numbers end."""
    both = _or_ended(function, (float("nan"), float("nan")))
    return lambda places: [(place, *both(place)) for place in places]


def _or_ended(function: Callable[[float], T], ended: T) -> Callable[[float], T]:
    def found(place: float) -> T:
        try:
            with np.errstate(all="ignore"):
                return function(place)
        except (NoClosedForm, OverflowError, ZeroDivisionError):
            return ended

    return found


def _finite(function: Function, places: Sequence[float]) -> list[Value]:
    rows = [(float(place), value) for place in places if np.isfinite(value := function(float(place)))]
    if not rows:
        found = f"it is not finite between {places[0]:.3g} and {places[-1]:.3g}"
        raise NoClosedForm("the response", found, "take smaller kernels, or fewer layers")
    return rows


def _outwards(function: Function, row: Value, factor: float, done: Callable[[float], bool]) -> Iterator[Value]:
    """Places further and further out, until one is found or numbers end."""
    place, value = row
    least = place / _BEYOND
    while least <= place * factor <= _LARGEST_PLACE:
        place *= factor
        value = function(place)
        if not np.isfinite(value):
            return
        yield place, value
        if done(value):
            return
