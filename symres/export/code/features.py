"""Where a smooth function changes, and on what scale: tanh(a*(z - 2)) does at 2, within 1/a."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy as sp

from ...symbols import z

_FLAT = sp.sin, sp.cos  # change everywhere alike
_FAINT = 1e-16  # of the values elsewhere: beside so small a value at 0, tails of the law count


def features(factor: Any) -> tuple[tuple[sp.Expr, ...], sp.Expr]:
    """The places other than 0, numbers in order, and the smallest scale, at most 1; both may contain parameters.

    Functions of linear and quadratic arguments have them, and powers of linear and quadratic polynomials.
    """
    places: list[sp.Expr] = []
    rates: list[sp.Expr] = []
    for part in factor.parts:
        for e in sp.preorder_traversal(part):
            for place, rate in _changes(e, factor.breaks):
                rates.append(rate)
                if place is not None and not place.is_zero and place not in places:
                    places.append(place)
    return tuple(sorted(places, key=sp.default_sort_key)), 1 / sp.Max(1, *rates)


def _changes(e: sp.Basic, breaks: tuple[sp.Expr, ...]) -> Iterator[tuple[sp.Expr | None, sp.Expr]]:
    """(place, rate) of a function: where it changes, unless that is at a break, and the inverse of the scale."""
    argument = _argument(e)
    if argument is None or not argument.is_polynomial(z) or not argument.has(z):
        return
    leading, *rest = sp.Poly(argument, z).all_coeffs()
    if len(rest) > 2:
        return
    place = -rest[0] / (2 * leading if len(rest) == 2 else leading)
    if not isinstance(e, sp.Pow):
        yield place, sp.sqrt(abs(leading)) if len(rest) == 2 else abs(leading)
    elif len(rest) == 2:  # singular at the complex roots
        apart = sp.sqrt(abs(rest[0] ** 2 - 4 * leading * rest[1])) / abs(2 * leading)
        yield place, 1 / apart if not apart.is_zero else sp.Integer(1)
    else:  # singular beyond a break
        yield from ((None, 1 / abs(b - place)) for b in breaks if not (b - place).is_zero)


def _argument(e: sp.Basic) -> sp.Expr | None:
    if isinstance(e, sp.Function) and len(e.args) == 1 and not isinstance(e, _FLAT):
        return e.args[0]
    if isinstance(e, sp.Pow) and isinstance(e.base, sp.Add) and not (e.exp.is_integer and e.exp.is_nonnegative):
        return e.base
    return None


def is_local(factor: Any) -> bool:
    """Whether a smooth function changes around 0 only."""
    return not features(factor)[0]


def faint(factor: Any) -> bool:
    """Whether a function may be much smaller around 0 than elsewhere: it vanishes there, or changes at parameters."""
    places, scale = features(factor)
    if vanishes(factor) or any(place.free_symbols for place in (*factor.breaks, *places)):
        return True
    if factor.free_symbols or not places:
        return False
    beside = [abs(_value(factor, place + side * scale)) for place in places for side in (-1, 1)]
    return bool(abs(_value(factor, sp.Integer(0))) < _FAINT * max(beside))


def _value(factor: Any, place: sp.Expr) -> sp.Expr:
    side = sp.Rational(1, 2**40)  # a break has a part on either side
    return factor.part_at(place + side).subs(z, place).evalf()


def vanishes(factor: Any) -> bool:
    """Whether a function is known to vanish around 0."""
    edges = (-sp.oo, *factor.breaks, sp.oo)
    pieces = zip(edges[:-1], edges[1:], factor.parts, strict=True)
    return any(part == 0 and left.is_extended_negative and right.is_extended_positive for left, right, part in pieces)
