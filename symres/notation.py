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
    """One formula on one line, without dollar signs."""
    return str(Notation().doprint(shortened(expr, r"\ldots")))


def shortened(expr: sp.Expr, dots: str = "...") -> sp.Expr:
    """The formula with constants of many digits (those of selu) as 8 digits and dots: to be read, not computed.

    Nodes that know their own notation (averages, roots) are left as they are.
    """
    expr = sp.sympify(expr)
    if isinstance(expr, sp.Rational) and len(str(expr.p)) + len(str(expr.q)) > 2 * _LONG:
        symbol = sp.Symbol(f"{sp.Float(abs(expr), 8)}{dots}", positive=True)
        return symbol if expr > 0 else -symbol
    if not expr.args or hasattr(expr, "_ball_arguments"):
        return expr
    arguments = [shortened(a, dots) for a in expr.args]
    return expr if arguments == list(expr.args) else expr.func(*arguments)
