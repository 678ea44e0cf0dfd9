"""Names of what is read: activations that have no module, and symbols for the variances of draws."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ...activations.activation import formula_name
from ...core import symbols
from ...report.text.formula_text import Maths
from ..tracing.run_record import RecordedCall
from .formula_values import DenseUse


def chain_name(calls: Sequence[RecordedCall], formula: sp.Expr) -> str:
    """The name of a chain of operations: that of the innermost module with all of them; of a block, their formula."""
    shared = [module for module in calls[0].inside if all(module in call.inside for call in calls)]
    innermost = shared[-1].module
    if any(True for _ in innermost.children()):
        return formula_name(Maths(unicode=False)(formula))
    return type(innermost).__name__


def numbered(uses: Sequence[DenseUse]) -> dict[sp.Symbol, sp.Symbol]:
    """Symbols for the variances in the order of the model: C_W and C_b, with numbers where there are several draws.

    Of attention C_Q and C_bQ for queries, and so on for K, V and O.
    """
    made: dict[sp.Symbol, sp.Symbol] = {}
    for role in dict.fromkeys(use.role for use in uses):
        alike = [use for use in uses if use.role == role]
        names = ("C_W", "C_b") if role == "W" else (f"C_{role}", f"C_b{role}")
        if role == "W" and len(alike) == 1:
            made |= {alike[0].C_W: symbols.C_W, alike[0].C_b: symbols.C_b}
            continue
        for index, use in enumerate(alike, 1):
            mark = str(index) if len(alike) > 1 else ""
            made[use.C_W] = sp.Symbol(f"{names[0]}{mark}", positive=True)
            made[use.C_b] = sp.Symbol(f"{names[1]}{mark}", nonnegative=True)
    return made
