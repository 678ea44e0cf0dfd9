"""The layout that the parts of a page share."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

import mpmath as mp

from ...results.quantity import Status
from ...results.report import Report
from ...theory.observables import registry
from ..latex.prose import segments
from .console import Line, Span, line
from .formula_text import Maths, wrap

INDENT = 2
LABEL = 6  # columns of a left-hand side
DIGITS = 15

STATUS_STYLES = {
    **{Status.EXACT: "bold green", Status.SERIES: "bold cyan"},
    **{Status.NUMERIC: "bold yellow", Status.UNKNOWN: "red"},
}
_SIGNS = {">=": "≥", "<=": "≤"}
_WORD = re.compile(r"(?<![\w-])[A-Za-z]\w*(?![\w=])", re.ASCII)  # not an option of the command line


class Sheet:
    """Lays out lines of one width, in columns; ``maths`` prints their formulas."""

    def __init__(self, width: int, maths: Maths) -> None:
        self.width = width
        self.maths = maths

    def name(self, quantity: str) -> str:
        """What a quantity is called on the page."""
        record = registry.observables.get(quantity)
        return record.sign[0 if self.maths.unicode else 1] if record else quantity

    def words(self, sentence: str) -> str:
        """A sentence of the program with its formulas and susceptibilities as the page writes them."""
        quantities, maths = registry.functions(), self.maths

        def plain(text: str) -> str:
            for sign, shown in _SIGNS.items() if maths.unicode else ():
                text = text.replace(sign, shown)
            return _WORD.sub(lambda word: self.name(word[0]) if word[0] in quantities else maths.symbol(word[0]), text)

        return "".join(plain(part) if isinstance(part, str) else maths(part) for part in segments(sentence))

    def rule(self, title: str) -> list[Line]:
        """The title of a section."""
        dash = "─" if self.maths.unicode else "-"
        return [line(Span(f"{title} ", "bold blue"), Span(dash * (self.width - len(title) - 1), "dim"))]

    def wrapped(self, text: str, style: str = "", indent: int = INDENT) -> list[Line]:
        """Words, broken at spaces."""
        rows = textwrap.wrap(text, self.width - indent, break_on_hyphens=False) or [""]
        return [line(" " * indent, Span(row, style)) for row in rows]

    def aligned(self, label: str, *spans: Span) -> list[Line]:
        """A line with a label in the first column."""
        return [line(" " * INDENT, Span(label.ljust(LABEL), "bold"), *spans)]

    def equation(self, left: str, sides: Iterable[str], style: str = "bold", margin: int = LABEL) -> list[Line]:
        """``left = side = side``, each side on its own lines behind an aligned sign."""
        lines = []
        margin = max(margin, len(left) + 1)
        column = INDENT + margin + 2
        for position, side in enumerate(sides):
            label = left if position == 0 else ""
            first, *rest = wrap(side, self.width - column)
            lines.append(line(" " * INDENT, Span(label.ljust(margin), style), "= ", first))
            lines += [line(" " * column, text) for text in rest]
        return lines


class ReportSection(Sheet):
    """A part of a page about a report."""

    def __init__(self, report: Report, width: int, maths: Maths) -> None:
        super().__init__(width, maths)
        self.report = report


def digits(value: mp.mpf, count: int = DIGITS) -> str:
    """A number with so many digits."""
    shown = mp.nstr(value, count)
    return shown[:-2] if shown.endswith(".0") else shown
