"""Expansions of one-kernel quantities: the exact series around K = 0, and the one for K -> oo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import mpmath as mp
import sympy as sp

from ..balls import evaluate
from ..declare.pieces import Pieces
from ..errors import NoClosedForm, SymresError
from ..gaussian.asymptotics import large_variance
from ..gaussian.expectation import Expectation
from ..gaussian.reach import Truncation
from ..gaussian.series import small_variance
from ..proof import Proof
from ..quantity import Quantity, Status, Verification
from ..symbols import K

_SPARE = 3  # averages stand over up to K**2, and a series is asked for one order more than it is printed
_AHEAD = (2, 6, 14)  # orders in which the terms after the last one are looked for: z + z**7 has none for long
_REFERENCE = sp.Integer(1)  # of every parameter, where the reach of an expansion is found


def expansion(quantity: Quantity, order: int, *, large: bool = False, checked: bool = True) -> Quantity:
    """The expansion of a one-kernel quantity around K = 0 or K = oo, from the integrands of its averages.

    Args:
        quantity: a function of K.
        order: the highest power of K that is kept, of 1/K if it is large.
        large: whether K is.
        checked: whether to compare it with numbers, and to state how far it reaches.

    Raises:
        NoClosedForm: a law that does not vanish with K, or does not grow with it; a function that does not allow an
            expansion; an expansion that differs from numbers.
    """
    for ahead in _AHEAD if checked else (0,):
        terms = powers_of_kernel(_expanded_at_zero(quantity.defined, order + ahead, large))
        if any(e > order for e in terms):
            break
    body = sp.Add(*(value * K ** (-e if large else e) for e, value in sorted(terms.items()) if e <= order))
    reason = f"terms {'down' if large else 'up'} to K**{-order if large else order}"
    verifications: tuple[Verification, ...] = ()
    if checked and not body.has(sp.oo, sp.nan, sp.zoo):
        reach, verifications = _checked(quantity, terms, order, large)
        reason = f"{reason}; {reach}"
    name = "expansion for large K" if large else "series around K = 0"
    return replace(
        quantity,
        name=f"{quantity.name}_{'asymptotics' if large else 'series'}",
        body=body,
        steps=(),
        status=Status.SERIES,
        meaning=f"{name} of: {quantity.meaning}" if quantity.meaning else name,
        reason=reason,
        verifications=verifications,
        proof=Proof(body),
        expansion=None,
    )


def _checked(
    quantity: Quantity, terms: dict[sp.Expr, sp.Expr], order: int, large: bool
) -> tuple[str, tuple[Verification, ...]]:
    """How far an expansion reaches, and its comparison with numbers."""
    defined = quantity.defined
    parameters = sorted(defined.free_symbols - {K}, key=str)
    values = dict.fromkeys(parameters, _REFERENCE)
    signed = {-e if large else e: value.subs(values) for e, value in terms.items()}
    at_reference = defined.subs(values)

    def number(place: sp.Rational, digits: int) -> mp.mpf:
        return evaluate(at_reference.subs(K, place), {}, digits)[0]

    cut = sp.Integer(-order if large else order)
    inside = {e: c for e, c in signed.items() if (e >= cut if large else e <= cut)}
    outside = {e: c for e, c in signed.items() if e not in inside}
    asked = f"the {'large-variance expansion' if large else 'small-variance series'} of {quantity.name}"
    truncation = Truncation(asked, inside, outside, number, large)
    where = f" (at {' = '.join(map(str, parameters))} = {_REFERENCE})" if parameters else ""
    try:
        verification = truncation.verification()
        return truncation.reach() + where, (verification,)
    except NoClosedForm:
        raise
    except SymresError as error:
        found = f"it cannot be compared with numbers{where}: {error.found}"
        raise NoClosedForm(asked, found, "pass checked=False to have it as it is") from None


def _expanded_at_zero(defined: sp.Expr, order: int, large: bool) -> sp.Expr:
    """The expansion in K around 0, where K stands for 1/K if that is small."""
    expander = _Expander(large_variance, True, order) if large else _Expander(small_variance, False, order)
    return _truncated(expander(defined.subs(K, 1 / K) if large else defined, order + _SPARE), order)


@dataclass(frozen=True)
class _Expander:
    """Expands expressions in averages around K = 0.

    Args:
        terms: the expansion of an average in its variance.
        large: whether the variances grow as K vanishes.
        order: wanted, for messages.
    """

    terms: Callable[[Pieces, int], tuple[tuple[sp.Rational, sp.Expr], ...]]
    large: bool
    order: int

    def __call__(self, e: sp.Expr, order: int) -> sp.Expr:
        """The sum of powers of K up to an order."""
        if not e.has(Expectation):
            return e
        if isinstance(e, sp.Pow) and e.exp.is_number:
            return _power(self(e.base, order), e.exp, order)
        if not isinstance(e, Expectation):
            return sp.expand(e.func(*(self(argument, order) for argument in e.args)))
        if e.dimension != 1:
            raise NoClosedForm(
                f"a series of {e}", "it averages over two variables", "take the series of a one-input map"
            )
        law = self._law(e, order)
        total = sp.Integer(0)
        for coefficient, (factor,) in e.terms:
            for power, value in self.terms(factor, order):
                total += coefficient * value * _power(law, power, order)
        return total

    def _law(self, e: Expectation, order: int) -> sp.Expr:
        law = _truncated(sp.expand(self(e.covariance[0], order)), order)
        lowest = min(powers_of_kernel(law), default=sp.oo)
        if self.large and not lowest < 0:
            raise NoClosedForm(f"an expansion of {e}", "its variance does not grow with K", "use numbers for large K")
        if not self.large and not lowest > 0:
            raise NoClosedForm(f"a series of {e}", "its variance does not vanish with K", "set the bias variances to 0")
        return law


def _power(law: sp.Expr, power: sp.Rational, order: int) -> sp.Expr:
    """``law**power`` truncated, for a law c K^m + ...: natural powers by expansion, others by factoring."""
    if power == 0 or law in (K, 1 / K):
        return law**power
    if power.is_Integer and power > 0:
        return _truncated(sp.expand(law**power), order)
    lead = min(powers_of_kernel(law))
    ratio = sp.expand(law / K**lead)
    first = ratio.subs(K, 0)
    rest = sp.expand(ratio / first - 1)
    steps = powers_of_kernel(rest)
    count = int(sp.floor((order - lead * power) / min(steps))) if steps else 0
    binomial, product = sp.Integer(1), sp.Integer(1)
    for j in range(1, count + 1):
        product = _truncated(sp.expand(product * rest), order - lead * power)
        binomial += sp.binomial(power, j) * product
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
