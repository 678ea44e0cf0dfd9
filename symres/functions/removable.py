"""Formulas that are 0/0 at z = 0 as they are written, and have a value there: ``sin(z)/z``, ``z/(exp(z) - 1)``.

As one quotient N/D whose parts both vanish to the order n of D, with ``N = z**n * int_0^1 (1 - t)**(n - 1) N^(n)(t*z)
dt/(n - 1)!`` and D likewise, its values on a convex set around 0 lie in ``N^(n)/D^(n)`` there.
"""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

_MAX_ORDER = 12  # of a zero: the square of a third derivative of sin(z)/z has 8


@lru_cache(maxsize=1024)
def quotient_beside_zero(formula: sp.Expr, variable: sp.Symbol) -> tuple[sp.Expr, sp.Expr] | None:
    """The derivatives of numerator and denominator whose quotient is the value at 0.

    None for a formula that has a value there as it is written, or a pole.
    """
    inverse = (node.base for node in formula.atoms(sp.Pow) if node.exp.is_Integer and node.exp.is_negative)
    if formula.free_symbols != {variable} or not any(base.subs(variable, 0) == 0 for base in inverse):
        return None
    above, below = sp.fraction(sp.together(formula))
    for _ in range(_MAX_ORDER):
        value = below.subs(variable, 0)
        if value.has(sp.nan, sp.zoo, sp.oo) or above.subs(variable, 0).has(sp.nan, sp.zoo, sp.oo):
            return None
        if value != 0:
            return above, below
        if above.subs(variable, 0) != 0:
            return None
        above, below = above.diff(variable), below.diff(variable)
    return None


def value_at_zero(formula: sp.Expr, variable: sp.Symbol) -> sp.Expr:
    """The value at 0, also of a formula that is 0/0 as it is written."""
    quotient = quotient_beside_zero(formula, variable)
    if quotient is None:
        return formula.subs(variable, 0)
    above, below = quotient
    return above.subs(variable, 0) / below.subs(variable, 0)
