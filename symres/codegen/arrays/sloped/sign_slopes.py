"""Averages of products of signs with their derivatives: densities at a jump, and Plackett's identity for the angle."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as xp
from scipy import special

from ..runtime.array_types import Floats
from ..runtime.sign_averages import (
    _OTHERS,
    _conditional_sine,
    _in_parts,
    _legs,
    _of_equal_signs,
    _of_four_signs,
    _of_two_signs,
    _of_two_tails,
)
from .sloped_functions import _sloped


def _of_corner(
    average: Callable[..., Floats], conditional: Callable[[Floats], Floats], turn: float, arguments: Sequence[Floats]
) -> Floats:
    """An average of two variables with jumps, and its derivatives.

    Args:
        average: of thresholds h and k, and of legs x and y of the angle whose sine is the correlation.
        conditional: sqrt(pi/2) times the average of the other variable at a jump, by its side of the corner.
        turn: the density at both jumps is that of the normal law times 2*pi times this.
        arguments: h, k, x, y.
    """

    def value(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
        return _in_parts(average, _within_99(h), _within_99(k), x, y)

    def along(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
        h, k = _within_99(h), _within_99(k)
        return 0.3989422804014327 * xp.exp(-0.5 * h * h) * conditional(0.7071067811865476 * _legs(h, k, x, y)[0])

    def turned(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
        h, k = _within_99(h), _within_99(k)
        leg = _legs(h, k, x, y)[0]
        return turn * xp.exp(-0.5 * (h * h + leg * leg)) / xp.clip(x * x + y * y, 1e-300, None)

    slopes = (
        along,
        lambda h, k, x, y: along(k, h, x, y),
        lambda h, k, x, y: y * turned(h, k, x, y),
        lambda h, k, x, y: -x * turned(h, k, x, y),
    )
    return _sloped(value, slopes, *arguments)


def _within_99(threshold: Floats) -> Floats:
    """A threshold within 99 deviations from 0: nothing is left beyond."""
    return xp.clip(threshold, -99.0, 99.0)


def _two_signs(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
    """The average of two signs, see _of_two_signs."""
    return _of_corner(_of_two_signs, lambda leg: 2.0 * special.erf(leg), 0.6366197723675814, (h, k, x, y))


def _two_tails(h: Floats, k: Floats, x: Floats, y: Floats) -> Floats:
    """The upper tail of the bivariate normal law, see _of_two_tails."""
    return _of_corner(_of_two_tails, lambda leg: -0.5 * special.erfc(leg), 0.15915494309189535, (h, k, x, y))


def _four_signs(*r: Floats) -> Floats:
    """The average of four signs, see _of_four_signs; up to 4e-11 off close to linear dependence."""

    def slope(number: int) -> Callable[..., Floats]:
        """The derivative in a correlation: two variables at zero, and the signs of the others there."""

        def at(*r: Floats) -> Floats:
            inner = xp.arcsin(_conditional_sine(1.0, r[number], *[r[i] for i in _OTHERS[number]]))
            return 0.4052847345693511 * inner / xp.sqrt(xp.clip((1.0 - r[number]) * (1.0 + r[number]), 1e-300, None))

        return at

    return _sloped(lambda *r: _in_parts(_of_four_signs, *r), [slope(number) for number in range(6)], *r)


def _slope_of_equal_signs(r: Floats) -> Floats:
    """The derivative of the average of four signs of equal correlations."""
    inner = xp.arcsin(xp.clip(r / (1.0 + 2.0 * r), -1.0, 1.0))
    return 2.431708407416107 * inner / xp.sqrt(xp.clip((1.0 - r) * (1.0 + r), 1e-300, None))


def _equal_signs(r: Floats) -> Floats:
    """The average of four signs of equal correlations, see _of_equal_signs."""
    return _sloped(lambda r: _in_parts(_of_equal_signs, r), [_slope_of_equal_signs], r)
