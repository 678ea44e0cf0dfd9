"""The canonical form: equal closed forms become the same expression, and it looks as in a textbook."""

from __future__ import annotations

import sympy as sp

from ...core.symbols import C_W, C_b, gamma, xi
from ...notation.shortest import symbols
from .from_sympy import Reader, domain_conditions
from .rational_functions import RationalField
from .to_sympy import write_collected

_SCALES = (C_W, C_b, gamma, xi)  # what a layer multiplies averages with: collected, never multiplied out


def canonical(expr: sp.Expr) -> sp.Expr:
    """Write a closed form in its canonical form.

    Sums of products of rational functions, square roots, exp, sin, cos, sinh, cosh, erf, erfc, asin and unknown
    functions are equal if and only if their canonical forms are, as long as the functions' values are independent.

    Args:
        expr: any sympy expression, real on its domain. The signs of factors under square roots are read off from
            the assumptions of its symbols, and where these do not suffice from points where all roots are real.

    Returns:
        The canonical expression; the same text in every process.
    """
    expr = sp.sympify(expr)
    if expr.is_Atom:
        return expr
    field = RationalField(s for s in expr.free_symbols if isinstance(s, sp.Symbol))
    field.restrict(domain_conditions(expr, Reader(field)))
    return write_collected(Reader(field).read(expr), _SCALES)


def textbook(expr: sp.Expr) -> sp.Expr:
    """The canonical form, or the quotient of two canonical forms where one fraction would be twice as long.

    The canonical form has no roots in its denominator; to free a sum of several roots of them takes high powers of it.

    Args:
        expr: as for ``canonical``.

    Returns:
        An expression with the same value; that of 0 is 0.
    """
    divisors: dict[sp.Expr, sp.Expr] = {}
    terms = [sp.fraction(term) for term in sp.Add.make_args(expr)]
    for _, under in terms:
        for base, power in under.as_powers_dict().items():
            if base.is_Add:
                divisors[base] = max(power, divisors.get(base, sp.Integer(0)))
    if not divisors:
        return canonical(expr)
    # sums of fractions under fractions, as a critical C_W brings them in, are seen to vanish over one denominator only
    is_nested = any(not sp.denom(sp.together(base)).is_Rational for base in divisors)
    if is_nested and (flat := sp.together(expr)) != expr:
        forms = textbook(flat), _over(terms, divisors, expr)
        return min(
            forms, key=lambda form: (len(form.free_symbols), symbols(form))
        )  # what cancels is gone in one of them
    return _over(terms, divisors, expr)


def _over(terms: list[tuple[sp.Expr, sp.Expr]], divisors: dict[sp.Expr, sp.Expr], expr: sp.Expr) -> sp.Expr:
    """A sum of fractions over their common denominator, or in canonical form if that is not much longer."""
    common = sp.Mul(*(base**power for base, power in divisors.items()))
    numerator = sp.Add(*(over * (common / under) for over, under in terms))
    quotient = canonical(numerator) / sp.Mul(*(canonical(base) ** power for base, power in divisors.items()))
    if any(len(_radicands(base)) > 1 for base in divisors):
        return quotient
    whole = canonical(expr)
    return quotient if 2 * quotient.count_ops() < whole.count_ops() else whole


def _radicands(expr: sp.Expr) -> set[sp.Expr]:
    """The expressions under the roots."""
    return {p.base for p in expr.atoms(sp.Pow) if p.free_symbols and p.exp.is_Rational and not p.exp.is_Integer}
