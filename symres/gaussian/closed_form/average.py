"""Entry point: the closed form of a Gaussian average, derived and verified, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...activations.symmetries import is_odd
from ...core.errors import NoClosedForm
from ...core.proof import Proof, TermwiseStep
from ...core.symbols import K1, K2, C, K, variables
from ...functions.balls import enclose, value_and_radius
from ...results.quantity import Verification
from ..algebra.canonical import canonical
from ..calculus.expectation import Expectation, Gaussian
from ..calculus.integrand import separate
from ..quadrature.average_ball import average_ball
from .engine import ProductAverage, closed_form, name_coefficients, restore_coefficients, unsigned_coefficients
from .identities import check_identities
from .price_proof import price_proof
from .verification import Enclosure, Values, verify, verify_odd

_BITS = {1: 110, 2: 90}  # precision of the verification
_TOLERANCE = 1e-20  # largest relative deviation that passes
_POINTS = {1: 5, 2: 4}


@dataclass(frozen=True)
class Average:
    """The result of the engine for one average.

    Args:
        expr: the closed form, or the unevaluated average where there is none.
        exact: whether ``expr`` is a closed form.
        proof: the derivation.
        verifications: the comparisons that the closed form passed.
        reason: why there is no closed form.
    """

    expr: sp.Expr
    exact: bool
    proof: Proof
    verifications: tuple[Verification, ...] = ()
    reason: str = ""


def average(integrand: sp.Expr, law: Gaussian) -> Average:
    """Close an average if the engine can, and quadrature and every identity agree.

    Derivatives of an average in means, covariances and parameters are averages again: ``expectation.diff(symbol)``.

    Args:
        integrand: expression in the bound variables ``x1, x2`` with activation atoms.
        law: of the variables.

    Returns:
        The closed form with its proof and verifications, or the unevaluated average with the reason.
    """
    unevaluated, symbols = law.expectation(integrand), _canonical_law(law.dimension)
    try:
        terms = separate(law.shifted(integrand), variables[: law.dimension])
        proofs = [(c, *_verified(factors, symbols)) for c, factors in terms]
    except NoClosedForm as error:
        return Average(unevaluated, False, Proof(unevaluated), reason=error.found)
    covariance_values = {s: value for s, value in zip(symbols, law.covariance, strict=True) if s != value}
    parts = tuple((c, proof) for c, proof, _ in proofs)
    step = TermwiseStep(
        "Gaussian average",
        "Stein's lemma reduces every term to orthant probabilities",
        partial(_assemble, parts=parts, law=covariance_values),
        _combined([(c, proof.result) for c, proof in parts], covariance_values),
        parts=parts,
    )
    return Average(
        step.after, True, Proof(unevaluated, (step,)), _merged_verifications(v for *_, passed in proofs for v in passed)
    )


def _merged_verifications(verifications: Iterable[Verification]) -> tuple[Verification, ...]:
    """One verification for each oracle: all points, and the largest deviation."""
    found: dict[str, Verification] = {}
    for v in verifications:
        known = found.get(v.oracle, Verification(v.oracle, 0, 0.0))
        found[v.oracle] = Verification(v.oracle, known.points + v.points, max(known.worst, v.worst))
    return tuple(found.values())


def _assemble(_: sp.Expr, parts: tuple[tuple[sp.Expr, Proof], ...], law: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Derive every term again."""
    return _combined([(c, proof.replay()) for c, proof in parts], law)


def _combined(results: list[tuple[sp.Expr, sp.Expr]], law: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
    return canonical(sp.Add(*(c * result.subs(law, simultaneous=True) for c, result in results)))


def _canonical_law(dimension: int) -> tuple[sp.Symbol, ...]:
    if dimension not in (1, 2):
        raise NoClosedForm(
            f"an average over {dimension} Gaussian variables",
            "closed forms exist for one and two",
            "write the layer so that a product has fewer Gaussian arguments",
        )
    return (K,) if dimension == 1 else (K1, C, K2)


@lru_cache(maxsize=4096)
def _verified(
    factors: tuple[PiecewiseFunction, ...], law: tuple[sp.Symbol, ...]
) -> tuple[Proof, tuple[Verification, ...]]:
    """The closed form of one product of factors, compared with quadrature at random points and by identities.

    Cached: a pure function of frozen arguments, and the same average occurs in several quantities.
    """
    try:
        proof = closed_form(factors, law)
    except NoClosedForm as error:
        start = ProductAverage(factors, law)
        names = unsigned_coefficients(start)
        if not names:
            raise
        try:  # with symbols for coefficients, the closed form is verified at values of both signs
            general, passed = _verified(name_coefficients(start, names).factors, law)
        except NoClosedForm:
            raise error from None  # the message shows the formula as it was given
        return restore_coefficients(start, names, general), passed
    asked = f"the average of {' * '.join(str(f.as_expr()) for f in factors)}"
    if proof.result == 0 and is_odd(factors):
        return proof, (verify_odd(asked, factors),)
    bits = _BITS[len(factors)]

    def quadrature(values: Values) -> Enclosure:
        numbers = tuple(f.subs(values) for f in factors)
        return value_and_radius(average_ball(numbers, tuple(enclose(values[s], {}, bits) for s in law), bits))

    verification = verify(
        asked,
        proof.result,
        quadrature,
        [*sorted(set().union(*(f.free_symbols for f in factors)), key=str), *law],
        oracle="quadrature",
        points=_POINTS[len(factors)],
        tolerance=_TOLERANCE,
        digits=int(bits / 3.33),
    )
    passed = verification, *check_identities(asked, proof.result, factors, law, bits, _TOLERANCE)
    return replace(proof, again=partial(price_proof, factors, proof.result)) if len(factors) == 2 else proof, passed


__all__ = ["Average", "Expectation", "Gaussian", "average"]
