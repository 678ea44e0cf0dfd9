"""How formulas are written: LaTeX with the field's names."""

from __future__ import annotations

import sympy as sp
from sympy.printing.latex import LatexPrinter

_NAMES = {"C_W": "C_W", "C_b": "C_b", "K1": "K_1", "K2": "K_2", "n_L": "n_L"}
_SETTINGS = {"inv_trig_style": "full", "parenthesize_super": True, "long_frac_ratio": 2, "fold_short_frac": False}
_LONG = 12  # digits beyond which a rational is shown as a decimal


class Notation(LatexPrinter):
    """sympy's printer with full names of inverse functions, and short decimals for constants with many digits."""

    def __init__(self) -> None:
        super().__init__(dict(_SETTINGS))

    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> str:
        return _NAMES.get(expr.name) or super()._print_Symbol(expr, style)

    def _print_Rational(self, expr: sp.Rational) -> str:
        if len(str(expr.p)) + len(str(expr.q)) <= 2 * _LONG:
            return super()._print_Rational(expr)
        return rf"{sp.Float(expr, 8)}\ldots"


def latex(expr: sp.Expr) -> str:
    """One formula on one line, without dollar signs."""
    return str(Notation().doprint(expr))
