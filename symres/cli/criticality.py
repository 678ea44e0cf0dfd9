"""The parts of a page about criticality: points, fixed points, how to initialise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath as mp
import sympy as sp

from ..balls import evaluate
from ..export.decimals import at_zero_gamma
from ..report import PointRow, Report
from ..symbols import C_W, C_b, K, gamma
from ..theory.root import Root
from .breaking import wrap
from .console import Line, Span, line
from .maths import Maths
from .sheet import DIGITS, INDENT, LABEL, Sheet, digits

_VALUE = INDENT + LABEL + DIGITS + 5  # where exact values begin
_STAR = sp.Symbol("K*", positive=True)
_CLASSES = {
    "scale-invariant": "every kernel is a fixed point and is kept from layer to layer",
    "K*=0": "at criticality the kernel decays to zero, slower than exponentially",
    "half-stable": "K* attracts the kernels on one side of it and lets those on the other go",
    "everywhere-critical": "every kernel is critical",
    "unstable": "the critical point repels: kernels flow away from it",
    "none": "no C_W, C_b make both susceptibilities 1 at a fixed point",
    "unknown": "the search for critical points could not decide; the remarks say why",
}


class Criticality(Sheet):
    """Where a deep network neither explodes nor vanishes.

    Args:
        report: what was derived.
        width: columns.
        maths: how formulas are printed.
    """

    def __init__(self, report: Report, width: int, maths: Maths) -> None:
        super().__init__(width, maths)
        self.report = report
        self._numbers: dict[sp.Expr, mp.mpf | None] = {}

    def points(self) -> list[Line]:
        """Every critical point, exactly and as decimals, and the universality class."""
        report = self.report
        lines = self.rule("Criticality")
        if report.critical_points:
            about = "K' = K, and both susceptibilities are 1"
            if any(_free(point) for point in report.critical_points):
                about += f"; decimals at {self.maths.symbol('gamma')} = 0"
            lines += self.wrapped(about, "dim")
        for point in report.critical_points:
            for name, value in (("K*", point.K), ("C_W", point.C_W), ("C_b", point.C_b)):
                lines += self._value(point, name, value)
            lines += [*self.aligned("", Span(_stability(point), "italic")), line("")]
        words = _CLASSES.get(report.universality_class, "")
        if report.universality_class == "none" and report.critical_points:
            words = _CLASSES["unstable"]
        named = f"universality class {report.universality_class}" + (f": {words}" if words else "")
        return lines + self.wrapped(named, "bold")

    def _value(self, point: PointRow, name: str, value: sp.Expr) -> list[Line]:
        """``K*    3.56155281280884    (3 + √17)/2``: a number, and where it comes from."""
        if value == K:
            return self.aligned(name, Span("any"))
        number = self._number(value)
        shown = "" if number is None else digits(number)
        if isinstance(value, Root):
            exact = ["a root, known to any number of digits"]
        elif value.is_Integer:
            exact = [""]
        else:
            exact = wrap(self.maths(value), self.width - _VALUE)
            compact = self._compact(point, name) if len(exact) > 2 else None
            if compact is not None:
                exact = wrap(self.maths(compact), self.width - _VALUE)
        return [
            *self.aligned(name, Span(shown.ljust(_VALUE - INDENT - LABEL)), Span(exact[0])),
            *(line(" " * _VALUE, text) for text in exact[1:]),
        ]

    def _compact(self, point: PointRow, name: str) -> sp.Expr | None:
        """C_W or C_b in averages at K*, where the closed form is long; only if the numbers agree."""
        by_name = {q.name: q for q in self.report.quantities}
        growth, perp = by_name.get("kernel_map"), by_name.get("chi_perp")
        if growth is None or perp is None or growth.steps or perp.steps:
            return None
        weight = (1 - perp.definition.subs(C_W, 0)) / perp.definition.diff(C_W)
        bias = K - growth.definition.subs(C_b, 0)
        exact, general, shown = point.C_W, weight, weight
        if name == "C_b":
            exact, general, shown = point.C_b, bias.subs(C_W, weight), bias
        claimed, derived = self._number(exact), at_zero_gamma(general.subs(K, point.K))
        if claimed is None or derived is None or not _agree(claimed, derived):
            return None
        return shown.subs(K, _STAR)

    def _number(self, value: sp.Expr) -> mp.mpf | None:
        """The value without a skip connection; None if other parameters remain. A root is searched once."""
        if value not in self._numbers:
            exact = at_zero_gamma(value)
            self._numbers[value] = None if exact is None else evaluate(exact, {}, DIGITS + 3)[0]
        return self._numbers[value]

    def fixed_points(self, found: Sequence[Any]) -> list[Line]:
        """The kernels that a layer with given numbers preserves (rows with K, chi_parallel, chi_perp, phase)."""
        lines = self.rule("Fixed points")
        if not found:
            return lines + self.wrapped("no kernel between 1e-6 and 1e6 is preserved")
        columns = ("K", self.name("chi_parallel"), self.name("chi_perp"))
        lines.append(line(" " * INDENT, Span("".join(c.ljust(18) for c in columns).rstrip(), "bold")))
        for row in found:
            shown = ("any" if row.K == K else f"{row.K:.12g}", f"{row.chi_parallel:.12g}", f"{row.chi_perp:.12g}")
            lines.append(line(" " * INDENT, "".join(c.ljust(18) for c in shown), Span(row.phase, "italic")))
        return lines

    def initialisation(self) -> list[Line]:
        """What to write in a training script, at the first critical point that has numbers."""
        for point in self.report.critical_points:
            weight, bias = self._number(point.C_W), self._number(point.C_b)
            if weight is not None and bias is not None:
                break
        else:
            return []
        lines = self.rule("How to initialise")
        at = f", here at {self.maths.symbol('gamma')} = 0" if _free(point) else ""
        biases = f"biases with variance C_b = {digits(bias, 9)}" if bias else "set biases to zero"
        lines += self.wrapped(
            f"Draw weights with variance C_W/fan_in, C_W = {digits(weight, 9)}, and {biases}{at}. In PyTorch:"
        )
        code = [f"torch.nn.init.normal_(m.weight, std=({digits(weight, 9)}/m.in_features)**0.5)"]
        if bias:
            code.append(f"torch.nn.init.normal_(m.bias, std={digits(bias, 9)}**0.5)")
        else:
            code.append("torch.nn.init.zeros_(m.bias)")
        lines += [line("    ", Span(text, "cyan")) for text in code]
        start = None if point.K == K else self._number(point.K)
        if start:
            lines += self.wrapped(
                f"Scale the inputs so that the first preactivations have variance {digits(start, 9)}."
            )
        return lines


def _free(point: PointRow) -> bool:
    return any(gamma in sp.sympify(e).free_symbols for e in (point.C_W, point.C_b))


def _agree(claimed: mp.mpf, derived: sp.Expr) -> bool:
    value, radius = evaluate(derived, {}, DIGITS)
    return bool(abs(value - claimed) <= abs(claimed) * mp.mpf(10) ** (3 - DIGITS) + radius)


def _stability(point: PointRow) -> str:
    return {
        "neutral": "neutral: every kernel is preserved",
        "half-stable": "half-stable: attracts from one side only",
        "marginal": "marginal: its stability is not decided",
    }.get(point.stability, point.stability)
