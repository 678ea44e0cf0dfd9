"""``symres list averages``: what is known of the Gaussian averages of activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...activations.activation import Activation
from ...functions.records.special_function import legend
from ...results.quantity import Quantity, Status
from ..latex.prose import absent
from .console import Line, Span, line
from .formula_text import Maths, Typed, wrap
from .sheet import INDENT, STATUS_STYLES, Sheet

if TYPE_CHECKING:
    from ...studies.survey import NamedAverage

_STATUS = 9  # columns
_LONGEST = 3  # lines of a closed form in the list of all
_LEGEND = (
    "z has kernel K; two inputs z1, z2 have kernels K1, K2 and covariance C. EXACT is a closed form, verified by "
    "quadrature; NUMERIC a number with a bound on its error, to as many digits as asked for."
)


class Averages(Sheet):
    """Lays out averages of an activation, in so many columns."""

    def __init__(self, phi: Activation, width: int, unicode: bool) -> None:
        super().__init__(width, Maths(unicode, phi.formula))
        self.phi = phi

    def legend(self) -> list[Line]:
        """The title and what the words mean."""
        return [*self.rule("Averages"), *self.wrapped(self.words(_LEGEND), "dim")]

    def lines(self, averages: list[NamedAverage], whole: bool) -> list[Line]:
        """The activation and its averages.

        Args:
            averages: those that are shown.
            whole: print long formulas, reasons and verifications as well.
        """
        labels = [self.maths(average.asked) for average in averages]
        column = max(map(len, labels)) + 2
        head = wrap(Typed()(self.phi.expr), self.width - len(self.phi.name) - 2)
        lines = [line(""), line(Span(f"{self.phi.name}  ", "bold"), Span(head[0], "dim"))]
        lines += [line(" " * (len(self.phi.name) + 2), Span(text, "dim")) for text in head[1:]]
        said: dict[str, str] = {}
        for label, average in zip(labels, averages, strict=True):
            status = average.quantity.status
            start: list[str | Span] = [
                " " * INDENT,
                label.ljust(column),
                Span(str(status).ljust(_STATUS), STATUS_STYLES[status]),
            ]
            lines += self._row(start, INDENT + column + _STATUS, average.quantity, whole)
            notes = self._notes(label, average.quantity, said) if whole else []
            lines += [row for note in notes for row in self.wrapped(note, "dim", 2 * INDENT)]
        # a line for each special function in the results: its definition
        used = legend(*(average.quantity.body for average in averages)) if whole else ()
        meanings = [row for kind in used for row in self.wrapped(self.words(kind.meaning), "dim")]
        return [*lines, line(""), *meanings] if meanings else lines

    def _row(self, start: list[str | Span], column: int, q: Quantity, whole: bool) -> list[Line]:
        if q.status is Status.UNKNOWN:
            text = absent(q.reason)
        else:
            text = f"to {q.error_bound:.0e} or better" if q.status is Status.NUMERIC else self.maths(q.expr)
        behind, below = wrap(text, max(self.width - column, 1)), wrap(text, self.width - 2 * INDENT)
        if len(behind) == 1:
            return [line(*start, text)]
        if len(below) <= _LONGEST or whole:
            return [line(*start), *(line(" " * (2 * INDENT), part) for part in below)]
        command = f"symres list averages {self.phi.name}"
        return [line(*start, f"{len(below)} lines: "), *self.wrapped(command, "dim", 2 * INDENT)]

    def _notes(self, label: str, q: Quantity, said: dict[str, str]) -> list[str]:
        """Why there is no closed form, told once under its first label, and by what it was verified."""
        notes = []
        if q.reason:
            first = said.setdefault(q.reason, label)
            notes.append(self.words(q.reason) if first == label else f"for the same reason as {first}")
        if q.verified is not None:
            notes.append(str(q.verified))
        return notes


def record(phi: Activation, averages: list[NamedAverage]) -> dict[str, object]:
    """The averages as strings, numbers, lists and dicts."""
    return {
        "activation": phi.name,
        "formula": str(phi.expr),
        "parameters": [str(p) for p in phi.parameters],
        "averages": list(map(_entry, averages)),
    }


def _entry(average: NamedAverage) -> dict[str, object]:
    q = average.quantity
    text = None if q.status is Status.UNKNOWN else str(q.expr)
    return {
        "average": average.key,
        "status": str(q.status),
        "symbols": [str(s) for s in q.symbols],
        "definition": str(average.asked),
        "expression": text,
        "error_bound": None if q.status is Status.UNKNOWN else q.error_bound,
        "reason": q.reason,
        "verifications": [{"oracle": v.oracle, "points": v.points, "worst": v.worst} for v in q.verifications],
    }
