"""The canonical form: equal closed forms become the same expression, and it looks as in a textbook."""

from __future__ import annotations

import sympy as sp

from ..symbols import C_W, C_b, gamma, xi
from .field import Field
from .read import Reader, domain_conditions
from .write import write_collected

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
    field = Field(s for s in expr.free_symbols if isinstance(s, sp.Symbol))
    field.restrict(domain_conditions(expr, Reader(field)))
    return write_collected(Reader(field).read(expr), _SCALES)
