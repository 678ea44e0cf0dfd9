"""The LaTeX document of a report, and of single quantities."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import mpmath as mp
import sympy as sp

from ..quantity import Quantity, Status
from ..report import PointRow, Report
from ..symbols import gamma
from . import files
from .decimals import at_zero_gamma, decimal
from .latex import display, escape, latex

COLUMNS = 96  # of verbatim text


def document(report: Report) -> str:
    """The whole derivation as a LaTeX document (article, amsmath only)."""
    return files.render(
        "report.tex.j2",
        {
            "title": f"{escape(report.activation)} in the layer {escape(report.layer)}",
            "command": _verbatim(report.command),
            "formulas": [
                display(f"{head}(z)", f, tail=",") for head, (_, f) in zip(report.heads, report.formulas, strict=True)
            ],
            "forward": display("z'", report.forward, tail="."),
            "program": _verbatim("\n".join(report.program)),
            "settings": [f"{escape(name)} = {escape(value)}" for name, value in report.settings],
            "quantities": [_section(q) for q in report.quantities],
            "points": [_point(row) for row in report.critical_points],
            "zero_gamma": any(gamma in sp.sympify(row.C_W).free_symbols for row in report.critical_points),
            "universality_class": escape(report.universality_class),
            "remarks": [escape(line) for line in report.remarks],
            "checks": [_check(row) for row in report.checks],
            "proofs": [_proof(q) for q in report.quantities if q.proof.steps],
            "versions": [escape(line) for line in files.versions()],
        },
    )


def equations(quantities: Sequence[Quantity], title: str, command: str) -> str:
    """Quantities alone as a LaTeX document."""
    return files.render(
        "equations.tex.j2",
        {"title": escape(title), "command": _verbatim(command), "quantities": [_section(q) for q in quantities]},
    )


def _section(q: Quantity) -> dict[str, Any]:
    left = q.notation or rf"\mathrm{{{escape(q.name)}}}"
    shown = [display(left, q.definition, tail="." if q.body == q.definition else ",")]
    for step in q.steps:
        shown.append(display(latex(step.symbol), step.definition, tail=","))
        if step.expr != step.definition:
            shown.append(display(latex(step.symbol), step.expr, tail=","))
    if q.status is not Status.UNKNOWN and q.body != q.definition:
        shown.append(display(left, q.body))
    return {
        "title": f"{escape(q.name.replace('_', ' '))}: {escape(q.meaning)}" if q.meaning else escape(q.name),
        "displays": shown,
        "status": str(q.status),
        "error": _error(q),
        "reason": escape(q.reason),
        "source": escape(q.source),
        "verifications": [
            f"{escape(v.oracle)}: {v.points} points, largest relative deviation ${_power_of_ten(v.worst)}$"
            for v in q.verifications
        ],
    }


def _error(q: Quantity) -> str:
    if q.status is Status.EXACT:
        return "closed form"
    if q.status is Status.NUMERIC:
        return f"numbers with a relative error of at most ${_power_of_ten(q.error_bound)}$"
    return "truncated series" if q.status is Status.SERIES else "unknown"


def _point(row: PointRow) -> dict[str, Any]:
    entries = []
    for name, value in (("K^*", row.K), ("C_W", row.C_W), ("C_b", row.C_b)):
        number = at_zero_gamma(value)
        entries.append(
            {
                "formula": display(name, value, tail=".") if row.exact or value.free_symbols else "",
                "name": name,
                "decimal": decimal(number, 12) if number is not None else "",
            }
        )
    return {"entries": entries, "stability": escape(row.stability), "exact": row.exact}


def _check(row: Any) -> dict[str, str]:
    return {
        "quantity": escape(row.quantity),
        "oracle": escape(row.oracle),
        "point": escape(row.point),
        "claimed": mp.nstr(mp.mpf(row.claimed), 8),
        "value": mp.nstr(mp.mpf(row.value), 8),
        "z": f"{float(row.z):.1f}",
        "outcome": escape(row.outcome),
    }


def _proof(q: Quantity) -> dict[str, Any]:
    steps = []
    for step in q.proof.steps:
        shown = isinstance(step.after, sp.Expr)
        steps.append(
            {
                "rule": escape(step.rule),
                "text": _verbatim("\n".join([step.statement, *(f"  {line}" for line in step.details)])),
                "display": display("", step.after, tail="") if shown else "",
            }
        )
    return {"title": escape(q.name.replace("_", " ")), "steps": steps}


def _verbatim(text: str) -> str:
    """Wrapped lines for a verbatim environment."""
    lines = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        lines += textwrap.wrap(line, COLUMNS, subsequent_indent=" " * (indent + 4), break_on_hyphens=False) or [""]
    return "\n".join(lines)


def _power_of_ten(value: float) -> str:
    if value == 0:
        return "0"
    mantissa, exponent = f"{float(value):.0e}".split("e")
    return f"10^{{{int(exponent)}}}" if mantissa == "1" else rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
