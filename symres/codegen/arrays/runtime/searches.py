"""What procedures and curves need: the zero of a function, the number of layers, series."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .array_types import Floats


def _zero_between(function: Callable[[float], float], a: float, b: float) -> float:
    """The zero between two places where a function has different signs, by Chandrupatla's rule.

    It interpolates with a parabola where that is safe, and halves the interval elsewhere.
    """
    f, g = function(a), function(b)
    if f == 0.0 or g == 0.0:
        return a if f == 0.0 else b
    c, h, share, tiny = a, f, 0.5, 1e-17 * abs(b - a)
    while True:
        x = a + share * (b - a)
        value = function(x)
        if (value > 0.0) == (f > 0.0):
            c, h = a, f
        else:
            c, b, h, g = b, a, g, f
        a, f = x, value
        best = a if abs(f) < abs(g) else b
        least = (tiny + 4e-16 * abs(best)) / abs(b - a) if a != b else 1.0
        if f == 0.0 or least > 0.5:
            return best
        share, position, height = 0.5, (a - b) / (c - b), (f - g) / (h - g)
        if height * height < position and (1.0 - height) ** 2 < 1.0 - position:
            share = f / (g - f) * h / (g - h) + (c - a) / (b - a) * f / (h - f) * g / (h - g)
        share = min(max(share, least), 1.0 - least)


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
