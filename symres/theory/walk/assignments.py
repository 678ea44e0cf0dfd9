"""The straight-line list of a walk, and derivatives through it."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

Assignment = tuple[sp.Symbol, sp.Expr]


def total_derivative(result: sp.Expr, assignments: Sequence[Assignment], s: sp.Symbol) -> sp.Expr:
    """d(result)/ds through a straight-line list: forward mode, one derivative per assignment."""
    slopes: dict[sp.Symbol, sp.Expr] = {}

    def through(expression: sp.Expr) -> sp.Expr:
        inner = [expression.diff(t) * slope for t, slope in slopes.items() if slope != 0 and expression.has(t)]
        return sp.Add(expression.diff(s), *inner)

    for symbol, definition in assignments:
        slopes[symbol] = through(definition)
    return through(result)
