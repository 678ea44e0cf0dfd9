"""Numbers for documents and records."""

from __future__ import annotations

import mpmath as mp
import sympy as sp

from ..core.symbols import gamma
from ..numerics.balls import evaluate


def at_zero_gamma(expr: sp.Expr) -> sp.Expr | None:
    """The expression without a skip connection; None if other symbols remain."""
    value = sp.sympify(expr)
    if gamma in value.free_symbols:  # a long formula takes its time
        value = value.subs(gamma, 0)
    return None if value.free_symbols else value


def decimal(value: sp.Expr, digits: int = 20) -> str:
    """The correctly rounded decimal of a number."""
    value = sp.sympify(value)
    if value.is_Rational or value.is_Float:
        with mp.workdps(digits + 10):
            number = mp.mpf(value.p) / value.q if value.is_Rational else mp.mpf(value._mpf_)
            return _plain(number, digits)
    with mp.workdps(digits + 10):
        found, _ = evaluate(value, {}, digits + 3)
        return _plain(found, digits)


def _plain(number: mp.mpf, digits: int) -> str:
    return mp.nstr(number, digits).removesuffix(".0")
