"""Polynomials, and functions that are given by tables of them."""

from __future__ import annotations

from collections.abc import Sequence

from .machine import fma, inlined


@inlined
def three_steps(value: float, u: float, a: float, b: float, c: float) -> float:
    """Three steps of Horner's method in u: coefficients a, b and c behind what the steps before gave."""
    return fma(fma(fma(value, u, a), u, b), u, c)


def piecewise(u: float, edges: Sequence[float], pieces: int, table: Sequence[float], rows: int) -> float:
    """The piecewise Chebyshev polynomial of u (Clenshaw's recursion).

    Args:
        u: the place, from the first edge on; behind the last edge it counts as that.
        edges: increasing, one more than there are pieces.
        pieces: how many there are.
        table: the coefficients, row by row: one row a degree, one column a piece.
        rows: how many there are.
    """
    place = edges[pieces] if u > edges[pieces] else u
    piece: int = 0
    for k in range(1, pieces):
        piece += 1 if place >= edges[k] else 0
    left = edges[piece]
    right = edges[piece + 1]
    t = (2.0 * place - (left + right)) / (right - left)
    high = 0.0
    low = 0.0
    for k in range(rows - 1, 0, -1):
        kept = high
        high = fma(2.0 * t, high, table[k * pieces + piece] - low)
        low = kept
    return fma(t, high, table[piece] - low)
