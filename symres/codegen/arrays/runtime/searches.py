"""What procedures and curves need: the number of layers, series."""

from __future__ import annotations

from collections.abc import Sequence

from .array_types import Floats


def _layers(depth: float, least: int) -> int:
    """The number of layers, as an integer."""
    if not (depth >= least and depth % 1 == 0):
        raise ValueError(f"depth = {depth} is not a whole number of layers >= {least}")
    return int(depth)


def _chebyshev_series(r: Floats, coefficients: Sequence[float]) -> Floats:
    """A Chebyshev series in r."""
    one, two = 0.0 * r, 0.0 * r
    for c in coefficients[:0:-1]:
        one, two = c + 2.0 * r * one - two, one
    return coefficients[0] + r * one - two
