"""A theory as HTML for notebooks: its formulas for MathJax, everything longer folded."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.display import Fact, folded, heading, listed, preformatted
from ..core.symbols import C_W, C_b
from ..notation import latex
from ..notation.facts import equation
from ..results.report import Report


def theory_in_html(report: Report, title: str, page: str) -> str:
    """The declaration, results, criticality and advice of a theory.

    Args:
        report: what was derived.
        title: a line above.
        page: all of it as plain text, which is folded.
    """
    named = zip(report.formulas, report.heads, strict=True)
    declared = [equation(f"{name}(z)", f"{head}(z)", side) for (name, side), head in named if name != str(side.func)]
    declared += [equation(str(left), latex(left), side) for left, side in report.equations]
    results = "".join(quantity._repr_html_() for quantity in report.quantities)
    parts = [
        heading(title),
        listed(declared),
        folded("Results", results, is_open=True),
        folded(f"Criticality: universality class {report.universality_class}", _criticality(report), is_open=True),
    ]
    if report.advice is not None:
        parts.append(folded(report.advice._title().capitalize(), listed(report.advice._facts())))
    return "".join([*parts, folded("The whole page, as symres derive prints it", preformatted(page))])


def _criticality(report: Report) -> str:
    """Critical points, the line, the laws of the depth, remarks."""
    laws = "" if report.exponents is None else report.exponents._repr_html_()
    points = "".join(point._repr_html_() for point in report.critical_points)
    return points + listed(_line(report)) + laws + listed(Fact("", remark) for remark in report.remarks)


def _line(report: Report) -> Iterable[Fact]:
    """The critical line, explicit or along the kernel."""
    sides = (report.critical_line,) if report.critical_line is not None else report.critical_curve or ()
    for symbol, side in zip((C_W, C_b)[-len(sides) :], sides, strict=False):
        yield equation(symbol.name, latex(symbol), side, label="critical line")
