"""Polynomials of two inputs with common factors in front: fewer operations for each pair."""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K1, K2, C, Theta
from ..stable.primitives import determinant
from ..stable.rewrites import bottom_up

PAIR = frozenset({K1, K2, C, Theta, determinant})


def with_common_factors(expr: sp.Expr) -> sp.Expr:
    """The same within a rounding or two: of terms of both inputs, and of those with the determinant."""
    return bottom_up(expr, _gathered)


def _gathered(e: sp.Expr) -> sp.Expr:
    if not isinstance(e, sp.Add) or len(e.args) < 4 or not e.is_polynomial(*PAIR):
        return e
    both = [t for t in e.args if t.has(K1) and t.has(K2)]
    determined = [t for t in e.args if t not in both and t.has(determinant)]
    rest = [t for t in e.args if t not in both and t not in determined]
    return sp.Add(*rest, *(sp.gcd_terms(sp.Add(*some)) for some in (both, determined) if some))
