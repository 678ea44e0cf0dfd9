"""Where a declared formula is infinitely steep, so that chi_perp is infinite: read off its values, not its derivatives.

A jump of 10^-14 makes the average of phi'(z)^2 infinite as a jump of 1 does, but no difference of neighbours in double
precision sees it. The formula itself can be asked at its switching points, at distances and with digits below any
number that can be written in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import mpmath as mp
import sympy as sp

from ...activations.atom import Phi
from ..sampling.random_points import Values
from .numeric_formula import NumericFunction, activation_function, switch_points

_DIGITS = 360  # more than the farthest distance has decades: differences over it keep digits
_STEP = 15  # decades between the distances from a switching point: 10^-300, 10^-315 and 10^-330
_DISTANCES = tuple(-300 - _STEP * k for k in range(3))
_LOST_DIGITS = 15  # digits that a formula may lose
_ROOT = 0.5  # phi ~ |u|^a has an infinite average of phi'^2 up to this a
_EXACT = 1e-9  # error of a


def infinitely_steep(forward: sp.Expr, values: Values) -> bool | None:
    """Whether an activation of a forward equation jumps or rises like a root, which makes chi_perp infinite.

    Near a place where phi ~ |u|^a the average of phi'^2 is that of u^(2a - 2), which is finite for a > 1/2 only.

    Args:
        forward: the forward equation.
        values: numbers of its parameters.

    Returns:
        None if it cannot be told: a formula that has no real value beside one of its switching points.
    """
    return _any(_steep(activation_function(atom, dict(values))) for atom in forward.atoms(Phi))


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = set(answers)
    return True if True in known else None if None in known else False


def _steep(function: NumericFunction) -> bool | None:
    with mp.workdps(_DIGITS):
        return _any(_steep_at(function.precise, b) for b in switch_points(function.expr, function.variable, _DIGITS))


def _steep_at(value: Callable[[mp.mpf], mp.mpf], place: mp.mpf) -> bool | None:
    distances = [(1 + abs(place)) * mp.mpf(10) ** power for power in _DISTANCES]
    left, right = ([value(place + side * distance) for distance in distances] for side in (-1, 1))
    if not all(isinstance(number, mp.mpf | int) for number in (*left, *right)):
        return None
    noise = max(map(abs, (*left, *right))) * mp.mpf(10) ** (_LOST_DIGITS - _DIGITS)
    # what is still between the two sides, where neither has changed as much on the way there, stays
    if abs(left[2] - right[2]) > noise + sum(abs(side[1] - side[2]) for side in (left, right)):
        return True
    return _any(_like_a_root(side, noise) for side in (left, right))


def _like_a_root(values: list[mp.mpf], noise: mp.mpf) -> bool:
    """Whether the values approach their limit with at most the root of the distance."""
    outer, inner = abs(values[0] - values[1]), abs(values[1] - values[2])
    if inner <= noise:
        return False
    return bool(mp.log10(outer / inner) <= (_ROOT + _EXACT) * _STEP)
