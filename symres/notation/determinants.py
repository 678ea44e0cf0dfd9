"""Determinants get a name where a formula is shown: ``1/sqrt(Delta) with Delta = (1 + K1)*(1 + K2) - C**2``."""

from __future__ import annotations

import sympy as sp

from ..core.symbols import K1, K2, C

_PLAIN = K1 * K2 - C**2  # as short as its name


def named(expr: sp.Expr) -> tuple[sp.Expr, list[tuple[sp.Symbol, sp.Expr]]]:
    """Replace the determinants of two-input laws by symbols.

    Args:
        expr: a formula.

    Returns:
        The formula to show, and (symbol, determinant) for each that stands in it, the simplest first. One that is
        short and occurs once has no name.
    """
    occurrences: dict[sp.Expr, int] = {}
    for node in sp.preorder_traversal(expr):
        if isinstance(node, sp.Add) and _is_determinant(node):
            occurrences[node] = occurrences.get(node, 0) + 1
    worth = [d for d, count in occurrences.items() if count > 1 or d != _PLAIN]
    worth.sort(key=lambda d: (sp.count_ops(d), str(d)))
    names = [sp.Symbol("Delta" if len(worth) == 1 else f"Delta{k}", positive=True) for k in range(1, len(worth) + 1)]
    return expr.xreplace(dict(zip(worth, names, strict=True))), list(zip(names, worth, strict=True))


def _is_determinant(node: sp.Add) -> bool:
    """Whether it is a product that grows with both kernels, less a multiple of C**2."""
    if not node.has(K1) or not node.has(K2) or not node.is_polynomial(K1, K2, C):
        return False
    coefficients = sp.Poly(node, C).all_coeffs()
    if len(coefficients) != 3 or coefficients[1] != 0 or not coefficients[0].is_negative:
        return False
    rest = sp.Poly(coefficients[2], K1, K2)
    return rest.degree(K1) == rest.degree(K2) == 1 and all(c.is_positive for c in rest.coeffs())
