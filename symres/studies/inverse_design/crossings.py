"""Where a function of one number passes zero, or touches it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

Function = Callable[[float], float]
Bracket = tuple[float, float]
_STEPS = 60  # of the search for a change of sign beside an extremum: by golden sections down to 1e-12 of the bracket
_HALVINGS = 30  # towards the end of where a function has values: down to 1e-9 of the distance of two places
_GOLDEN = (math.sqrt(5) - 1) / 2


def brackets(function: Function, places: Sequence[float], values: Sequence[float]) -> list[Bracket]:
    """Intervals with a zero each, in increasing order; both ends are the same where a zero is one of the places.

    Args:
        function: to be asked for more values.
        places: in increasing order.
        values: of the function there; nan where it has none.
    """
    return sorted([*_crossings(places, values), *_beside_extrema(function, places, values)])


def to_the_edges(
    function: Function, places: Sequence[float], values: Sequence[float]
) -> tuple[list[float], list[float]]:
    """More places between those where the function has a value and those where it has none, in increasing order."""
    samples = dict(zip(places, values, strict=True))
    for (a, f), (b, g) in pairwise(zip(places, values, strict=True)):
        if math.isfinite(f) == math.isfinite(g):
            continue
        inside, outside = (a, b) if math.isfinite(f) else (b, a)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            samples[middle] = function(middle)
            inside, outside = (middle, outside) if math.isfinite(samples[middle]) else (inside, middle)
    ordered = sorted(samples)
    return ordered, [samples[place] for place in ordered]


def _crossings(places: Sequence[float], values: Sequence[float]) -> Iterator[Bracket]:
    for (a, f), (b, g) in pairwise(zip(places, values, strict=True)):
        if f == 0:
            yield a, a
        elif f * g < 0:
            yield a, b


def _beside_extrema(function: Function, places: Sequence[float], values: Sequence[float]) -> Iterator[Bracket]:
    """Two brackets beside an extremum between three places that lies on the other side of zero."""
    for k in range(1, len(places) - 1):
        left, middle, right = values[k - 1 : k + 2]
        sizes = abs(left), abs(middle), abs(right)
        if not (left * middle > 0 and middle * right > 0 and sizes[1] == min(sizes) < max(sizes)):
            continue
        above = function if middle > 0 else lambda x: -function(x)
        lowest, height = _minimum(above, places[k - 1], places[k + 1])
        if height < 0:
            yield places[k - 1], lowest
            yield lowest, places[k + 1]
        else:
            yield lowest, lowest


def _minimum(function: Function, a: float, b: float) -> tuple[float, float]:
    """A place between two others and its value: the first that is not positive, else the least."""
    inner = [b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)]
    heights = [function(x) for x in inner]
    for _ in range(_STEPS):
        if min(heights) <= 0 or not all(map(math.isfinite, heights)):
            break
        if heights[0] < heights[1]:
            b = inner[1]
            inner = [b - _GOLDEN * (b - a), inner[0]]
            heights = [function(inner[0]), heights[0]]
        else:
            a = inner[0]
            inner = [inner[1], a + _GOLDEN * (b - a)]
            heights = [heights[1], function(inner[1])]
    least = min(heights)
    return inner[heights.index(least)], least
