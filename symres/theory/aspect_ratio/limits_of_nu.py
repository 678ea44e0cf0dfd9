"""nu for weak and for strong skip connections: its series around gamma = 0, and its slope at gamma = 1."""

from __future__ import annotations

from dataclasses import replace

import mpmath as mp
import sympy as sp

from ...core.errors import NoClosedForm
from ...core.proof import Proof
from ...core.symbols import gamma
from ...core.words import SeriesRange
from ...functions.balls import evaluate
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...results.quantity import Quantity, Status, Verification
from .geometric_sum import GeometricSum

_DIGITS = 15
_NEAR = sp.Rational(1, 10**3)  # 1 - gamma, where the slope at 1 is compared with values
_CLOSE = 0.02  # largest relative distance there


def expansion(quantity: Quantity, order: int, *, large: bool = False, checked: bool = True) -> Quantity:
    """The series around gamma = 0, or, for gamma -> 1, the first term ``c (1 - gamma^2)``.

    Args:
        quantity: nu.
        order: the highest power of gamma.
        large: whether gamma is near 1.
        checked: both are compared with values.

    Raises:
        NoClosedForm: the covariance at two times has no closed form, or the memory is not gamma.
    """
    body = quantity.body
    if body.has(Expectation):
        raise NoClosedForm(f"an expansion of {quantity.name}", "its averages have no closed form", "use evalf")
    found = _near_one(body) if large else _near_zero(body, order)
    return _expanded(quantity, found, order, large)


def expansion_of_ratio(
    growth: Quantity, quantity: Quantity, order: int, *, large: bool = False, checked: bool = True
) -> Quantity:
    """The expansion of the aspect ratio, from that of nu; see ``expansion``.

    Args:
        growth: nu.
        quantity: the aspect ratio.
        order: the highest power of gamma.
        large: whether gamma is near 1.
        checked: both are compared with values.
    """
    found = expansion(growth, order, large=large, checked=checked)
    symbol = quantity.steps[-1].symbol
    body = quantity.body.xreplace({symbol: found.body})
    body = body if large else sp.series(body, gamma, 0, order + 1).removeO()
    return _expanded(quantity, body, order, large)


def _expanded(quantity: Quantity, body: sp.Expr, order: int, large: bool) -> Quantity:
    """What an expansion says of itself, compared with values."""
    return replace(
        quantity,
        name=f"{quantity.name}_{'asymptotics' if large else 'series'}",
        definition=body,
        body=body,
        status=Status.SERIES,
        steps=(),
        proof=Proof(body),
        reason=SeriesRange("the first term for gamma to 1" if large else f"terms up to gamma**{order}"),
        verifications=(_verified(quantity, body, order, large),),
        expansion=None,
    )


def near_identity(quantity: Quantity) -> sp.Expr | None:
    """The first term of nu for gamma to 1; None where it has no closed form, or nu does not depend on gamma."""
    if quantity.status is Status.UNKNOWN or not quantity.body.has(gamma):
        return None
    try:
        return expansion(quantity, 1, large=True).body
    except NoClosedForm:
        return None


def _near_zero(body: sp.Expr, order: int) -> sp.Expr:
    sums = {s: sp.Add(*(s.term.subs(s.variable, s.start * s.ratio**d) for d in range(order))) for s in _sums(body)}
    return sp.expand(sp.series(body.xreplace(sums), gamma, 0, order + 1).removeO())


def _near_one(body: sp.Expr) -> sp.Expr:
    """``sum_d c(gamma^d)`` becomes ``1/(1 - gamma)`` times the integral of c(r)/r."""
    integrals = {s: _integral(s.term.subs(gamma, 1), s.variable) / (1 - gamma) for s in _sums(body)}
    return sp.limit(sp.factor(body.xreplace(integrals)) / (1 - gamma**2), gamma, 1) * (1 - gamma**2)


def _sums(body: sp.Expr) -> list[GeometricSum]:
    found = sorted(body.atoms(GeometricSum), key=str)
    if any(s.ratio != gamma for s in found):
        raise NoClosedForm("an expansion in gamma", "the weight of the skip connection is not gamma", "use evalf")
    return found


def _integral(term: sp.Expr, r: sp.Symbol) -> sp.Expr:
    """The integral of ``term/r`` from 0 to 1, term by term.

    Raises:
        NoClosedForm: it has no closed form here.
    """
    u = sp.Dummy("u", positive=True)
    merged = (
        canonical(term)
        .xreplace({r: u})
        .replace(
            lambda e: e.is_Mul and sp.sqrt(1 - u) in e.args and sp.sqrt(1 + u) in e.args,
            lambda e: e / (sp.sqrt(1 - u) * sp.sqrt(1 + u)) * sp.sqrt(1 - u**2),
        )
    )
    total = sp.Integer(0)
    for summand in sp.Add.make_args(sp.expand(merged / u)):
        factor, function = summand.as_independent(u, as_Add=False)
        # by parts, and by u = sin(t): minus the integral of log(sin t) over a quarter turn, by Euler
        value = sp.pi * sp.log(2) / 2 if function == sp.asin(u) / u else sp.integrate(function, (u, 0, 1))
        total += factor * value
    if total.has(sp.Integral, sp.oo, sp.nan):
        raise NoClosedForm("nu near gamma = 1", "an integral over the memory has no closed form", "use evalf")
    return total


def _verified(quantity: Quantity, found: sp.Expr, order: int, large: bool) -> Verification:
    """Compare with the value of nu at one gamma.

    Raises:
        NoClosedForm: they differ.
    """
    place = 1 - _NEAR if large else sp.Rational(1, 20)
    expression = quantity.expr
    assert expression is not None
    point = {s: sp.Rational(1, 3) for s in found.free_symbols | expression.free_symbols} | {gamma: place}
    right, expected = evaluate(expression.subs(point), {}, _DIGITS)[0], evaluate(found.subs(point), {}, _DIGITS)[0]
    distance = float(abs(expected / right - 1)) if right else float(abs(expected))
    allowed = _CLOSE if large else float(mp.mpf(100) * mp.mpf(place.p) ** (order + 1) / mp.mpf(place.q) ** (order + 1))
    if distance > allowed:
        raise NoClosedForm(
            f"an expansion of {quantity.name}", f"it differs from values by {distance:.2g}", "report a defect of symres"
        )
    return Verification("values of nu", 1, distance)
