"""Where a smooth function changes, and on what scale: tanh(50*(z - 2)) does at 2, within 1/50."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ...symbols import z

NARROW = sp.Rational(1, 3)  # on a smaller scale the nodes of smooth functions around 0 are too far apart
_FLAT = sp.sin, sp.cos  # change everywhere alike


def features(factor: Any) -> tuple[tuple[sp.Expr, ...], sp.Expr]:
    """The places other than 0, in order, and the smallest scale, at most 1.

    Functions of linear and quadratic arguments have them, and powers of quadratic polynomials; numbers only.
    """
    places: set[sp.Expr] = set()
    scale = sp.Integer(1)
    for part in factor.parts:
        for e in sp.preorder_traversal(part):
            argument = _argument(e)
            if argument is None or not argument.is_polynomial(z) or argument.free_symbols != {z}:
                continue
            coefficients = sp.Poly(argument, z).all_coeffs()
            if len(coefficients) > 3 or (isinstance(e, sp.Pow) and len(coefficients) < 3):
                continue
            leading, following = coefficients[0], coefficients[1]
            quadratic = len(coefficients) == 3
            places.add(-following / (2 * leading if quadratic else leading))
            scale = min(scale, 1 / (sp.sqrt(abs(leading)) if quadratic else abs(leading)))
    return tuple(sorted(places - {sp.Integer(0)})), scale


def _argument(e: sp.Basic) -> sp.Expr | None:
    if isinstance(e, sp.Function) and len(e.args) == 1 and not isinstance(e, _FLAT):
        return e.args[0]
    if isinstance(e, sp.Pow) and isinstance(e.base, sp.Add) and not e.exp.is_nonnegative:
        return e.base
    return None


def is_local(factor: Any) -> bool:
    """Whether a smooth function changes around 0 only, on no small scale."""
    places, scale = features(factor)
    return not places and bool(scale > NARROW)
