"""Where a smooth function changes, and on what scale: tanh(a*(z - 2)) does at 2, within 1/a."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from ...core.symbols import z
from ...functions.function_record import record_of
from .integrands import PiecewiseIntegrand

_FLAT = sp.sin, sp.cos  # change everywhere alike
_FAINT = 1e-16  # of the values elsewhere: beside so small a value at 0, tails of the law count


def features(factor: PiecewiseIntegrand) -> tuple[tuple[sp.Expr, ...], sp.Expr]:
    """The places other than 0, numbers in order, and the smallest scale, at most 1; both may contain parameters.

    Functions of linear and quadratic arguments have them, and powers of linear and quadratic polynomials; where
    parameters occur also other polynomials, and functions of functions.
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
    if argument is None or not argument.has(z):
        return
    degree = sp.degree(argument, z) if argument.is_polynomial(z) else sp.oo
    if degree > 2 or isinstance(e, _FLAT):
        if degree > 1 and e.free_symbols != {z}:
            yield from _elsewhere(e, argument)
        return
    leading, *rest = sp.Poly(argument, z).all_coeffs()
    place = -rest[0] / (2 * leading if len(rest) == 2 else leading)
    has_parameters = e.free_symbols != {z}
    if not isinstance(e, sp.Pow) and not (isinstance(e, sp.log) and has_parameters):
        yield place, sp.sqrt(abs(leading)) if len(rest) == 2 else abs(leading)
        if len(rest) == 2 and has_parameters:
            yield from ((root, abs(argument.diff(z).subs(z, root))) for root in _roots(argument))
    elif len(rest) == 2:  # singular at the complex roots
        apart = sp.sqrt(abs(rest[0] ** 2 - 4 * leading * rest[1])) / abs(2 * leading)
        yield place, sp.sqrt(_times(e)) / apart if not apart.is_zero else sp.Integer(1)
    else:  # singular beyond a break
        yield from ((None, _times(e) / abs(b - place)) for b in breaks if not (b - place).is_zero)


def _times(e: sp.Expr) -> sp.Expr:
    """How often a power multiplies its base, where that is a parameter."""
    return sp.Max(1, abs(e.exp)) if isinstance(e, sp.Pow) and e.exp.free_symbols - {z} else sp.Integer(1)


def _elsewhere(e: sp.Expr, argument: sp.Expr) -> Iterator[tuple[sp.Expr | None, sp.Expr]]:
    """(place, rate) of a function of polynomials of any degree, or of functions: where its argument is 0, or 1."""
    places = [] if isinstance(e, _FLAT) else _crossings(argument, sp.Integer(0)) or _crossings(argument, sp.Integer(1))
    rate = _speed(argument)
    if isinstance(e, sp.Pow):
        relative = argument
        if argument.is_polynomial(z):  # beside its value at the centre of the roots
            level = argument.subs(z, places[0])
            relative = argument.subs(z, z + places[0]) / (1 if level.is_zero else level)
        rate = _speed(_times(e) * relative)
    yield from ((place, rate) for place in places or [None])
    if isinstance(e, sp.Pow | sp.log):  # singular where the rest is -offset, near its roots if that is small
        offset, rest = argument.as_independent(z, as_Add=True)
        argument = argument if offset.is_zero else rest / offset
    if argument.is_polynomial(z):
        yield from _steep(argument)


def _steep(u: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Roots of the factors of a polynomial, and the inverse of the length on which it gets to 1."""
    for factor, power in sp.factor_list(u.as_independent(z, as_Add=False)[1])[1]:
        if factor.has(z):
            for root in _roots(factor):
                yield root, abs(u.diff(z, power).subs(z, root) / sp.factorial(power)) ** sp.Rational(1, power)


def _roots(u: sp.Expr) -> list[sp.Expr]:
    """Of a linear or quadratic polynomial, the vertex where it has none, or one of two terms; else empty."""
    leading, *rest = sp.Poly(u, z).all_coeffs()
    degree, last = len(rest), rest[-1]
    if degree == 1:
        return [-last / leading]
    if degree == 2:
        apart = sp.sqrt(sp.Max(0, rest[0] ** 2 - 4 * leading * last))
        return [(-rest[0] + side * apart) / (2 * leading) for side in (1, -1)]
    if any(c != 0 for c in rest[:-1]):
        return []
    root = sp.Abs(last / leading) ** sp.Rational(1, degree)
    return [root, -root] if degree % 2 == 0 else [-sp.sign(last / leading) * root]


def _crossings(u: sp.Expr, value: sp.Expr) -> list[sp.Expr]:
    """Where u has the value: the centre of the roots of a polynomial of high degree; empty if it is not found."""
    if value.is_finite is False:
        return []
    if u.is_polynomial(z):
        leading, following, *others = sp.Poly(u - value, z).all_coeffs()
        found = [-following / ((1 + len(others)) * leading)] if len(others) != 1 else _roots(u - value)
        return [e for e in found if not (e.is_finite is False or e.is_extended_real is False or e.has(sp.I))]
    offset, rest = u.as_independent(z, as_Add=True)
    factor, rest = rest.as_independent(z, as_Add=False)
    value = (value - offset) / factor
    if isinstance(rest, sp.Add):
        return _crossings(rest, value) if rest != u else []
    if isinstance(rest, sp.Pow) and rest.exp.is_positive and value.is_zero:
        return _crossings(rest.base, value)
    record = record_of(rest)
    if record is None or record.inverse is None:
        return []
    value = sp.Abs(value) if isinstance(rest, sp.exp) else value  # a negative factor changes at the same place
    return _crossings(rest.args[0], record.inverse(value))


def _speed(u: sp.Expr) -> sp.Expr:
    """How fast the argument of a function changes: the largest rate in it, times the factors around that."""
    if u.is_polynomial(z):
        *coefficients, _ = sp.Poly(u, z).all_coeffs()
        return sp.Max(0, *(abs(c) ** sp.Rational(1, n) for n, c in enumerate(coefficients[::-1], 1)))
    factor, rest = u.as_independent(z, as_Add=False)
    if factor != 1:
        power = rest.exp if isinstance(rest, sp.Pow) and rest.exp.is_Integer and rest.exp > 1 else 1
        return abs(factor) ** sp.Rational(1, power) * _speed(rest)
    return sp.Max(0, *map(_speed, u.args))


def _argument(e: sp.Basic) -> sp.Expr | None:
    if isinstance(e, sp.Function) and len(e.args) == 1:
        return e.args[0]
    if isinstance(e, sp.Pow) and isinstance(e.base, sp.Add) and not (e.exp.is_integer and e.exp.is_nonnegative):
        return e.base
    return None


def is_local(factor: PiecewiseIntegrand) -> bool:
    """Whether a smooth function changes around 0 only."""
    return not features(factor)[0]


def may_be_faint_at_zero(factor: PiecewiseIntegrand) -> bool:
    """Whether a function may be much smaller around 0 than elsewhere: it vanishes there, or changes at parameters."""
    places, scale = features(factor)
    if vanishes(factor) or any(place.free_symbols for place in (*factor.breaks, *places)):
        return True
    if factor.free_symbols or not places:
        return False
    beside = [abs(_value(factor, place + side * scale)) for place in places for side in (-1, 1)]
    return bool(abs(_value(factor, sp.Integer(0))) < _FAINT * max(beside))


def _value(factor: PiecewiseIntegrand, place: sp.Expr) -> sp.Expr:
    side = sp.Rational(1, 2**40)  # a break has a part on either side
    return factor.part_at(place + side).subs(z, place).evalf()


def vanishes(factor: PiecewiseIntegrand) -> bool:
    """Whether a function is known to vanish around 0."""
    edges = (-sp.oo, *factor.breaks, sp.oo)
    pieces = zip(edges[:-1], edges[1:], factor.parts, strict=True)
    return any(part == 0 and left.is_extended_negative and right.is_extended_positive for left, right, part in pieces)
