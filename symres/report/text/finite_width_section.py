"""The part of a page about finite width: how fluctuations grow with depth, and how deep a network may be."""

from __future__ import annotations

import mpmath as mp

from ...results.numbers.growth_curve import OUTPUTS, GrowthCurve, GrowthRow
from ...results.quantity import Quantity
from ...results.report import Report
from .console import Line, Span, line
from .formula_text import Maths
from .sheet import INDENT, Sheet, digits

_GAMMAS = (0.0, 0.5, 0.9)
_DIGITS = 6
_COLUMN = 16
_WIDTH = 512  # of the network whose depth is told
_HEADS = ("gamma", "nu", "r*", f"layers, n = {_WIDTH}")


class FiniteWidthSection(Sheet):
    """What the theory of order 1/n says about deep networks at the critical point.

    Args:
        report: what was derived.
        width: columns.
        maths: how formulas are printed.
    """

    def __init__(self, report: Report, width: int, maths: Maths) -> None:
        super().__init__(width, maths)
        self.report = report

    def lines(self) -> list[Line]:
        """The recursion, nu with its limit, and a table of depths; nothing without a critical point."""
        curve = self.report.growth
        if curve is None:
            return []
        lines = self.rule("Finite width")
        lines += self.wrapped(self.words(self._recursion()), "dim")
        for quantity in self.report.finite_width:
            lines += self._formula(quantity, curve)
        lines += self._table(curve)
        differs = max(abs(row.nu / row.second - 1) for row in curve.rows)
        if differs > 1e-9:
            row = max(curve.rows, key=lambda r: abs(r.nu / r.second - 1) if (r.gamma or 0) <= 0.9 else 0)
            text = (
                "Neurons with a skip connection remember earlier layers. PDLT (B.26) keeps a part of that: "
                f"at gamma = {row.gamma or 0:g} the complete nu is {row.nu / row.second:.3g} times as large"
            )
            lines += self.wrapped(self.words(text), "dim")
        return lines

    def _recursion(self) -> str:
        """What V is, in words."""
        return (
            "V = n E[z_i^2 z_j^2]_c of two neurons grows by nu K^2 a layer at criticality; "
            f"r* = 4/((20 + 3 n_L) nu) is the optimal depth/width, below for n_L = {OUTPUTS}"
        )

    def _formula(self, quantity: Quantity, curve: GrowthCurve) -> list[Line]:
        lines = self.equation(self.name(quantity.name), [self.maths(quantity.body)])
        if quantity.name == "nu" and curve.edge is not None:
            arrow = "→" if self.maths.unicode else "->"
            near = f"{self.maths.symbol('gamma')} {arrow} 1"
            lines += self.equation("", [f"{self.maths(curve.edge)} + ...  for {near}"])
        return lines

    def _table(self, curve: GrowthCurve) -> list[Line]:
        heads = [self.maths.symbol(head) if head in ("gamma", "nu") else head for head in _HEADS]
        rows = [self._row(row) for row in curve.at(*_GAMMAS)]
        if curve.rows[0].gamma is None:
            heads, rows = heads[1:], [row[1:] for row in rows]
        lines = [line(" " * INDENT, Span("".join(head.ljust(_COLUMN) for head in heads).rstrip(), "bold"))]
        return lines + [line(" " * INDENT, "".join(cell.ljust(_COLUMN) for cell in row).rstrip()) for row in rows]

    def _row(self, row: GrowthRow) -> list[str]:
        layers = round(row.aspect_ratio * _WIDTH)
        return [
            f"{row.gamma or 0.0:g}",
            digits(mp.mpf(row.nu), _DIGITS),
            digits(mp.mpf(row.aspect_ratio), _DIGITS),
            str(max(layers, 1)),
        ]
