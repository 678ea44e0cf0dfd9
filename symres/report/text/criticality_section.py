"""The parts of a page about criticality: points, fixed points, how to initialise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import sympy as sp

from ...core.symbols import K, S_in
from ...core.words import counted
from ...functions.roots.root import ImplicitNumber
from ...results.advice.advice import Advice
from ...results.critical_point import CriticalPoint
from ...studies import criticality_summary as summary
from ...theory.criticality.phase import FixedPoint
from .console import Line, Span, line
from .formula_text import wrap
from .sheet import DIGITS, INDENT, LABEL, ReportSection, digits

_MOST_LINES = 5  # of a number's closed form
_INNER = sp.Symbol("S*", positive=True)


def _inner(point: CriticalPoint) -> list[ImplicitNumber]:
    """The variance inside of a layer's averages at a point that is given by it; empty where that is K* itself."""
    return [point.inside] if isinstance(point.inside, ImplicitNumber) and point.inside != point.K else []


class CriticalitySection(ReportSection):
    """Where a deep network neither explodes nor vanishes."""

    @cached_property
    def _column(self) -> int:
        """Where exact values begin: behind the longest number."""
        values = (value for p in self.report.critical_points for value in (p.K, p.C_W, p.C_b) if value != K)
        numbers = (number for number in map(summary.value, values) if number is not None)
        return INDENT + LABEL + max([DIGITS + 5, *(len(digits(number)) + 2 for number in numbers)])

    def points(self) -> list[Line]:
        """Every critical point, exactly and as decimals, and the universality class."""
        report = self.report
        lines = self.rule("Criticality")
        if report.critical_points:
            about = self.words(summary.conditions(report))
            free = filter(summary.is_free, report.critical_points)
            if any(summary.value(p.C_W) is not None for p in free):
                about += f"; decimals at {self.maths.symbol('gamma')} = 0"
            lines += self.wrapped(about, "dim")
        for point in report.critical_points:
            for name, value in (("K*", point.K), ("C_W", point.C_W), ("C_b", point.C_b)):
                on_line = {K: summary.STAR} if point.along == K and value != K else {}  # each K* has a C_W of its own
                lines += self._value(point, name, value.xreplace(on_line))
            if point.along == S_in:
                lines += self.aligned(S_in.name, Span("any, the variance inside of the averages"))
            lines += [
                shown
                for inner in _inner(point)
                for shown in self.aligned(_INNER.name, Span(f"{inner}, the variance inside of the averages"))
            ]
            lines += [shown for text in self._about(point) for shown in self.wrapped(text, "italic", INDENT + LABEL)]
            lines.append(line(""))
        lines += self.wrapped("universality class " + ": ".join(filter(None, summary.class_and_words(report))), "bold")
        if rows := summary.deep(report):
            laws = ", ".join(f"{left} ~ {self.maths(law)}" for left, law in rows)
            lines += [line(" " * INDENT, text) for text in wrap(f"in layer l: {laws}", self.width - INDENT)]
            if (relative := summary.correction(report)) is not None:
                lines += self.wrapped(f"the next order of K, relative to this: {self.maths(relative)}")
            if begins := summary.onset(report):
                lines += self.wrapped(self.words(begins), "dim")
        if report.end:
            kernel, perp = report.end
            lines += self.wrapped(self.words("deep networks end in the kernel K*, with chi_perp there:"))
            lines += self.equation("K*", [self.maths(kernel.expr)], "")
            lines += self.equation(self.name("chi_perp"), [self.maths(perp.expr)], "")
            lines += [row for c in kernel.conditions for row in self.wrapped(f"where {self.maths(c.lhs)} < {c.rhs}")]
        if report.critical_line is not None:
            lines += self.wrapped(self.words("critical line, K' = K and chi_perp = 1:"))
            lines += self.equation("C_b", [self.maths(report.critical_line)], "")
            if parts := summary.weights(report.critical_line_weights):
                lines += self.wrapped("for " + " ".join(p if isinstance(p, str) else self.maths(p) for p in parts))
        elif report.critical_curve is not None:
            lines += self.wrapped(
                self.words("critical line, a point for each kernel K* that is kept: K' = K* and chi_perp = 1:")
            )
            for name, value in zip(("C_W", "C_b"), summary.along(report.critical_curve), strict=True):
                lines += self.equation(name, [self.maths(value)], "")
        if report.line_remark:
            lines += self.wrapped(self.words(report.line_remark))
        return lines

    def _value(self, point: CriticalPoint, name: str, value: sp.Expr) -> list[Line]:
        """``K*    3.56155281280884    (3 + √17)/2``: a number, and where it comes from."""
        if value in (K, point.along):
            return self.aligned(name, Span("any"))
        number = summary.value(value)
        shown = "" if number is None else digits(number)
        if isinstance(value, ImplicitNumber):
            exact = ["a root, computable to any number of digits"]
        elif value.is_Integer:
            exact = [""]
        else:
            value = value.xreplace(dict.fromkeys(_inner(point), _INNER))
            value = summary.in_units(point, "K" if name == "K*" else name) or value
            exact = wrap(self.maths(value), self.width - self._column)
            compact = summary.in_averages(self.report, point, name) if len(exact) > 2 else None
            if compact is not None:
                exact = wrap(self.maths(compact), self.width - self._column)
            if number is not None and len(exact) > _MOST_LINES:
                exact = ["a closed form, too long for a page (--json has it)"]
        return [
            *self.aligned(name, Span(shown.ljust(self._column - INDENT - LABEL)), Span(exact[0])),
            *(line(" " * self._column, text) for text in exact[1:]),
        ]

    def _about(self, point: CriticalPoint) -> list[str]:
        """The stability, and for K* = 0 how fast the kernel gets there."""
        flow, sentences = summary.flow(point), [summary.stability(point)]
        if flow is not None and flow.step == K:
            sentences.append(
                "around 0, K' - K is smaller than every power of K: small kernels are preserved for very many layers, "
                "as in a scale-invariant network"
            )
        elif flow is not None:
            law = f", so K falls like {self.maths(flow.law)} in layer l" if flow.law is not None else ""
            sentences.append(f"around 0, K' = {self.maths(flow.step)} + ...{law}")
        return sentences

    def fixed_points(self, points: Sequence[FixedPoint]) -> list[Line]:
        """The kernels that a layer with given numbers preserves."""
        lines = self.rule("Fixed points")
        if not points:
            return lines + self.wrapped("no kernel between 1e-9 and 1e12 is preserved")
        columns = ("K", self.name("chi_parallel"), self.name("chi_perp"))
        lines.append(line(" " * INDENT, Span("".join(c.ljust(18) for c in columns).rstrip(), "bold")))
        for row in points:
            values = (row.K, row.chi_parallel, row.chi_perp)
            shown = ("any" if v == K else self.maths(sp.oo) if v == math.inf else f"{v:.12g}" for v in values)
            lines.append(line(" " * INDENT, "".join(c.ljust(18) for c in shown), Span(row.phase, "italic")))
        return lines

    def initialisation(self) -> list[Line]:
        """What to write in a training script."""
        advice = self.report.advice
        if advice is None:
            return []
        draw, *reasons = advice.reasons
        title = f"How to initialise {counted(advice.depth, 'layer')} of width {advice.width}"
        lines = self.rule(title) + self.wrapped(self.words(f"{draw} In PyTorch:" if advice.code else draw))
        lines += [line("    ", Span(text, "cyan")) for text in advice.code]
        lines += [shown for text in reasons for shown in self.wrapped(self.words(text))]
        return lines + self._schemes(advice)

    def _schemes(self, advice: Advice) -> list[Line]:
        """What customary schemes do, as a table."""
        if not advice.schemes:
            return []
        rows = [advice.scheme_heads, *advice.schemes]
        widths = [max(len(row[column]) for row in rows) + 3 for column in range(len(rows[0]))]
        head, *shown = ("".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        lines = self.wrapped(self.words(advice.schemes_title))
        return [*lines, line("    ", Span(head, "bold")), *(line("    ", row) for row in shown)]
