"""What code generation knows of the functions in an average; the rooms that derive averages make them.

Where a smooth function changes, nodes crowd: tanh(a*(z - 2)) does at 2, whatever its scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import Field
from typing import ClassVar, Protocol

import sympy as sp

from ...core.symbols import z
from ...functions.floats.float_averages import Pieces
from ...functions.function_record import record_of

_FLAT = sp.sin, sp.cos  # change everywhere alike
_FAR = 8  # standard deviations at K = 1, where a normal law still has mass that growth brings up
_STEEP = 8  # changes of the argument in one such deviation, at 0 too: tanh(100*z) had no module
_NARROW = 3  # distance from 0 in units of a change: of tanh(z - 4), 4, series and plane sums are nan near C = K


class PiecewiseIntegrand(Pieces, Protocol):
    """A real function of z, smooth between increasing breakpoints; a data class."""

    __dataclass_fields__: ClassVar[dict[str, Field]]

    @property
    def jumps(self) -> tuple[sp.Expr, ...]:
        """Value on the right minus value on the left, at every breakpoint."""

    @property
    def is_continuous(self) -> bool:
        """Whether no breakpoint is a jump."""

    @property
    def has_finite_slopes(self) -> bool:
        """Whether both derivatives at every breakpoint are finite."""

    def part_at(self, point: sp.Expr) -> sp.Expr:
        """The formula that holds at a point that is no breakpoint."""

    def diff(self) -> PiecewiseIntegrand:
        """The derivative away from the breakpoints."""

    def map(self, operation: Callable[..., sp.Expr], *others: PiecewiseIntegrand) -> PiecewiseIntegrand:
        """An operation on this and other functions, between all of their breakpoints."""


def is_polynomial(f: PiecewiseIntegrand) -> bool:
    """Whether a function is a polynomial on each of its pieces."""
    return all(part.is_polynomial(z) for part in f.parts)


def places_of_change(factor: PiecewiseIntegrand) -> tuple[sp.Expr, ...]:
    """The places other than 0 and breakpoints, in order; they may contain parameters.

    They are zeros of the arguments of functions and of bases of powers, vertices of quadratic ones and the centres of
    others, and where the argument of a function is 1 if it is nowhere 0.
    """
    places = dict.fromkeys(place for part in factor.parts for e in sp.preorder_traversal(part) for place in _changes(e))
    others = (place for place in places if not place.is_zero and place not in factor.breaks)
    return tuple(sorted(others, key=sp.default_sort_key))


def is_narrow(factor: PiecewiseIntegrand) -> bool:
    """Whether nodes that are closest around 0 may miss a change of a function elsewhere, or its scale is unknown."""
    if factor.free_symbols:
        return True
    functions = [e for part in factor.parts for e in sp.preorder_traversal(part)]
    changes = [(abs(sp.N(place)), rate) for e in functions for place in _changes(e) for rate in _rates(e, place)]
    return any(distance > _FAR or rate > _STEEP or distance * rate > _NARROW for distance, rate in changes)


def _rates(e: sp.Basic, place: sp.Expr) -> list[sp.Expr]:
    """Inverse lengths on which the argument of a function changes by 1: by its slope, by its curvature."""
    slope, curvature = (abs(sp.N(sp.diff(_argument(e), z, n).subs(z, place))) for n in (1, 2))
    return [slope, sp.sqrt(curvature / 2)]


def _changes(e: sp.Basic) -> Iterator[sp.Expr]:
    """The places of one function."""
    argument = _argument(e)
    if argument is None or not argument.has(z) or isinstance(e, _FLAT):
        return
    if isinstance(e, sp.Pow | sp.log):  # singular where the rest is -offset, near its roots if that is small
        offset, varying = argument.as_independent(z, as_Add=True)
        argument = argument if offset.is_zero else varying / offset
    if argument.is_polynomial(z):
        monic = sp.Poly(argument, z).monic()  # whose coefficients are rational where all others have a common factor
        for factor, _ in sp.Poly(monic.as_expr(), z).factor_list()[1]:
            yield from _roots(factor.as_expr())
    yield from _crossings(argument, sp.Integer(0)) or _crossings(argument, sp.Integer(1))


def _argument(e: sp.Basic) -> sp.Expr | None:
    if isinstance(e, sp.Function) and len(e.args) == 1:
        return e.args[0]
    if isinstance(e, sp.Pow) and isinstance(e.base, sp.Add) and not (e.exp.is_integer and e.exp.is_nonnegative):
        return e.base
    return None


def _roots(u: sp.Expr) -> list[sp.Expr]:
    """Of a linear or quadratic polynomial, the vertex where it has none, or one of two terms; else empty."""
    leading, *lower = sp.Poly(u, z).all_coeffs()
    degree, last = len(lower), lower[-1] if lower else 0
    if degree == 1:
        return [-last / leading]
    if degree == 2:
        apart = sp.sqrt(sp.Max(0, lower[0] ** 2 - 4 * leading * last))
        return list(dict.fromkeys((-lower[0] + side * apart) / (2 * leading) for side in (1, -1)))
    if not degree or any(c != 0 for c in lower[:-1]):
        return []
    root = sp.Abs(last / leading) ** sp.Rational(1, degree)
    return [root, -root] if degree % 2 == 0 else [-sp.sign(last / leading) * root]


def _crossings(u: sp.Expr, value: sp.Expr) -> list[sp.Expr]:
    """Where u has the value: the centre of the roots of a polynomial of high degree; empty if it is not found."""
    if value.is_finite is False:
        return []
    if u.is_polynomial(z):
        leading, following, *others = sp.Poly(u - value, z).all_coeffs()
        places = [-following / ((1 + len(others)) * leading)] if len(others) != 1 else _roots(u - value)
        return [e for e in places if not (e.is_finite is False or e.is_extended_real is False or e.has(sp.I))]
    offset, varying = u.as_independent(z, as_Add=True)
    factor, varying = varying.as_independent(z, as_Add=False)
    value = (value - offset) / factor
    if isinstance(varying, sp.Add):
        return _crossings(varying, value) if varying != u else []
    if isinstance(varying, sp.Pow) and varying.exp.is_positive and value.is_zero:
        return _crossings(varying.base, value)
    record = record_of(varying)
    if record is None or record.inverse is None:
        return []
    value = sp.Abs(value) if isinstance(varying, sp.exp) else value  # a negative factor changes at the same place
    return _crossings(varying.args[0], record.inverse(value))
