"""The exact engine: a Gaussian average in closed form, with the proof that leads to it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...activations.symmetries import even_part, is_odd
from ...core.errors import NoClosedForm
from ...core.proof import Proof, Rule, Step
from ...core.symbols import variables, z
from ...core.words import Obstruction, Reason
from ...functions.function_record import record_of
from ..algebra.canonical import canonical
from ..algebra.from_sympy import Reader
from ..algebra.radical_forms import UndecidedSign
from ..algebra.rational_functions import Frac, RationalField
from ..algebra.to_sympy import write_terms
from .absolute_moments import MOMENT, half_line_moments
from .orthants import Matrix
from .rational_averages import FRACTION, rational_average
from .stein import average_terms
from .terms import parse_terms


@dataclass(frozen=True)
class ProductAverage:
    """<f_1(x1) f_2(x2) ...> over centred, jointly Gaussian variables: the start of a proof.

    Args:
        factors: one function of each variable.
        covariance: upper triangle, row by row.
    """

    factors: tuple[PiecewiseFunction, ...]
    covariance: tuple[sp.Expr, ...]

    def __str__(self) -> str:
        return _bracket((f.as_expr() for f in self.factors), self.covariance)


@dataclass(frozen=True)
class SignAverage:
    """The same average with every breakpoint written as a sign function.

    Args:
        factors: one expression in ``z`` for each variable, smooth but for sign functions of ``z``.
        covariance: upper triangle, row by row.
    """

    factors: tuple[sp.Expr, ...]
    covariance: tuple[sp.Expr, ...]

    def __str__(self) -> str:
        return _bracket(self.factors, self.covariance)


def closed_form(factors: tuple[PiecewiseFunction, ...], covariance: Sequence[sp.Expr]) -> Proof:
    """The average of a product of functions of jointly Gaussian, centred variables, in closed form.

    Args:
        factors: one function of each variable, each written in ``z``; products of functions of one variable are
            formed by the caller.
        covariance: upper triangle, row by row: ``(K,)`` or ``(K1, C, K2)``; symbols or rational numbers.

    Returns:
        A proof; its result is the canonical closed form.

    Raises:
        NoClosedForm: the engine does not close on this average; the message names the obstacle.
    """
    start = ProductAverage(tuple(factors), tuple(map(sp.sympify, covariance)))
    if len(start.covariance) != len(factors) * (len(factors) + 1) // 2:
        raise NoClosedForm(
            f"an average over {len(factors)} variables",
            f"{len(start.covariance)} entries of the covariance",
            "give the upper triangle row by row",
        )
    try:
        return _close_for_real_parameters(start)
    except NoClosedForm:
        even = take_even_part(start)
        if even != start:
            with suppress(NoClosedForm):
                rule = "the law of -z is that of z: f(z) and (f(z) + f(-z))/2 have one average"
                steps = _close_for_real_parameters(even).steps
                return Proof(start, (Step("even part", rule, take_even_part, even), *steps))
        raise


def _close_for_real_parameters(start: ProductAverage) -> Proof:
    """The closed form; where unknown signs of real parameters prevent it, derived for positive ones and continued."""
    try:
        return _close(start)
    except NoClosedForm:
        positive = _positive_symbols(start)
        if not positive:
            raise
    return _continue_analytically(start, positive)


def _close(start: ProductAverage) -> Proof:
    """The closed form where the signs of all parameters are known, or do not matter."""
    if is_odd(start.factors):
        rule = "the law of -z is that of z, and the integrand changes its sign"
        return Proof(start, (Step("symmetry", rule, vanish_by_symmetry, vanish_by_symmetry(start)),))
    if (moments := absolute_moments(start)) is not None:
        return Proof(start, (Step("absolute moments", MOMENT, absolute_moments, moments),))
    if (fractions := partial_fractions(start)) is not None:
        return Proof(start, (Step("partial fractions", FRACTION, partial_fractions, fractions),))
    signs = telescope(start)
    details: list[str] = []
    try:
        recursion = _average_signs(signs, details)
    except NoClosedForm as error:
        raise NoClosedForm(f"the average {start}", error.found, error.remedy) from None
    except UndecidedSign:
        raise NoClosedForm(
            f"the average {start}", "the sign of a factor under a root is unknown", "declare the parameters' signs"
        ) from None
    result = canonical(recursion)
    if result.has(sp.I):
        raise NoClosedForm(f"the average {start}", "its closed form has complex arguments", "use the numeric value")
    return Proof(
        start,
        (
            Step(
                Rule.BREAKPOINTS,
                "f = (p_first + p_last)/2 + sum_i (p_(i+1) - p_i)/2 * sgn(z - b_i)",
                telescope,
                signs,
            ),
            Step(
                Rule.STEIN,
                "E[z_i F] = mu_i E[F] + sum_j Sigma_ij E[dF/dz_j], down to averages of products of signs",
                average_signs,
                recursion,
                tuple(dict.fromkeys(details)),
            ),
            Step(Rule.CANONICAL, "collected by powers of pi, coefficients factored", canonical, result),
        ),
    )


def _continue_analytically(start: ProductAverage, positive: dict[sp.Symbol, sp.Symbol]) -> Proof:
    """The closed form for positive parameters, which holds for all real ones: both sides are analytic in them."""
    substitute = partial(_renamed, names=positive)
    restore = partial(sp.Expr.xreplace, rule={p: s for s, p in positive.items()})
    names = ", ".join(s.name for s in positive)
    for_positive = _close(substitute(start))
    return Proof(
        start,
        (
            Step("positive parameters", f"for {names} > 0 first", substitute, for_positive.start),
            *for_positive.steps,
            Step(
                "analytic continuation",
                f"the integrand is analytic in {names}: what holds for positive values holds for all real ones",
                restore,
                restore(for_positive.result),
            ),
        ),
    )


def _positive_symbols(average: ProductAverage) -> dict[sp.Symbol, sp.Symbol]:
    """A positive symbol for each real parameter of unknown sign in which the integrand is analytic."""
    breaks = {s for f in average.factors for b in f.breaks for s in b.free_symbols}
    symbols = {s for f in average.factors for s in f.free_symbols}
    positive = {s: sp.Symbol(s.name, positive=True) for s in symbols - breaks if s.is_real and s.is_nonnegative is None}
    return {
        s: positive[s]
        for s in sorted(positive, key=str)
        if positive[s] not in symbols and all(_is_analytic(part, s) for f in average.factors for part in f.parts)
    }


def _is_analytic(expr: sp.Expr, s: sp.Symbol) -> bool:
    """Whether an expression is analytic for all real values of a symbol, as it is written."""
    if not expr.has(s) or expr == s:
        return True
    record = record_of(expr)
    composed = isinstance(expr, sp.Add | sp.Mul) or (record is not None and record.is_analytic)
    power = isinstance(expr, sp.Pow) and ((expr.exp.is_Integer and expr.exp.is_positive) or expr.base.is_positive)
    return bool(composed or power) and all(_is_analytic(argument, s) for argument in expr.args)


def _renamed(average: ProductAverage, names: dict[sp.Symbol, sp.Symbol]) -> ProductAverage:
    return ProductAverage(tuple(f.subs(names) for f in average.factors), average.covariance)


def unsigned_coefficients(average: ProductAverage) -> dict[sp.Expr, sp.Symbol]:
    """A real symbol for each expression in parameters, such as a - 1, whose sign is unknown."""
    found = set().union(*(_unsigned(_collected(part)) for f in average.factors for part in f.parts))
    taken = {s.name for f in average.factors for s in f.free_symbols}
    names = (s for s in sp.numbered_symbols("c", start=1, real=True) if s.name not in taken)
    return dict(zip(sorted(found, key=str), names, strict=False))


def _unsigned(expr: sp.Basic) -> set[sp.Expr]:
    """The largest real sub-expressions without z whose sign is unknown, other than products and powers."""
    if expr.is_Symbol:
        return set()
    whole = isinstance(expr, sp.Expr) and not isinstance(expr, sp.Mul | sp.Pow) and not expr.has(z)
    if whole and expr.is_real and expr.is_nonnegative is None:
        return {expr}
    return set().union(*map(_unsigned, expr.args))


def _collected(expr: sp.Expr) -> sp.Expr:
    """The same, arguments of functions collected by powers of z: erf(a*z - z) is erf((a - 1)*z)."""
    arguments = {u for function in expr.atoms(sp.Function) for u in function.args if u.is_polynomial(z)}
    return expr.xreplace({u: sp.collect(sp.expand(u), z) for u in arguments})


def name_coefficients(average: ProductAverage, names: dict[sp.Expr, sp.Symbol]) -> ProductAverage:
    """The average with symbols for coefficients; the breakpoints stay as they are."""
    factors = (
        PiecewiseFunction(f.breaks, tuple(_collected(part).xreplace(names) for part in f.parts))
        for f in average.factors
    )
    return ProductAverage(tuple(factors), average.covariance)


def restore_coefficients(start: ProductAverage, names: dict[sp.Expr, sp.Symbol], proof: Proof) -> Proof:
    """The closed form of an average, from the one with symbols for coefficients: it holds for all values of these."""
    substitute = partial(name_coefficients, names=names)
    restore = partial(sp.Expr.xreplace, rule={s: e for e, s in names.items()})
    meant = ", ".join(f"{s} = {e}" for e, s in names.items())
    return Proof(
        start,
        (
            Step("names for coefficients", meant, substitute, proof.start),
            *proof.steps,
            Step("coefficients put back", meant, restore, restore(proof.result)),
        ),
        partial(_second_restored, start, names, proof),
    )


def _second_restored(start: ProductAverage, names: dict[sp.Expr, sp.Symbol], proof: Proof) -> Proof | None:
    return None if proof.second is None else restore_coefficients(start, names, proof.second)


def vanish_by_symmetry(average: ProductAverage) -> sp.Expr:
    """Zero, the average of an odd integrand.

    Raises:
        NoClosedForm: the integrand is not odd.
    """
    if not is_odd(average.factors):
        raise NoClosedForm(f"the average {average}", "its integrand is not odd", "use another rule")
    return sp.Integer(0)


def take_even_part(average: ProductAverage) -> ProductAverage:
    """The average of the even part, over one variable."""
    if len(average.factors) > 1:
        return average
    return ProductAverage((even_part(*average.factors),), average.covariance)


def absolute_moments(average: ProductAverage) -> sp.Expr | None:
    """The average of powers of ``|z|`` on each half line; None if it is another one."""
    if len(average.factors) > 1:
        return None
    found = half_line_moments(*average.factors, *average.covariance)
    return None if found is None else canonical(found)


def partial_fractions(average: ProductAverage) -> sp.Expr | None:
    """The average of a quotient of polynomials; None if it is another one."""
    if len(average.factors) > 1:
        return None
    found = rational_average(*average.factors, *average.covariance)
    return None if found is None else canonical(found)


def telescope(average: ProductAverage) -> SignAverage:
    """Write every function as one expression with a sign function for each breakpoint."""
    return SignAverage(tuple(_telescoped(f) for f in average.factors), average.covariance)


def _telescoped(function: PiecewiseFunction) -> sp.Expr:
    parts = function.parts
    total = (parts[0] + parts[-1]) / 2 if len(parts) > 1 else parts[0]
    for b, left, right in zip(function.breaks, parts, parts[1:], strict=False):
        total += sp.expand((right - left) / 2) * sp.sign(z - b)
    return total


def average_signs(average: SignAverage) -> sp.Expr:
    """Stein's recursion, from sign functions to the sum of all terms."""
    return _average_signs(average, [])


def _average_signs(average: SignAverage, details: list[str]) -> sp.Expr:
    symbols = set().union(*(e.free_symbols for e in (*average.factors, *average.covariance))) - {z}
    field = RationalField(symbols)
    covariance = _matrix(average.covariance, len(average.factors), Reader(field))
    field.restrict(_leading_minors(covariance))
    reader = Reader(field)
    terms = [parse_terms(f, reader) for f in average.factors]
    return write_terms(average_terms(terms, covariance, reader, details))


def _matrix(triangle: tuple[sp.Expr, ...], size: int, reader: Reader) -> Matrix:
    entries = []
    for expr in triangle:
        entry = reader.read(expr).rational
        if entry is None:
            raise NoClosedForm(
                "a Gaussian average",
                Reason(f"the covariance {expr}", "is not a rational function", Obstruction.OUTSIDE),
                "use symbols or rationals",
            )
        entries.append(entry)
    place = {pair: k for k, pair in enumerate((i, j) for i in range(size) for j in range(i, size))}
    return tuple(tuple(entries[place[min(i, j), max(i, j)]] for j in range(size)) for i in range(size))


def _leading_minors(matrix: Matrix) -> list[Frac]:
    if len(matrix) == 1:
        return []
    return [matrix[i][i] * matrix[j][j] - matrix[i][j] ** 2 for i in range(len(matrix)) for j in range(i)]


def _bracket(factors: object, covariance: tuple[sp.Expr, ...]) -> str:
    written = [f"({f.subs(z, x)})" for f, x in zip(factors, variables, strict=False)]  # type: ignore[call-overload]
    return f"<{'*'.join(written)}> with covariance {', '.join(map(str, covariance))}"
