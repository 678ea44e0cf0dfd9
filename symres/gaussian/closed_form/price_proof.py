"""A second proof of a pair average, by Price's theorem: its slope in the covariance and its value at independence.

``d/dC <f(x1) g(x2)> = <f'(x1) g'(x2)>`` and ``<f g> = <f><g>`` at C = 0 determine it. Both right-hand sides are other
averages than the one proved, and the check that a closed form has them is an equality of canonical forms, not of
numbers. It is attempted where it is short: the canonical form knows no relation between S2, Q2 and other functions.
"""

from __future__ import annotations

from functools import partial

import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm
from ...core.proof import Proof, SlopeAndValue, Step
from ...core.symbols import K1, K2, C
from ..algebra.canonical import canonical
from .engine import ProductAverage, closed_form

_MAX_OPERATIONS = 500  # operations in a closed form


def price_proof(factors: tuple[PiecewiseFunction, PiecewiseFunction], claim: sp.Expr) -> Proof | None:
    """Prove a closed form of ``<f(x1) g(x2)>`` with covariance K1, C, K2 again.

    Args:
        factors: f and g.
        claim: the closed form.

    Returns:
        The proof, or None where the slopes jump, do not close, or the proof would be long.
    """
    if sp.count_ops(claim) > _MAX_OPERATIONS or not all(f.is_continuous and f.has_finite_slopes for f in factors):
        return None
    start = ProductAverage(factors, (K1, C, K2))
    try:
        slope, independent = _slope(start), _independent(start)
        _checked_integral((slope, independent), claim)
    except NoClosedForm:
        return None
    return Proof(
        start,
        (
            SlopeAndValue(
                "Price's theorem",
                "d/dC <f(x1) g(x2)> = <f'(x1) g'(x2)>, and <f(x1)> <g(x2)> at C = 0",
                _slope_and_start,
                (slope, independent),
                slope=slope,
                value=independent,
            ),
            Step(
                "integral over C",
                "a function of C with this slope and this value at C = 0",
                partial(_checked_integral, claim=claim),
                claim,
            ),
        ),
    )


def _slope_and_start(average: ProductAverage) -> tuple[sp.Expr, sp.Expr]:
    return _slope(average), _independent(average)


def _slope(average: ProductAverage) -> sp.Expr:
    return closed_form(tuple(f.diff() for f in average.factors), average.covariance).result


def _independent(average: ProductAverage) -> sp.Expr:
    one, other = (closed_form((f,), (k,)).result for f, k in zip(average.factors, (K1, K2), strict=True))
    return canonical(one * other)


def _checked_integral(known: tuple[sp.Expr, sp.Expr], claim: sp.Expr) -> sp.Expr:
    """The claim, if it has the slope and the value at C = 0.

    Raises:
        NoClosedForm: it does not, or the canonical form does not show it.
    """
    slope, independent = known
    for difference in (claim.diff(C) - slope, claim.subs(C, 0) - independent):
        if canonical(difference) != 0:
            raise NoClosedForm(
                f"the integral of {slope} over C", f"{claim} was not recognised as it", "use the proof by Stein's lemma"
            )
    return claim
