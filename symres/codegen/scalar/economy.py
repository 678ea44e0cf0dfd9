"""Fewer operations for each pair: common factors of polynomials, and one division where there were several."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import sympy as sp

from ..planning.decomposition import PAIR, with_common_factors
from ..stable.primitives import GeneratedSymbol
from .levels import Assignment


def economical(results: Sequence[Assignment]) -> list[Assignment]:
    """Assignments that compute the same in fewer operations, each within a rounding or two of what was."""
    names, expressions = zip(*((name, with_common_factors(expr)) for name, expr in results), strict=True)
    bases = _divisors(expressions)
    inverses = {base: GeneratedSymbol(f"inverse{number}", positive=True) for number, base in enumerate(bases)}
    before = [(str(inverse), 1 / sp.sqrt(base)) for base, inverse in inverses.items()]
    return [*before, *zip(names, (_multiplied(e, inverses) for e in expressions), strict=True)]


def _divisors(expressions: Sequence[sp.Expr]) -> list[sp.Expr]:
    """The radicands of roots that pairs are divided by more than once: in several products, or to several powers."""
    uses: dict[sp.Expr, set[sp.Expr]] = defaultdict(set)
    for node in (node for e in expressions for node in sp.preorder_traversal(e)):
        for factor in node.args if isinstance(node, sp.Mul) else (node,):
            if _is_divisor(factor) and factor.base.free_symbols & PAIR:
                uses[factor.base].add(node)
    several = [b for b, nodes in uses.items() if max(Counter(isinstance(n, sp.Mul) for n in nodes).values()) > 1]
    return sorted(several, key=sp.default_sort_key)


def _is_divisor(power: sp.Expr) -> bool:
    return isinstance(power, sp.Pow) and bool(power.exp.is_Rational and power.exp.is_negative and power.exp.q == 2)


def _multiplied(e: sp.Expr, inverses: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    return e.replace(
        lambda p: _is_divisor(p) and p.base in inverses,
        lambda p: inverses[p.base] ** (-2 * p.exp),
    )
