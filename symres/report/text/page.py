"""The page that ``derive`` prints: what is declared, what follows, and how to use it."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import mpmath as mp
import sympy as sp

from ...activations.activation import Activation
from ...core.foreign import LITERATURE, reader_of
from ...core.proof import conclusion
from ...core.symbols import z
from ...core.words import predicate
from ...functions.function_record import explained
from ...functions.records.special_function import legend
from ...notation import named
from ...results.quantity import Quantity, Status
from ...results.report import Report
from ...studies import criticality_summary as summary
from ...studies.criticality_summary import expansions
from ..latex.prose import PDLT, absent, unclosed
from .catalogue_tables import facts_of
from .console import Line, Span, line
from .criticality_section import CriticalitySection
from .finite_width_section import FiniteWidthSection
from .formula_text import Maths, wrap
from .sheet import INDENT, LABEL, STATUS_STYLES, ReportSection, digits
from .tokens_section import TokensSection

_KERNELS, _VALUES = 16, 20  # least widths of columns in the table of values
_TIE = "\N{NO-BREAK SPACE}"
_OUTCOME = {"PASSED": "bold green", "REFUTED": "bold red", "INCONCLUSIVE": "bold yellow"}


class Page(ReportSection):
    """Lays out a report.

    Args:
        report: what was derived; a quantity ``phi_squared`` in it is printed as g.
        phi: the activation, for its facts; None of a layer that has none.
        width: columns.
        unicode: whether mathematical characters can be shown.
    """

    def __init__(self, report: Report, phi: Activation | None, width: int, unicode: bool) -> None:
        names = {name for name, _ in report.formulas}
        super().__init__(
            report, width, Maths(unicode, phi.formula if phi is not None and names == {phi.name} else None)
        )
        self.phi = phi

    def lines(self, files: Sequence[Path] = (), missing: Sequence[str] = (), explain: bool = False) -> list[Line]:
        """The whole page.

        Args:
            files: what was written.
            missing: what was not written, and why.
            explain: add the proofs.
        """
        part = CriticalitySection(self.report, self.width, self.maths)
        fixed_points = self.report.fixed_points
        blocks = [self._head(), self._declaration(), self._results(), self._samples()]
        if fixed_points is not None:
            blocks.append(part.fixed_points(fixed_points))
        if fixed_points is None or self.report.critical_points:
            # with numbers for C_W and C_b there is nothing to tune, and the analysis has only this to remark
            width = FiniteWidthSection(self.report, self.width, self.maths)
            blocks += [part.points(), TokensSection(self.report, self.width, self.maths).lines()]
            blocks += [part.initialisation(), width.lines()]
            if not summary.fixed_by_user(self.report):  # then the class says all there is to remark
                blocks.append(self._sentences("Remarks", self.report.remarks))
        else:
            blocks.append(part.initialisation())
        if explain:
            blocks.append(self._proofs())
        given_up = self._sentences("Given up", self.report.given_up.values())
        blocks += [given_up, self._checks(), self._files(files, missing), self._command()]
        result: list[Line] = []
        for block in blocks:
            result += ([line("")] if result and block else []) + block
        return result

    # ---- parts -------------------------------------------------------------------------------------------------

    def _head(self) -> list[Line]:
        title = f"{self.report.activation} in the layer {self.report.layer}".removeprefix(" in ")
        # the values of its own parameters are part of an activation's name
        others = ((key, value) for key, value in self.report.settings if f"{key}=" not in self.report.activation)
        # no line ends inside a setting
        settings = [f"{self.maths.symbol(key)} = {value}".replace(" ", _TIE) for key, value in others]
        lines = [
            line(*(Span(s.text.replace(_TIE, " "), s.style) for s in row))
            for row in self.wrapped(", ".join([title, *settings]), "bold", indent=0)
        ]
        return [*lines, line(Span(("═" if self.maths.unicode else "=") * self.width, "dim"))]

    def _declaration(self) -> list[Line]:
        rows = []
        for name, formula in self.report.formulas:
            head = name if self.maths.phi is None else self.maths(self.maths.phi)
            rows.append((f"{head}(z)", self.maths(formula)))
        for record, definition in explained(*(formula for _, formula in self.report.formulas)):
            rows.append((self.maths(record.kind(z)), self.maths(definition)))
        rows += [(self.maths(left), self.maths(right)) for left, right in self.report.equations]
        margin = max(LABEL, *(len(label) + 1 for label, _ in rows))
        lines = [shown for label, text in rows for shown in self.equation(label, [text], margin=margin)]
        facts = [facts_of(self.phi, self.maths)] if self.phi is not None and self.maths.phi is not None else []
        if self.report.source:
            facts.append(f"source: {self.report.source}")
        return lines + [shown for fact in facts for shown in self.wrapped(fact, "dim")]

    def _results(self) -> list[Line]:
        lines = self.rule("Results")
        reasons: set[str] = set()
        for position, quantity in enumerate(self.report.quantities):
            if position:
                lines.append(line(""))
            lines += self._quantity(quantity, reasons)
        used = legend(*(quantity.body for quantity in self.report.quantities))
        if used:
            lines.append(line(""))
            lines += [shown for kind in used for shown in self.wrapped(self.words(kind.meaning), "dim")]
        if any("PDLT" in quantity.source for quantity in self.report.quantities):
            lines += [line(""), *self.wrapped(f"PDLT: {PDLT}", "dim")]
        return lines

    def _samples(self) -> list[Line]:
        """A table of values, where there is no formula to put numbers in."""
        table = summary.samples(self.report)
        if table is None:
            return []
        lines = self.rule("Values")
        if table.setting:
            lines += self.wrapped(self.words(table.setting), "dim")
        first = max(_KERNELS, *(len(kernel) + 2 for kernel, _ in table.rows))
        heads = ["K".ljust(first), *(self.name(name).ljust(_VALUES) for name in table.names)]
        lines.append(line(" " * INDENT, Span("".join(heads).rstrip(), "bold")))
        for kernel, row in table.rows:
            values = "".join(digits(value, 10).ljust(_VALUES) for value in row)
            lines.append(line(" " * INDENT, kernel.ljust(first) + values.rstrip()))
        return lines

    def _quantity(self, q: Quantity, reasons: set[str]) -> list[Line]:
        status = absent(q.reason).upper() if q.status is Status.UNKNOWN else str(q.status)
        if q.status is Status.NUMERIC:
            mantissa, _, exponent = f"{q.error_bound:.1e}".partition("e")
            status += f" to {mantissa.removesuffix('.0')}e{int(exponent)}"
        room = self.width - INDENT - len(status) - 2
        first, *rest = textwrap.wrap(self.words(q.meaning), room) or [""]
        lines = [line(" " * INDENT, first.ljust(room + 2), Span(status, STATUS_STYLES[q.status]))]
        lines += [line(" " * INDENT, text) for text in rest]
        sides = [] if q.definition.has(sp.oo, sp.nan) else [self.maths(q.definition)]
        if q.status is Status.UNKNOWN:
            sides.append(absent(q.reason))
        body, determinants = named(q.body)
        if q.status is not Status.UNKNOWN and (q.body != q.definition or not sides):
            sides.append(self.maths(body))
        lines += self.equation(self.name(q.name), sides)
        for symbol, determinant in determinants:
            lines += self.equation(f"with {self.maths(symbol)}", [self.maths(determinant)], style="")
        for step in q.steps:
            both = [self.maths(step.definition), self.maths(step.expr)]
            lines += self.equation(f"with {self.maths(step.symbol)}", list(dict.fromkeys(both)), style="")
        lines += self._expansions(q)
        notes = []
        kind = predicate(q.reason)  # "tanh(z) is no polynomial ...": say it once, not for each f
        if kind and kind not in reasons:
            reasons.add(kind)
            lead = f"{unclosed(q.reason)}: " if q.status is Status.NUMERIC else ""
            notes.append(lead + self.words(q.reason))
        verified = "" if q.verified is None else str(q.verified)
        notes.append("; ".join(filter(None, (q.source and f"generalises {reader_of(LITERATURE)(q.source)}", verified))))
        indent = INDENT + LABEL + 2
        return lines + [shown for note in filter(None, notes) for shown in self.wrapped(note, "dim", indent)]

    def _expansions(self, q: Quantity) -> list[Line]:
        """Expansions around 0 and far out, and their ranges."""
        lines = []
        indent = INDENT + LABEL + 2
        arrow, infinity = ("→", "∞") if self.maths.unicode else ("->", "oo")
        for found in expansions(q):
            sides = [] if found.body is None else wrap(f"{self.maths(found.body)} + ...", self.width - indent)
            lines += [line(" " * (INDENT + LABEL), "  " if k else "= ", text) for k, text in enumerate(sides)]
            limit = "0" if found.limit == 0 else infinity
            lines += self.wrapped(f"K {arrow} {limit}: {found.reach}", "dim", indent)
        return lines

    def _proofs(self) -> list[Line]:
        """Every proof; a derivation that occurs in several is printed once."""
        lines: list[Line] = []
        printed: set[tuple[str, ...]] = set()
        for q in self.report.quantities:
            if q.definition.has(sp.oo, sp.nan):  # nothing to prove
                continue
            lines += [*([line("")] if lines else []), *self.rule(f"Proof of {self.name(q.name)}")]
            lines += self._argument(f"start: {q.proof.start}")
            if q.status is not Status.EXACT:
                lines += self._argument(f"{unclosed(q.reason)}: {q.reason}")
            for number, step in enumerate(q.proof.steps, 1):
                lines += self._argument(f"{number}. {step.rule}: {step.statement}")
                repeated = step.lines in printed and len(step.lines) > 1
                for text in ["as above"] if repeated else step.lines:
                    lines += self._argument(f"     {text}")
                printed.add(step.lines)
                if conclusion(step.lines) != str(step.after):
                    lines += self._argument(f"   = {step.after}")
        return lines

    def _argument(self, text: str) -> list[Line]:
        """A line of a proof, as deep as it was; formulas break at operators, sentences at spaces."""
        body = text.lstrip()
        margin = " " * (INDENT + len(text) - len(body))
        room = self.width - len(margin)
        if body.startswith("= "):
            first, *rest = (f"{'  ' * (k > 0)}{part}" for k, part in enumerate(wrap(body[2:], room - 4)))
            parts = [f"= {first}", *(f"  {part}" for part in rest)]
        else:
            parts = textwrap.wrap(body, room, subsequent_indent="    ", break_on_hyphens=False)
        return [line(margin, part) for part in parts]

    def _sentences(self, title: str, sentences: Iterable[str]) -> list[Line]:
        """Sentences of the program under a title; nothing where there are none."""
        lines = [shown for text in sentences for shown in self.wrapped(self.words(text))]
        return self.rule(title) + lines if lines else []

    def _checks(self) -> list[Line]:
        rows = self.report.checks
        if not rows:
            return []
        outcomes = [str(row.outcome) for row in rows]
        worst = next((o for o in ("REFUTED", "INCONCLUSIVE") if o in outcomes), "PASSED")
        oracles = " and ".join(sorted({row.oracle for row in rows}))
        text = f"{outcomes.count('PASSED')} of {len(rows)} comparisons with independent {oracles} passed"
        lines = [line(" " * INDENT, Span(worst, _OUTCOME[worst]), f"  {text}")]
        for row in rows:
            if str(row.outcome) == "INCONCLUSIVE":
                lines += self.wrapped(f"{row.quantity} at {row.point}: {row.reason}")
            elif str(row.outcome) == "REFUTED":
                found = f"claimed {mp.nstr(row.claimed, 10)}, found {mp.nstr(row.value, 10)}"
                lines += self.wrapped(f"{row.quantity} at {row.point}: REFUTED, {found}", "bold red")
        return self.rule("Check") + lines

    def _files(self, files: Sequence[Path], missing: Sequence[str]) -> list[Line]:
        if not files:
            return []
        lines = [*self.rule("Files"), line(" " * INDENT, f"{files[0].parent}{os.sep}")]
        lines += self.wrapped("  ".join(path.name for path in files), indent=2 * INDENT)
        return lines + [shown for text in missing for shown in self.wrapped(text)]

    def _command(self) -> list[Line]:
        """The command that prints this page, over several lines where it is long."""
        label = "this page: "
        rows: list[str] = []
        for option in _with_values(shlex.split(self.report.command)):
            if rows and len(rows[-1]) + len(option) + 3 <= self.width - INDENT - len(label):
                rows[-1] += f" {option}"
            else:
                rows.append(option)
        ends = [" \\"] * (len(rows) - 1) + [""]
        return [
            line(" " * INDENT, Span(label if k == 0 else " " * len(label), "dim"), row + end)
            for k, (row, end) in enumerate(zip(rows, ends, strict=False))
        ]


def _with_values(words: Sequence[str]) -> list[str]:
    """The words of a command, quoted; an option and its value stay together."""
    result: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if before.startswith("--"):
            result[-1] += f" {shlex.quote(word)}"
        else:
            result.append(shlex.quote(word))
    return result
