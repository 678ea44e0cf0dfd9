"""Exact series of one-kernel quantities around K = 0."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from ..errors import NoClosedForm
from ..gaussian.expectation import Expectation
from ..gaussian.series import small_variance
from ..proof import Proof
from ..quantity import Quantity, Status
from ..symbols import K


def expansion(quantity: Quantity, order: int) -> Quantity:
    """The exact series of a one-kernel quantity around K = 0, from the Taylor coefficients of its integrands.

    Args:
        quantity: a function of K.
        order: the highest power of K that is kept.

    Raises:
        NoClosedForm: a law that does not vanish with K.
    """
    spare = 3  # averages stand over up to K**2, and a series is asked for one order more than it is printed
    body = _truncated(_expanded(quantity.defined, order + spare), order)
    return replace(
        quantity,
        name=f"{quantity.name}_series",
        body=body,
        steps=(),
        status=Status.SERIES,
        reason=f"terms up to K**{order}",
        verifications=(),
        proof=Proof(body),
        expansion=None,
    )


def _expanded(e: sp.Expr, order: int) -> sp.Expr:
    if not e.has(Expectation):
        return e
    if isinstance(e, sp.Pow) and e.exp.is_number:
        return _power(_expanded(e.base, order), e.exp, order)
    if not isinstance(e, Expectation):
        return sp.expand(e.func(*(_expanded(argument, order) for argument in e.args)))
    if e.dimension != 1:
        raise NoClosedForm(f"a series of {e}", "it averages over two variables", "take the series of a one-input map")
    law = _truncated(sp.expand(_expanded(e.covariance[0], order)), order)
    if law.subs(K, 0) != 0:
        raise NoClosedForm(f"a series of {e}", "its variance does not vanish with K", "set the bias variances to 0")
    total = sp.Integer(0)
    for coefficient, (factor,) in e.terms:
        for power, value in small_variance(factor, order):
            total += coefficient * value * _power(law, power, order)
    return total


def _power(law: sp.Expr, power: sp.Rational, order: int) -> sp.Expr:
    """``law**power`` truncated, for a law c K^m + ...: natural powers by expansion, others by factoring."""
    if law == K or power == 0:
        return law**power
    if power.is_Integer and power > 0:
        return _truncated(sp.expand(law**power), order)
    lead = min(powers_of_kernel(law))
    ratio = sp.expand(law / K**lead)
    first = ratio.subs(K, 0)
    rest = sp.expand(ratio / first - 1)
    binomial = sum(sp.binomial(power, j) * rest**j for j in range(order + 1))
    return _truncated(sp.expand(first**power * K ** (lead * power) * sp.expand(binomial)), order)


def powers_of_kernel(e: sp.Expr) -> dict[sp.Expr, sp.Expr]:
    """A finite sum of powers of K as {exponent: coefficient}."""
    found: dict[sp.Expr, sp.Expr] = {}
    for summand in sp.Add.make_args(sp.expand(e)):
        coefficient, power = summand.as_independent(K)
        exponent = sp.Integer(0) if power == 1 else power.as_base_exp()[1]
        found[exponent] = found.get(exponent, sp.Integer(0)) + coefficient
    return {exponent: value for exponent, value in found.items() if value != 0}


def _truncated(e: sp.Expr, order: int) -> sp.Expr:
    return sp.Add(
        *(value * K**exponent for exponent, value in sorted(powers_of_kernel(e).items()) if exponent <= order)
    )
