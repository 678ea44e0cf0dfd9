"""Fewer operations for each pair: common factors of polynomials, and one division where there were several."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ..planning.common_factors import PAIR, with_common_factors
from ..stable.primitives import GeneratedSymbol
from .levels import Assignment


def economical(results: Sequence[Assignment]) -> list[Assignment]:
    """Assignments that compute the same in fewer operations, each within a rounding or two of what was."""
    names, expressions = zip(*((name, with_common_factors(expr)) for name, expr in results), strict=True)
    inverses = {}
    for number, root in enumerate(_divisors(expressions)):
        inverse = GeneratedSymbol(f"inverse{number}", positive=True)
        inverses[root] = inverse
    before = [(str(inverse), 1 / sp.sqrt(base)) for base, inverse in inverses.items()]
    return [*before, *zip(names, (_multiplied(e, inverses) for e in expressions), strict=True)]


def _divisors(expressions: Sequence[sp.Expr]) -> list[sp.Expr]:
    """The radicands of roots that pairs are divided by more than once."""
    found = [p for e in expressions for p in e.atoms(sp.Pow) if _is_divisor(p) and p.base.free_symbols & PAIR]
    bases = sorted({p.base for p in found}, key=sp.default_sort_key)
    return [base for base in bases if len({p for p in found if p.base == base}) > 1 or _uses(expressions, base) > 1]


def _is_divisor(power: sp.Expr) -> bool:
    return isinstance(power, sp.Pow) and bool(power.exp.is_Rational and power.exp.is_negative and power.exp.q == 2)


def _uses(expressions: Sequence[sp.Expr], base: sp.Expr) -> int:
    """How many products are divided by the root."""
    products = {
        node
        for e in expressions
        for node in sp.preorder_traversal(e)
        if isinstance(node, sp.Mul) and any(_is_divisor(f) and f.base == base for f in node.args)
    }
    return len(products)


def _multiplied(e: sp.Expr, inverses: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    return e.replace(
        lambda p: _is_divisor(p) and p.base in inverses,
        lambda p: inverses[p.base] ** (-2 * p.exp),
    )
