"""How formulas are written: LaTeX with the field's names."""

from __future__ import annotations

import sympy as sp
from sympy.printing.latex import LatexPrinter

_NAMES = {"C_W": "C_W", "C_b": "C_b", "K1": "K_1", "K2": "K_2", "n_L": "n_L"}
_SETTINGS = {"inv_trig_style": "full", "parenthesize_super": True, "long_frac_ratio": 2, "fold_short_frac": False}
_LONG = 12  # digits beyond which a rational is shown as a decimal


class Notation(LatexPrinter):
    """sympy's printer with full names of inverse functions and the field's symbols."""

    def __init__(self) -> None:
        super().__init__(dict(_SETTINGS))

    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> str:
        return _NAMES.get(expr.name) or super()._print_Symbol(expr, style)


def latex(expr: sp.Expr) -> str:
    """One formula on one line, without dollar signs; constants with many digits (those of selu) are shortened."""
    return str(Notation().doprint(sp.sympify(expr).xreplace(_shortened(expr))))


def _shortened(expr: sp.Expr) -> dict[sp.Expr, sp.Expr]:
    short = {}
    for q in sp.sympify(expr).atoms(sp.Rational):
        if len(str(q.p)) + len(str(q.q)) > 2 * _LONG:
            symbol = sp.Symbol(rf"{sp.Float(abs(q), 8)}\ldots", positive=True)
            short[q] = symbol if q > 0 else -symbol
    return short
