"""Functions of one variable as sums of  c * z^n * exp(alpha z^2 + beta z) * prod S:  the input of Stein's recursion.

S stands for a sign or an error function, both written as  S(z) = E_eps sgn(z + shift + eps)  with a Gaussian eps of
variance ``noise`` that is independent of everything: noise 0 is a sign, erf(a z + b) has noise 1/(2 a^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...core.words import Obstruction, Reason
from ...functions.function_record import record_of
from ..algebra.from_sympy import Reader
from ..algebra.radical_forms import Form, exponential
from ..algebra.rational_functions import Frac, accumulate

_LARGEST_POWER = 40  # of a sum: beyond this the terms are too many to be of use


@dataclass(frozen=True)
class SmoothedSign:
    """E sgn(z + shift + eps), eps Gaussian with variance ``noise``."""

    shift: Form
    noise: Frac


@dataclass(frozen=True)
class TermKind:
    """z^power * exp(alpha z^2 + beta z) * product of signs."""

    power: int
    alpha: Frac
    beta: Form
    signs: tuple[SmoothedSign, ...]


Terms = dict[TermKind, Form]


def parse_terms(expr: sp.Expr, reader: Reader) -> Terms:
    """The terms of a function of ``z``.

    Raises:
        NoClosedForm: a function outside the class.
    """
    if not expr.has(z):
        return _monomial(reader, reader.read(expr))
    if expr == z:
        return _monomial(reader, Form.integer(reader.field, 1), 1)
    if isinstance(expr, sp.Add):
        return reduce(_sum, (parse_terms(a, reader) for a in expr.args))
    if isinstance(expr, sp.Mul):
        return reduce(_product, (parse_terms(a, reader) for a in expr.args))
    if isinstance(expr, sp.Pow) and expr.exp.is_Integer and expr.exp > 0:
        if expr.base == z:
            return _monomial(reader, Form.integer(reader.field, 1), int(expr.exp))
        if expr.exp > _LARGEST_POWER:
            raise _unsupported(expr)
        return reduce(_product, [parse_terms(expr.base, reader)] * int(expr.exp))
    if isinstance(expr, sp.exp):
        return _exponential(expr.args[0], reader, Form.integer(reader.field, 1))
    if isinstance(expr, sp.Pow) and not expr.base.has(z):
        return _exponential(expr.exp * sp.log(expr.base), reader, Form.integer(reader.field, 1))
    if isinstance(expr, sp.sin | sp.cos):
        return _oscillation(expr, reader)
    if isinstance(expr, sp.erf | sp.sign):
        return _sign(expr, reader)
    record = record_of(expr)
    if record is None or record.definition is None or not record.is_polynomial:
        raise _unsupported(expr)
    try:
        return parse_terms(record.definition(*expr.args), reader)
    except NoClosedForm:
        raise _unsupported(expr) from None


def _monomial(reader: Reader, value: Form, power: int = 0) -> Terms:
    return {TermKind(power, reader.field.zero, Form.integer(reader.field, 0), ()): value} if value else {}


def _sum(left: Terms, right: Terms) -> Terms:
    result = dict(left)
    for kind, c in right.items():
        accumulate(result, kind, c)
    return {kind: c for kind, c in result.items() if c}


def _product(left: Terms, right: Terms) -> Terms:
    result: Terms = {}
    for k, c in left.items():
        for m, d in right.items():
            kind = TermKind(k.power + m.power, k.alpha + m.alpha, k.beta + m.beta, _multiply_signs(k.signs, m.signs))
            accumulate(result, kind, c * d)
    return {kind: c for kind, c in result.items() if c}


def _multiply_signs(left: tuple[SmoothedSign, ...], right: tuple[SmoothedSign, ...]) -> tuple[SmoothedSign, ...]:
    """Both groups together, equal ones side by side; the square of a sharp sign is 1."""
    groups: dict[SmoothedSign, int] = {}
    for s in (*left, *right):
        groups[s] = groups.get(s, 0) + 1
    # products occur in both orders: sort by a key that does not depend on the order
    ordered = sorted(groups.items(), key=lambda item: (repr(item[0].noise), repr(sorted(map(str, _key(item[0]))))))
    return tuple(s for s, count in ordered for _ in range(count if s.noise else count % 2))


def _key(s: SmoothedSign) -> list[object]:
    return [(mono[1:], c) for mono, c in s.shift.terms.items()]


def _exponential(exponent: sp.Expr, reader: Reader, factor: Form) -> Terms:
    alpha, beta, constant = _quadratic(exponent, reader)
    rational = alpha.rational
    if rational is None:
        raise _unsupported(sp.exp(exponent))
    return {TermKind(0, rational, beta, ()): exponential(constant) * factor}


def _oscillation(expr: sp.Function, reader: Reader) -> Terms:
    alpha, beta, constant = _quadratic(expr.args[0], reader)
    if alpha:
        raise _unsupported(expr)
    field = reader.field
    result: Terms = {}
    half = field.ratio(1, 2)
    for sign in (1, -1):
        turned = Form.imaginary(field) * field.integer(sign)
        weight = Form.of(half) if isinstance(expr, sp.cos) else -turned * half
        result = _sum(result, {TermKind(0, field.zero, beta * turned, ()): exponential(constant * turned) * weight})
    return result


def _sign(expr: sp.Function, reader: Reader) -> Terms:
    field = reader.field
    alpha, slope, shift = _quadratic(expr.args[0], reader)
    square = (slope * slope).rational
    if alpha or not square:
        raise _unsupported(expr)
    direction = reader.written(slope)
    if not (direction.is_positive or direction.is_negative):
        raise NoClosedForm(
            f"the average of {expr}",
            f"the sign of {direction} is unknown (declare symbols that decide it)",
            "declare the parameter with an assumption, for instance positive=True",
        )
    orientation = field.integer(1 if direction.is_positive else -1)
    sharp = isinstance(expr, sp.sign)
    noise = field.zero if sharp else field.ratio(1, 2) / square
    kind = TermKind(0, field.zero, Form.integer(field, 0), (SmoothedSign(shift * slope.inverse(), noise),))
    return {kind: Form.of(orientation)}


def _quadratic(expr: sp.Expr, reader: Reader) -> tuple[Form, Form, Form]:
    """(alpha, beta, constant) of alpha z^2 + beta z + constant."""
    if not expr.is_polynomial(z) or sp.degree(expr, z) > 2:
        raise _unsupported(expr)
    polynomial = sp.Poly(expr, z)
    alpha, beta, constant = (reader.read(sp.sympify(polynomial.coeff_monomial(z**k))) for k in (2, 1, 0))
    return alpha, beta, constant


def _unsupported(expr: sp.Expr) -> NoClosedForm:
    return NoClosedForm(
        "a Gaussian average in closed form",
        Reason(
            str(expr),
            "is not a polynomial, exponential, oscillation, error function or sign of a linear function",
            Obstruction.OUTSIDE,
        ),
        "use the numeric value",
    )
