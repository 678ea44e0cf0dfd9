"""Rational functions as sums of constants over factors of their denominators: few operations, where that exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from .primitives import AbsNode
from .rounding_error import doubt


def simple_fractions(R: sp.Expr, symbols: Sequence[sp.Symbol]) -> list[tuple[sp.Expr, sp.Expr]] | None:
    """Constants and factors with R = sum of constant/factor; None if there are none.

    Args:
        R: a rational function.
        symbols: its variables; other symbols count as constants.
    """
    over, under = sp.fraction(sp.cancel(R))
    unit, powers = sp.factor_list(under, *symbols)
    if len(powers) < 2 or any(power > 1 for _, power in powers):
        return None
    factors = [factor for factor, _ in powers]
    constants = sp.symbols(f"constant:{len(factors)}", cls=sp.Dummy)
    rest = sp.Mul(*factors)
    total = sp.Add(*(c * sp.cancel(unit * rest / f) for c, f in zip(constants, factors, strict=True)))
    found = sp.solve(sp.Poly(sp.expand(total - over), *symbols).coeffs(), constants, dict=True)
    if len(found) != 1 or set(found[0]) != set(constants):
        return None
    return [(found[0][c], f) for c, f in zip(constants, factors, strict=True) if found[0][c] != 0]


def steadier(one: sp.Expr, other: sp.Expr, points: Sequence[Mapping[sp.Symbol, float]]) -> sp.Expr:
    """The one of two equal expressions whose rounding error is bounded better where it is largest, of some points."""

    def largest(expr: sp.Expr) -> float:
        share = (doubt(expr) / expr).replace(AbsNode, sp.Abs)
        return max((abs(float(share.subs(point))) for point in points), default=0.0)

    return min(one, other, key=largest)
