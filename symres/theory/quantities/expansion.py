"""Expansions of one-kernel quantities: the exact series around K = 0, and the one for K -> oo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import mpmath as mp
import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm, SymresError
from ...core.proof import Proof
from ...core.symbols import K
from ...core.words import SeriesRange
from ...functions.balls import evaluate
from ...functions.ranges import of_size
from ...gaussian.calculus.expectation import Expectation
from ...gaussian.expansions.puiseux import PuiseuxSeries, composed, expanded
from ...gaussian.expansions.truncation import Truncation
from ...gaussian.expansions.variance_series import large_variance, log_free_order, small_variance
from ...results.quantity import Quantity, Status, Verification
from .closed_forms import closed

T = TypeVar("T")

_DEEPER = 6  # times that averages are expanded to higher orders until enough is known of the whole
_AHEAD = (2, 6, 14)  # orders in which the terms after the last one are looked for: z + z**7 has none for long
_REFERENCE = sp.Integer(1)  # size of every parameter where the reach of an expansion is found


def expansion(quantity: Quantity, order: int, *, large: bool = False, checked: bool = True) -> Quantity:
    """The expansion of a one-kernel quantity around K = 0 or K = oo, from the integrands of its averages.

    Args:
        quantity: a function of K.
        order: the highest power of K that is kept, of 1/K if it is ``large``.
        large: whether K is.
        checked: whether to compare it with numbers, and to state how far it reaches.

    Raises:
        NoClosedForm: a law that does not vanish with K, or does not grow with it; a function that does not allow an
            expansion; an expansion that differs from numbers.
    """
    found = verified_terms(quantity, order, large) if checked else VerifiedTerms(terms_of(quantity, order, large))
    body = sp.Add(*(value * K ** (-e if large else e) for e, value in sorted(found.terms.items())))
    reason = SeriesRange(f"terms {'down' if large else 'up'} to K**{-order if large else order}", found.reach())
    name = "expansion for large K" if large else "series around K = 0"
    return replace(
        quantity,
        name=f"{quantity.name}_{'asymptotics' if large else 'series'}",
        body=body,
        steps=(),
        status=Status.SERIES,
        meaning=f"{name} of: {quantity.meaning}" if quantity.meaning else name,
        reason=reason,
        verifications=found.verifications,
        proof=Proof(body),
        expansion=None,
    )


class VerifiedTerms(NamedTuple):
    """The terms of an expansion."""

    terms: Mapping[sp.Expr, sp.Expr]  # exponents of K, of 1/K if it is large, and coefficients
    verifications: tuple[Verification, ...] = ()  # comparisons with numbers; none where a term is infinite
    reach: Callable[[], str] = str  # how far it is accurate, in words; it takes longer than the comparison


def verified_terms(quantity: Quantity, order: int, large: bool = False) -> VerifiedTerms:
    """The terms of an expansion, as ``terms_of`` has them, compared with numbers.

    Raises:
        NoClosedForm: there are none, or they differ from numbers.
    """
    for ahead in _AHEAD:
        terms = terms_of(quantity, order + ahead, large)
        if any(e > order for e in terms):
            break
    kept = {e: value for e, value in terms.items() if e <= order}
    if any(value.has(sp.oo, sp.nan, sp.zoo) for value in kept.values()):
        return VerifiedTerms(kept)
    defined = quantity.defined
    parameters = sorted(defined.free_symbols - {K}, key=str)
    values = {p: of_size(p, _REFERENCE) for p in parameters}
    at_reference = defined.subs(values)
    where = f" (at {', '.join(f'{p} = {value}' for p, value in values.items())})" if parameters else ""
    asked = f"the {'large-variance expansion' if large else 'small-variance series'} of {quantity.name}"

    def number(place: sp.Rational, digits: int) -> mp.mpf:
        return evaluate(at_reference.subs(K, place), {}, digits)[0]

    inside, outside = (
        {-e if large else e: value.subs(values) for e, value in terms.items() if (e in kept) is is_kept}
        for is_kept in (True, False)
    )
    truncation = Truncation(asked, inside, outside, number, large)

    def compared(compute: Callable[[], T]) -> T:
        try:
            return compute()
        except NoClosedForm:
            raise
        except SymresError as error:
            found = f"it cannot be compared with numbers{where}: {error.found}"
            raise NoClosedForm(asked, found, "pass checked=False to get it unchecked") from None

    return VerifiedTerms(kept, (compared(truncation.verification),), lambda: compared(truncation.reach) + where)


def terms_of(quantity: Quantity, order: sp.Expr | int, large: bool) -> dict[sp.Expr, sp.Expr]:
    """Exponents and coefficients of the expansion in K around 0, in 1/K if K is large; not compared with numbers.

    From the integrands of the averages, or, where one has no expansion (it oscillates), from the closed form.

    Raises:
        NoClosedForm: neither has an expansion in powers of K, or the quantity is unknown.
    """
    if quantity.status is Status.UNKNOWN:
        raise NoClosedForm(f"an expansion of {quantity.name}", f"it is unknown: {quantity.reason}", "take another one")
    try:
        found = _expanded_at_zero(quantity.defined, order, large)
    except NoClosedForm:
        if quantity.status is not Status.EXACT or quantity.expr is None:
            raise
        try:
            found = _expanded_at_zero(quantity.expr, order, large)
        except NoClosedForm:
            found = {}
        if not found:
            raise
    closed_terms = {exponent: closed(value) for exponent, value in found.items()}
    return {exponent: value for exponent, value in closed_terms.items() if value != 0}


def _expanded_at_zero(defined: sp.Expr, order: sp.Expr | int, large: bool) -> dict[sp.Expr, sp.Expr]:
    """The terms of an expression in averages, from averages that are expanded until the whole has the order.

    Raises:
        NoClosedForm: higher orders of its averages do not help.
    """
    averages = _Averages(large_variance, True) if large else _Averages(small_variance, False)
    expression, wanted = defined.subs(K, 1 / K) if large else defined, sp.sympify(order)
    before = -sp.oo
    for _ in range(_DEEPER):
        series = averages.expanded(expression, wanted)
        if series.complete_to >= order:
            return {e: sp.expand_mul(value) for e, value in series.without_zeros.terms.items() if e <= order}
        if series.complete_to == before:
            tails = f"a function has algebraic tails: terms beyond K**{-before} have logarithms"
            raise NoClosedForm(f"an expansion of {defined}", tails, "use evalf")
        before = series.complete_to
        wanted += sp.ceiling(order - before)  # factors such as 1/K**2 make the sums of their partners shorter
    raise NoClosedForm(f"an expansion of {defined}", "its lowest terms cancel", "use evalf")


@dataclass(frozen=True)
class _Averages:
    """Expressions in averages around K = 0, by the expansion of an average in its variance."""

    terms: Callable[[PiecewiseFunction, sp.Expr | int], tuple[tuple[sp.Rational, sp.Expr], ...]]
    large: bool  # whether the variances grow as K vanishes

    def expanded(self, formula: sp.Expr, wanted: sp.Expr) -> PuiseuxSeries:
        """The sum of powers of K, averages and infinite series in it up to K**wanted."""

        def leaf(node: sp.Expr) -> PuiseuxSeries | None:
            if not node.has(K):
                return PuiseuxSeries({sp.Integer(0): node})
            return self._average(node, wanted) if isinstance(node, Expectation) else None

        return expanded(formula, K, wanted, leaf)

    def _average(self, e: Expectation, wanted: sp.Expr) -> PuiseuxSeries:
        """An average over one variable, whose variance vanishes with K, grows as K vanishes, or has a limit."""
        if e.dimension != 1:
            raise NoClosedForm(
                f"a series of {e}", "it averages over two variables", "take the series of a map of one input"
            )
        if e.integrand.has(K):
            raise NoClosedForm(f"a series of {e}", "the averaged function depends on K", "use evalf")
        law = self.expanded(e.covariance[0], wanted).without_zeros
        if law.low == 0 and not law.terms and not self.large:  # all that is seen of the variance is that it vanishes
            limits = (c * value for c, (f,) in e.terms for power, value in self.terms(f, 0) if power == 0)
            return PuiseuxSeries({sp.Integer(0): sp.Add(*limits)}, sp.Integer(0))
        if law.low == 0:
            return self._around(e, law, wanted)
        self._require_end(e, law)
        order = max(int(sp.ceiling(wanted / abs(law.low))), 0)
        total = PuiseuxSeries({})
        for coefficient, (factor,) in e.terms:
            last = min(order, log_free_order(factor)) if self.large else order
            for power, value in self.terms(factor, last):
                total += PuiseuxSeries({sp.Integer(0): coefficient * value}) * law.power(power, wanted)
            total += PuiseuxSeries({}, last * abs(law.low))
        return total

    def _around(self, e: Expectation, law: PuiseuxSeries, wanted: sp.Expr) -> PuiseuxSeries:
        """Taylor's series of an average in its variance, around the limit of that."""
        variance = sp.Dummy("S", positive=True)
        average = Expectation(e.integrand, variance)
        derivative = lambda n: average.diff(variance, n).subs(variance, law.limit) / sp.factorial(n)  # noqa: E731
        return composed(derivative, law.beside_limit, wanted)

    def _require_end(self, e: Expectation, law: PuiseuxSeries) -> None:
        if self.large and not law.low < 0:
            raise NoClosedForm(f"an expansion of {e}", "its variance does not grow with K", "use evalf for large K")
        if not self.large and not law.low > 0:
            raise NoClosedForm(f"a series of {e}", "its variance does not vanish with K", "use evalf")
