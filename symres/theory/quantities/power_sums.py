"""Finite sums of powers of K, with the power up to which each is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ...core.errors import NoClosedForm
from ...functions.ranges import vanishes


@dataclass(frozen=True)
class Powers:
    """``sum of coefficient*K**exponent`` and terms beyond ``K**known``.

    Args:
        terms: exponent -> coefficient without K.
        known: every term up to this exponent is there; infinite for a sum that ends.
    """

    terms: Mapping[sp.Expr, sp.Expr]
    known: sp.Expr = sp.oo

    @cached_property
    def low(self) -> sp.Expr:
        """The lowest exponent that it may have."""
        return min(self.terms, default=self.known)

    def __add__(self, other: Powers) -> Powers:
        total = dict(self.terms)
        for exponent, value in other.terms.items():
            total[exponent] = total.get(exponent, sp.Integer(0)) + value
        return _cut(total, min(self.known, other.known))

    def __mul__(self, other: Powers) -> Powers:
        if sp.oo in (self.low, other.low):  # exactly 0
            return ZERO
        total: dict[sp.Expr, sp.Expr] = {}
        for one, a in self.terms.items():
            for two, b in other.terms.items():
                total[one + two] = total.get(one + two, sp.Integer(0)) + a * b
        return _cut(total, min(self.known + other.low, other.known + self.low))

    @cached_property
    def without_zeros(self) -> Powers:
        """Coefficients multiplied out, without those that are 0 in disguise."""
        expanded = {exponent: sp.expand_mul(value) for exponent, value in self.terms.items()}
        return Powers({e: value for e, value in sorted(expanded.items()) if not vanishes(value)}, self.known)

    def power(self, exponent: sp.Expr, wanted: sp.Expr) -> Powers:
        """The sum to a constant power, infinite series up to K**wanted."""
        if exponent.is_Integer and exponent >= 0:
            result = ONE
            for _ in range(int(exponent)):
                result = result * self
            return result
        law = self.without_zeros
        if not law.terms:
            raise NoClosedForm(f"a power {exponent} in a series", "its base vanishes", "use evalf")
        first = law.terms[law.low]
        front = Powers({law.low * exponent: first**exponent})
        rest = Powers({e - law.low: v / first for e, v in law.terms.items() if e != law.low}, law.known - law.low)
        return front * series(lambda n: sp.binomial(exponent, n), rest.without_zeros, wanted - law.low * exponent)

    def exponential(self, wanted: sp.Expr) -> Powers:
        """The exponential of the sum, up to K**wanted; what decays faster than every power is 0.

        Raises:
            NoClosedForm: it grows faster than every power, or that depends on parameters.
        """
        u = self.without_zeros
        if u.low < 0:
            if u.terms[u.low].is_negative:
                return ZERO
            asked = f"a series of exp({u.terms[u.low]}*K**{u.low})"
            raise NoClosedForm(asked, "it is not a sum of powers of K", "declare the signs of its parameters")
        front = Powers({sp.Integer(0): sp.exp(u.terms.get(sp.Integer(0), sp.Integer(0)))})
        rest = Powers({e: v for e, v in u.terms.items() if e != 0}, u.known)
        return front * series(lambda n: 1 / sp.factorial(n), rest, wanted)


def _cut(terms: Mapping[sp.Expr, sp.Expr], known: sp.Expr) -> Powers:
    return Powers({e: value for e, value in terms.items() if e <= known and value != 0}, known)


def series(coefficient: Callable[[int], sp.Expr], rest: Powers, wanted: sp.Expr) -> Powers:
    """``sum of coefficient(n)*rest**n`` up to K**wanted, for a sum that vanishes with K."""
    if not rest.terms:
        return Powers({sp.Integer(0): coefficient(0)}, rest.known)
    total, power = ZERO, ONE
    for n in range(max(int(sp.floor(wanted / rest.low)), 0) + 1):
        total, power = total + power * Powers({sp.Integer(0): coefficient(n)}), power * rest
    return _cut(total.terms, min(total.known, wanted))


ZERO, ONE = Powers({}), Powers({sp.Integer(0): sp.Integer(1)})
