"""The page that ``derive`` prints: what is declared, what follows, and how to use it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import mpmath as mp
import sympy as sp

from ..balls import evaluate
from ..declare.activation import Activation
from ..errors import NoClosedForm
from ..export.decimals import at_zero_gamma
from ..quantity import Quantity, Status
from ..report import PointRow, Report
from ..symbols import C_W, C_b, K, gamma
from ..theory.root import Root
from .breaking import wrap
from .console import Line, Span, line
from .facts import facts_of
from .maths import Maths

DIGITS = 15
_INDENT = 2
_LABEL = 6  # columns of a left-hand side
_VALUE = _INDENT + _LABEL + DIGITS + 5  # where exact values begin
_STAR = sp.Symbol("K*", positive=True)

# how quantities are called on the page: in mathematical characters, in ASCII
_NAMES = {
    "phi_squared": ("g", "g"),
    "kernel_map": ("K'", "K'"),
    "covariance_map": ("C'", "C'"),
    "chi_parallel": ("χ∥", "chi_par"),
    "chi_perp": ("χ⊥", "chi_perp"),
}
_CLASSES = {
    "scale-invariant": "every kernel is a fixed point and is kept from layer to layer",
    "K*=0": "at criticality the kernel decays to zero, slower than exponentially",
    "half-stable": "K* attracts the kernels on one side of it and lets those on the other go",
    "everywhere-critical": "every kernel is critical",
    "unstable": "the critical point repels: kernels flow away from it",
    "none": "no C_W, C_b make both susceptibilities 1 at a fixed point",
    "unknown": "the search for critical points could not decide; the remarks say why",
}
_STATUS = {Status.EXACT: "bold green", Status.SERIES: "bold cyan", Status.NUMERIC: "bold yellow", Status.UNKNOWN: "red"}
_OUTCOME = {"PASSED": "bold green", "REFUTED": "bold red", "INCONCLUSIVE": "bold yellow"}


class Page:
    """Lays out a report.

    Args:
        report: what was derived; a quantity ``phi_squared`` in it is printed as g.
        phi: the activation, for its facts.
        width: columns.
        unicode: whether mathematical characters can be shown.
    """

    def __init__(self, report: Report, phi: Activation, width: int, unicode: bool) -> None:
        self._numbers: dict[sp.Expr, mp.mpf | None] = {}
        self.report = report
        self.phi = phi
        self.width = width
        self.unicode = unicode
        names = {name for name, _ in report.formulas}
        self.maths = Maths(unicode, phi.formula if names == {phi.name} else None)

    def lines(self, files: Sequence[Path] = (), missing: Sequence[str] = (), explain: bool = False) -> list[Line]:
        """The whole page.

        Args:
            files: what was written.
            missing: what was not written, and why.
            explain: add the proofs.
        """
        blocks = [self._head(), self._declaration(), self._results(), self._points(), self._initialisation()]
        if explain:
            blocks.append(self._proofs())
        blocks += [self._remarks(), self._checks(), self._files(files, missing), self._command()]
        result: list[Line] = []
        for block in blocks:
            result += ([line("")] if result and block else []) + block
        return result

    # ---- parts -------------------------------------------------------------------------------------------------

    def _head(self) -> list[Line]:
        title = f"{self.report.activation} in the layer {self.report.layer}"
        # the values of its own parameters are part of an activation's name
        rest = ((key, value) for key, value in self.report.settings if f"{key}=" not in self.report.activation)
        settings = ", ".join(f"{self.maths.symbol(key)} = {value}" for key, value in rest)
        lines = self._wrapped(f"{title}, {settings}" if settings else title, "bold", indent=0)
        return [*lines, line(Span(("═" if self.unicode else "=") * self.width, "dim"))]

    def _declaration(self) -> list[Line]:
        rows = []
        for name, formula in self.report.formulas:
            head = self.maths(self.phi.formula) if self.maths.phi is not None else name
            rows.append((f"{head}(z)", self.maths(formula)))
        rows.append(("z'", self.maths(self.report.forward)))
        margin = max(_LABEL, *(len(label) + 1 for label, _ in rows))
        lines = [shown for label, text in rows for shown in self._equation(label, [text], margin=margin)]
        facts = [facts_of(self.phi, self.maths)] if self.maths.phi is not None else []
        if self.phi.source:
            facts.append(f"source: {self.phi.source}")
        return lines + [shown for fact in facts for shown in self._wrapped(fact, "dim")]

    def _results(self) -> list[Line]:
        lines = self._rule("Results")
        reasons: set[str] = set()
        for position, quantity in enumerate(self.report.quantities):
            if position:
                lines.append(line(""))
            lines += self._quantity(quantity, reasons)
        return lines

    def _quantity(self, q: Quantity, reasons: set[str]) -> list[Line]:
        status = str(q.status)
        if q.status is Status.NUMERIC:
            status += f" to {_short(q.error_bound)}"
        room = self.width - _INDENT - len(status) - 2
        first, *rest = textwrap.wrap(q.meaning, room) or [""]
        lines = [line(" " * _INDENT, first.ljust(room + 2), Span(status, _STATUS[q.status]))]
        lines += [line(" " * _INDENT, text) for text in rest]
        sides = [] if q.definition.has(sp.oo) else [self.maths(q.definition)]
        if q.status is Status.UNKNOWN:
            sides.append("unknown")
        elif q.body != q.definition or not sides:
            sides.append(self.maths(q.body))
        lines += self._equation(self._name(q.name), sides)
        for step in q.steps:
            both = [self.maths(step.definition), self.maths(step.expr)]
            lines += self._equation(f"with {self.maths(step.symbol)}", list(dict.fromkeys(both)), style="")
        notes = []
        if q.status is Status.NUMERIC and q.symbols == (K,):
            lines += self._sample(q)
        kind = q.reason.partition(" is ")[2] or q.reason  # "tanh(z) is no polynomial ...": say it once, not for each f
        if kind and kind not in reasons:
            reasons.add(kind)
            notes.append(f"no closed form: {q.reason}" if q.status is Status.NUMERIC else q.reason)
        notes.append("; ".join(filter(None, (q.source, _verified(q)))))
        indent = _INDENT + _LABEL + 2
        return lines + [shown for note in filter(None, notes) for shown in self._wrapped(note, "dim", indent)]

    def _sample(self, q: Quantity) -> list[Line]:
        """What is known of a function without a closed form: its exact series around 0, and some values."""
        try:
            series = wrap(f"{self.maths(q.series(3).body)} + ...", self.width - _INDENT - _LABEL - 2)
        except NoClosedForm:
            series = []
        lines = [line(" " * (_INDENT + _LABEL), "  " if k else "= ", text) for k, text in enumerate(series)]
        values = ", ".join(f"{self._name(q.name)}({k}) = {_digits(q.evalf(10, K=k), 10)}" for k in ("0.01", "1", "100"))
        return lines + self._wrapped(values, "", _INDENT + _LABEL + 2)

    def _points(self) -> list[Line]:
        report = self.report
        lines = self._rule("Criticality")
        if report.critical_points:
            about = "K' = K, and both susceptibilities are 1"
            if any(_free(point) for point in report.critical_points):
                about += f"; decimals at {self.maths.symbol('gamma')} = 0"
            lines += self._wrapped(about, "dim")
        for point in report.critical_points:
            for name, value in (("K*", point.K), ("C_W", point.C_W), ("C_b", point.C_b)):
                lines += self._value(point, name, value)
            lines += [*self._aligned("", Span(_stability(point), "italic")), line("")]
        words = _CLASSES.get(report.universality_class, "")
        named = f"universality class {report.universality_class}" + (f": {words}" if words else "")
        return lines + self._wrapped(named, "bold")

    def _value(self, point: PointRow, name: str, value: sp.Expr) -> list[Line]:
        """``K*    3.56155281280884    (3 + √17)/2``: a number, and where it comes from."""
        if value == K:
            return self._aligned(name, Span("any"))
        number = self._number(value)
        shown = "" if number is None else _digits(number)
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
            *self._aligned(name, Span(shown.ljust(_VALUE - _INDENT - _LABEL)), Span(exact[0])),
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
        exact, general, shown = {"C_W": (point.C_W, weight, weight), "C_b": (point.C_b, bias.subs(C_W, weight), bias)}[
            name
        ]
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

    def _initialisation(self) -> list[Line]:
        """What to write in a training script, at the first critical point that has numbers."""
        for point in self.report.critical_points:
            weight, bias = self._number(point.C_W), self._number(point.C_b)
            if weight is not None and bias is not None:
                break
        else:
            return []
        lines = self._rule("How to initialise")
        at = f", here at {self.maths.symbol('gamma')} = 0" if _free(point) else ""
        biases = f"biases with variance C_b = {_digits(bias, 9)}" if bias else "set biases to zero"
        lines += self._wrapped(
            f"Draw weights with variance C_W/fan_in, C_W = {_digits(weight, 9)}, and {biases}{at}. In PyTorch:"
        )
        code = [f"torch.nn.init.normal_(m.weight, std=({_digits(weight, 9)}/m.in_features)**0.5)"]
        if bias:
            code.append(f"torch.nn.init.normal_(m.bias, std={_digits(bias, 9)}**0.5)")
        else:
            code.append("torch.nn.init.zeros_(m.bias)")
        lines += [line("    ", Span(text, "cyan")) for text in code]
        start = None if point.K == K else self._number(point.K)
        if start:
            lines += self._wrapped(
                f"Scale the inputs so that the first preactivations have variance {_digits(start, 9)}."
            )
        return lines

    def _proofs(self) -> list[Line]:
        """Every proof; a derivation that occurs in several is printed once."""
        lines: list[Line] = []
        known: set[tuple[str, ...]] = set()
        for q in self.report.quantities:
            lines += [*([line("")] if lines else []), *self._rule(f"Proof of {self._name(q.name)}")]
            lines += self._argument(f"start: {q.proof.start}")
            for number, step in enumerate(q.proof.steps, 1):
                lines += self._argument(f"{number}. {step.rule}: {step.statement}")
                repeated = step.details in known and len(step.details) > 1
                for text in ["as above"] if repeated else step.details:
                    lines += self._argument(f"     {text}")
                known.add(step.details)
                lines += self._argument(f"   = {step.after}")
        return lines

    def _argument(self, text: str) -> list[Line]:
        """A line of a proof, as deep as it was; formulas break at operators, sentences at spaces."""
        body = text.lstrip()
        margin = " " * (_INDENT + len(text) - len(body))
        room = self.width - len(margin)
        if body.startswith("= "):
            first, *rest = (f"{'  ' * (k > 0)}{part}" for k, part in enumerate(wrap(body[2:], room - 4)))
            parts = [f"= {first}", *(f"  {part}" for part in rest)]
        else:
            parts = textwrap.wrap(body, room, subsequent_indent="    ", break_on_hyphens=False)
        return [line(margin, part) for part in parts]

    def _remarks(self) -> list[Line]:
        if not self.report.remarks:
            return []
        lines = self._rule("Remarks")
        for remark in self.report.remarks:
            lines += self._wrapped(remark)
        return lines

    def _checks(self) -> list[Line]:
        rows = self.report.checks
        if not rows:
            return []
        outcomes = [str(row.outcome) for row in rows]
        worst = next((o for o in ("REFUTED", "INCONCLUSIVE") if o in outcomes), "PASSED")
        oracles = " and ".join(sorted({row.oracle for row in rows}))
        text = f"{outcomes.count('PASSED')} of {len(rows)} comparisons with independent {oracles} passed"
        lines = [line(" " * _INDENT, Span(worst, _OUTCOME[worst]), f"  {text}")]
        for row in rows:
            if str(row.outcome) != "PASSED":
                lines += self._wrapped(f"{row.quantity} at {row.point}: {row.outcome} {row.reason}")
        return self._rule("Check") + lines

    def _files(self, files: Sequence[Path], missing: Sequence[str]) -> list[Line]:
        if not files:
            return []
        lines = [*self._rule("Files"), *(line(" " * _INDENT, str(path)) for path in files)]
        return lines + [shown for text in missing for shown in self._wrapped(text)]

    def _command(self) -> list[Line]:
        if not self.report.command:
            return []
        return [line(" " * _INDENT, Span("this page: ", "dim"), self.report.command)]

    # ---- pieces of layout --------------------------------------------------------------------------------------

    def _name(self, name: str) -> str:
        pair = _NAMES.get(name)
        return pair[0 if self.unicode else 1] if pair else name

    def _rule(self, title: str) -> list[Line]:
        dash = "─" if self.unicode else "-"
        return [line(Span(f"{title} ", "bold blue"), Span(dash * (self.width - len(title) - 1), "dim"))]

    def _wrapped(self, text: str, style: str = "", indent: int = _INDENT) -> list[Line]:
        rows = textwrap.wrap(text, self.width - indent, break_on_hyphens=False) or [""]
        return [line(" " * indent, Span(row, style)) for row in rows]

    def _aligned(self, label: str, *spans: Span) -> list[Line]:
        return [line(" " * _INDENT, Span(label.ljust(_LABEL), "bold"), *spans)]

    def _equation(self, left: str, sides: Iterable[str], style: str = "bold", margin: int = _LABEL) -> list[Line]:
        """``left = side = side``, each side on its own lines behind an aligned sign."""
        lines = []
        margin = max(margin, len(left) + 1)
        column = _INDENT + margin + 2
        for position, side in enumerate(sides):
            label = left if position == 0 else ""
            first, *rest = wrap(side, self.width - column)
            lines.append(line(" " * _INDENT, Span(label.ljust(margin), style), "= ", first))
            lines += [line(" " * column, text) for text in rest]
        return lines


def _verified(q: Quantity) -> str:
    """By what a result was verified; several comparisons with one kind of oracle are counted together."""
    merged: dict[str, tuple[int, float]] = {}
    for v in q.verifications:
        kind = v.oracle.split()[-1]
        points, worst = merged.get(kind, (0, 0.0))
        merged[kind] = (points + v.points, max(worst, v.worst))
    return "; ".join(
        f"verified by {kind} at {points} points" + (f" to {_round_up(worst)}" if worst else ", without deviation")
        for kind, (points, worst) in merged.items()
    )


def _round_up(value: float) -> str:
    return f"1e{int(mp.ceil(mp.log10(value)))}"


def _short(value: float) -> str:
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


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


def _digits(value: mp.mpf, digits: int = DIGITS) -> str:
    shown = mp.nstr(value, digits)
    return shown[:-2] if shown.endswith(".0") else shown
