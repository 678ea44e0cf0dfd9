"""Factors in parameters alone as one writes them: 1 - gamma^2 for (1 - gamma)(1 + gamma)."""

from __future__ import annotations

import sympy as sp

from ..core.symbols import xi


def tidy_factors(expression: sp.Expr) -> sp.Expr:
    """An expression with (1 - gamma)(1 + gamma) written as 1 - gamma^2, and xi^2/|xi| as |xi|, as one does."""
    return _in_sizes(expression).replace(lambda e: e.is_Mul, _joined)


def _joined(product: sp.Expr) -> sp.Expr:
    factors = dict(f.as_base_exp() for f in product.args)
    for base, exponent in factors.items():
        for s in base.free_symbols if base.is_Add else ():
            if (
                factors.get(s + 1) != exponent
                or base not in (1 - s, s - 1)
                or not (base == 1 - s or exponent.is_Integer)
            ):
                continue
            rest = [f for f in product.args if f not in (base**exponent, (s + 1) ** exponent)]
            return sp.Mul(*((-1) ** exponent,) * (base == s - 1), *rest, (1 - s**2) ** exponent)
    return product


def _in_sizes(expression: sp.Expr) -> sp.Expr:
    """An expression that is even in xi as one in |xi|."""
    if not expression.has(sp.Abs(xi)) or expression.subs(xi, -xi) != expression:
        return expression
    size = sp.Dummy(positive=True)
    return expression.subs(xi, size).subs(size, sp.Abs(xi))
