"""Boxes in which unknown parameters are looked for, and places in them."""

from __future__ import annotations

import math

import sympy as sp

from ...core.errors import DeclarationError
from ...core.scalars import Number, number
from ...core.symbols import gamma

Box = tuple[float, float]
_SIZES = 1e-4, 1e4  # of an unknown parameter without a box
_MANY_SIZES = 100  # times: places of a box with ends farther apart are spread by their logarithms


def box_of(symbol: sp.Symbol | None, ends: tuple[Number, Number] | None) -> Box:
    """Where an unknown is looked for.

    Args:
        symbol: of a layer's parameter; None for others, as K.
        ends: the smaller and the larger one; None for all that the symbol allows.

    Raises:
        DeclarationError: the first end is not below the second.
    """
    if ends is not None:
        low, high = (float(number(end, "an end of a box")) for end in ends)
        if not low < high:
            raise DeclarationError(f"the box from {low:g} to {high:g}", "it is empty", "give the smaller end first")
        return low, high
    if symbol == gamma:
        return 0.0, 1.0
    return _SIZES if symbol is None or symbol.is_nonnegative else (-_SIZES[1], _SIZES[1])


def place_in(box: Box, coordinate: float) -> float:
    """The place of a coordinate between 0 and 1: spread by logarithms where the box has many sizes."""
    low, high = box
    if low > 0 and high / low > _MANY_SIZES:
        return low * (high / low) ** float(coordinate)
    if low < 0 < high and min(-low, high) >= _MANY_SIZES:  # both signs: sizes on either side
        side = 2 * float(coordinate) - 1
        size = _SIZES[0] * (max(-low, high) / _SIZES[0]) ** abs(side)
        return math.copysign(size, side)
    return low + (high - low) * float(coordinate)


def spread(box: Box, count: int) -> list[float]:
    """So many places in a box, not its ends."""
    return [place_in(box, (k + 0.5) / count) for k in range(count)]
