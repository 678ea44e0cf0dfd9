"""Exponentials of sums: digits that rounding of the exponent costs, a part exp(e) - 1 of the value, are restored."""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K1, K2, C
from .primitives import ExpCosh, ExpCoshm1, ExpSinh, Restored
from .rewrites import bottom_up

_WAVES = (ExpSinh, ExpCosh, ExpCoshm1)


def restored(code: sp.Expr) -> sp.Expr:
    """Code of a pair kernel whose exponentials of K1, K2 and C have all digits."""
    return bottom_up(bottom_up(code, _cosh), _restored)


def _cosh(e: sp.Expr) -> sp.Expr:
    """q*exp(s + d) + q*exp(s - d) -> 2*q*exp(s)*cosh(d)."""
    if not isinstance(e, sp.Add):
        return e
    exponents: dict[sp.Expr, list[sp.Expr]] = {}
    for term in e.args:
        found = [f for f in sp.Mul.make_args(term) if isinstance(f, sp.exp)]
        if len(found) == 1 and found[0].has(C):
            q = sp.Mul(*(f for f in sp.Mul.make_args(term) if f is not found[0]))
            exponents.setdefault(q, []).append(found[0].args[0])
    for q, listed in exponents.items():
        if len(listed) == 2:
            u, v = sorted(listed, key=sp.default_sort_key)
            total, difference = sp.expand((u + v) / 2), sp.expand((u - v) / 2)
            if not total.has(C):
                e += 2 * q * ExpCosh(total, difference) - q * sp.exp(u) - q * sp.exp(v)
    return e


def _restored(e: sp.Expr) -> sp.Expr:
    if not isinstance(e, _WAVES):
        return e
    parts = sp.Add.make_args(sp.expand(e.args[0]))
    sides = [{*part.free_symbols} & {K1, K2} for part in parts]
    return Restored(e, *parts, e.args[1]) if sides in ([{K1}, {K2}], [{K2}, {K1}]) else e
