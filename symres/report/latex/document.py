"""The LaTeX document of a report, and of single quantities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import sympy as sp

from ...core import files
from ...core.atoms import FormulaAtom
from ...core.foreign import LITERATURE, reader_of
from ...core.symbols import K, S_in, gamma, z
from ...core.words import predicate
from ...functions.function_record import explained
from ...functions.records.special_function import legend
from ...layers.program import AxisMean, Instruction, Mean
from ...notation import Notation, has_decimals, named
from ...notation.decimals import decimal
from ...results.critical_point import CriticalPoint
from ...results.quantity import Quantity, Status
from ...results.report import Report
from ...results.token_stack import StackOfTokens
from ...results.verdict import Verdict
from ...studies import criticality_summary as summary
from ...studies.criticality_summary import Expansion, expansions
from .advice_section import advice_section
from .displays import broken, display, escape, latex, typed, width
from .proof_appendix import Appendix
from .prose import PDLT, absent, number_text, prose, scientific, sentence, settings, unclosed, verbatim, written_number

Heads = dict[FormulaAtom, str]  # the LaTeX names of activations

_NARROW = 40.0  # width of a formula beside its decimals
_WIDE = 80.0  # of one on its own
_ROWS = 24  # of a table of verdicts, which does not break across pages
_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99)  # of skip connections in a table
_POWER = re.compile(r"l\\textasciicircum\{\}(-?\d+(?:\.\d+)?)")  # of the depth
_DIGITS = 5  # of rows over the depth
_INLINE = 30.0  # width of formulas at the end of a sentence


def document(report: Report, caption: str = "") -> str:
    """The whole derivation as a LaTeX document.

    Args:
        report: what was derived.
        caption: of the plot ``maps.pdf`` beside the document, or ``tokens.pdf``; empty if there is none.
    """
    maps = report.quantities
    report = replace(report, quantities=(*maps, *report.finite_width))
    declared = formulas_of([*(side for _, side in report.equations), *(q.definition for q in report.quantities)])
    heads = dict.fromkeys(declared, r"\phi") if len(report.formulas) == 1 else {}  # several keep their names
    notation = Notation(heads)
    appendix = Appendix(report.quantities, notation)
    return files.render(
        "report.tex.j2",
        {
            "title": _title(report, notation),
            "command": verbatim(report.command),
            "formulas": [display(f"{head}(z)", e, tail=",", notation=notation) for head, e in _functions(report)],
            # of one activation, where that is not its formula
            "name": prose(report.activation) if len(report.formulas) == 1 and report.heads != (r"\phi",) else "",
            "source": prose(report.source),
            "forward": _forward(report, notation),
            "program": [_instruction(i, notation) for i in report.instructions],
            "settings": [f"${latex(sp.Symbol(name))} = {written_number(value)}$" for name, value in report.settings],
            "quantities": sections(maps, notation, appendix.uses),
            "vertex": _vertex(report, notation),
            "growth": sections(report.finite_width, notation, appendix.uses),
            "growth_rows": _growth_rows(report),
            "points": [_point(row, report, heads) for row in report.critical_points],
            "universality_class": _class(report),
            "end": [display(q.notation, q.expr, tail=",", notation=notation) for q in report.end],
            "conditions": [latex(c) for c in (report.end[0].conditions if report.end else ())],
            "line": _line(report, heads),
            "line_remark": sentence(report.line_remark),
            "deep": _deep(report),
            "onset": sentence(summary.onset(report)),
            "fixed_points": _fixed_points(report),
            "advice": None if report.advice is None else advice_section(report.advice),
            "samples": _samples(report),
            "remarks": [sentence(line).rstrip(".") for line in (*report.remarks, *report.given_up.values())],
            "caption": caption,
            "figure": "maps.pdf" if report.tokens is None else "tokens.pdf",
            "tokens": None if report.tokens is None else _tokens(report.tokens),
            "checks": [_check(row, report) for row in report.checks],
            "check_rows": _ROWS,
            **derivations(appendix, report.quantities),
            "reference": escape(PDLT),
            "versions": [escape(line) for line in files.versions()],
        },
    )


def _vertex(report: Report, notation: Notation) -> dict[str, object] | None:
    """The recursion of the four-point vertex: its functions by their names in a procedure, and their definitions."""
    if report.vertex is None:
        return None
    vertex = report.vertex
    functions = {"noise": ("N", vertex.noise), "memory_noise": ("M", vertex.memory_noise)}
    functions |= {"stream_noise": ("R", vertex.stream_noise), "memory": ("m", vertex.weight)}
    functions = {name: pair for name, pair in functions.items() if pair[1] != 0}
    shown = [display(sign, formula, notation=notation) for sign, formula in functions.values()]
    steps = [display(latex(symbol), formula, notation=notation) for symbol, formula in vertex.steps]
    return {"functions": list(functions), "definitions": shown + steps}


def _growth_rows(report: Report) -> list[str]:
    """Nu and the optimal depth/width of one output at some gamma, the latter also by the published recursion."""
    if report.growth is None:
        return []
    rows = []
    for row in report.growth.at(*_WEIGHTS):
        numbers = (row.nu, row.aspect_ratio, row.published)
        weight = [] if row.gamma is None else [f"{row.gamma:g}"]
        rows.append(" & ".join([*weight, *(f"{value:.6g}" for value in numbers)]))
    return rows


def equations(quantities: Sequence[Quantity], title: str, command: str) -> str:
    """Quantities alone as a LaTeX document."""

    def shown(notation: Notation) -> dict[str, object]:
        return {"quantities": sections(quantities, notation, {})}

    return framed("equations.tex.j2", quantities, escape(title), command, shown)


def framed(
    template: str,
    quantities: Iterable[Quantity],
    title: str,
    command: str,
    shown: Callable[[Notation], Mapping[str, object]],
) -> str:
    """A document about quantities of which there is no report.

    Args:
        template: its name.
        quantities: whose averages are over formulas that the document declares.
        title: the heading, LaTeX.
        command: the command that makes it again.
        shown: what else the template shows, in the notation of these formulas.
    """
    formulas = sorted(formulas_of(q.definition for q in quantities), key=str)
    notation = Notation(decimals=has_decimals(*(f.expr for f in formulas)))
    declared = [(f"{notation.write(formula)}(z)", formula.expr) for formula in formulas]
    declared += [(latex(record.kind(z)), side) for record, side in explained(*(f.expr for f in formulas))]
    frame = {
        "title": title,
        "command": verbatim(command),
        "formulas": [display(left, right, notation=notation) for left, right in declared],
        "reference": escape(PDLT),
    }
    return files.render(template, {**frame, **shown(notation)})


def derivations(appendix: Appendix, quantities: Iterable[Quantity]) -> dict[str, object]:
    """What the template of derivations shows."""
    return {
        "rules": appendix.rules,
        "lemmas": appendix.lemmas,
        "rest": [(_meaning(q), appendix.rest[q.name]) for q in quantities if appendix.rest[q.name]],
    }


# ---- declaration ---------------------------------------------------------------------------------------------------


def formulas_of(expressions: Iterable[sp.Expr]) -> set[FormulaAtom]:
    """The declared formulas of the activations in expressions."""
    return {atom for e in expressions for atom in e.atoms() if isinstance(atom, FormulaAtom)}


def _forward(report: Report, notation: Notation) -> list[str]:
    """The forward equation, behind the equations for names in it."""
    tails = [","] * (len(report.equations) - 1) + ["."]
    return [
        display(latex(left), right, tail=tail, notation=notation)
        for (left, right), tail in zip(report.equations, tails, strict=True)
    ]


def _functions(report: Report) -> list[tuple[str, sp.Expr]]:
    written = [r"\phi"] if len(report.formulas) == 1 else list(report.heads)
    declared = [(head, formula) for head, (_, formula) in zip(written, report.formulas, strict=True)]
    named = explained(*(formula for _, formula in report.formulas))
    return declared + [(rf"\operatorname{{{record.names[0]}}}", definition) for record, definition in named]


def _title(report: Report, notation: Notation) -> str:
    name = prose(report.activation)
    if report.heads == (r"\phi",):
        formula = notation.write(report.formulas[0][1])
        short = width(formula) < _NARROW and r"\begin" not in formula
        name = rf"$\phi(z) = {formula}$" if short else typed(report.activation)
    return f"{name} in the layer {escape(report.layer)}"


def _instruction(instruction: Instruction, notation: Notation) -> str:
    """One line of the lowered program: an average over neurons or inputs, or a fresh Gaussian draw."""
    name = notation.write(instruction.name)
    if isinstance(instruction, Mean):
        return rf"{name} &= \frac{{1}}{{n}} \sum_i {notation.write(instruction.integrand)}"
    u = notation.write(instruction.u)
    if isinstance(instruction, AxisMean):
        return rf"{name} &= \langle {u} \rangle_{{\text{{inputs}}}}"
    variance = notation.write(instruction.C_b)
    scale = notation.write(instruction.C_W)
    wide = "" if instruction.width == 1 else rf",\quad \text{{width }} {notation.write(instruction.width)}\, n"
    return rf"{name} &\sim \mathcal{{N}}\bigl(0,\ {variance} + {scale} \langle u^2 \rangle\bigr),\quad u = {u}{wide}"


# ---- quantities ----------------------------------------------------------------------------------------------------


def _meaning(q: Quantity) -> str:
    return sentence(q.meaning or q.name.replace("_", " "))


def sections(
    quantities: Iterable[Quantity], notation: Notation, uses: Mapping[str, Sequence[int]]
) -> list[dict[str, object]]:
    """One section a quantity; a reason that several have is told once."""
    told_once: set[str] = set()
    return [_section(q, notation, uses.get(q.name, ()), told_once) for q in quantities]


def _section(q: Quantity, notation: Notation, uses: Sequence[int], told_once: set[str]) -> dict[str, object]:
    left = q.notation or rf"\mathrm{{{escape(q.name)}}}"
    sides = [] if q.definition.has(sp.nan) else [q.definition]
    body, determinants = named(q.body)
    if q.status is not Status.UNKNOWN and q.body != q.definition:
        sides.append(body)
    rows = [(left, sides)] if sides else []
    rows += [(notation.write(symbol), [determinant]) for symbol, determinant in determinants]
    rows += [(notation.write(step.symbol), list(dict.fromkeys([step.definition, step.expr]))) for step in q.steps]
    tails = [*["," for _ in rows[1:]], "."]
    shown = [display(head, *sides, tail=t, notation=notation) for (head, sides), t in zip(rows, tails, strict=False)]
    text = _text(q, uses, told_once)
    meanings = [kind.tex for kind in legend(q.body, *(step.expr for step in q.steps)) if kind.tex not in told_once]
    told_once.update(meanings)
    return {
        "title": _meaning(q),
        "displays": shown,
        "status": absent(q.reason) if q.status is Status.UNKNOWN else str(q.status),
        "text": text,
        "expansions": [_expansion(found, left, notation) for found in expansions(q)],
        "source": escape(reader_of(LITERATURE)(q.source)),
        "legend": meanings,
    }


def _text(q: Quantity, uses: Sequence[int], told_once: set[str]) -> str:
    """The status of a quantity in sentences: closed form or reason, and how it was verified."""
    sentences = []
    kind = predicate(q.reason)
    again = kind in told_once
    told_once.add(kind)
    if q.status is Status.EXACT:
        labels = [f"(A{n})" for n in uses]
        joined = " and ".join(filter(None, (", ".join(labels[:-1]), *labels[-1:])))
        sentences.append("closed form" + (f", by {joined}" if uses else ""))
    elif q.status is Status.NUMERIC and again:
        sentences.append("no closed form, for the reason above; numbers are enclosed in the same way")
    elif q.status is Status.NUMERIC:
        sentences.append(
            f"{unclosed(q.reason)}: {prose(q.reason)}. Numbers are enclosed in ball arithmetic, with a relative "
            f"error of at most ${scientific(q.error_bound)}$"
        )
    elif q.status is Status.SERIES:
        sentences.append(f"truncated series, {prose(q.reason)}")
    else:
        sentences.append(prose(q.reason))
    if v := q.verified:
        found = f"largest relative deviation ${scientific(v.worst)}$" if v.worst else "without deviation"
        sentences.append(f"Verified at {v.points} points ({v.oracle}), {found}")
    return ". ".join(sentences) + "."


def _expansion(found: Expansion, left: str, notation: Notation) -> dict[str, str]:
    """The display of an expansion, what leads to it, and how far it reaches."""
    size, limit = ("small", "0") if found.limit == 0 else ("large", r"\infty")
    if found.body is None:
        return {"lead": f"For {size} kernels it has no expansion: {sentence(found.reach)}", "display": "", "reach": ""}
    tail = rf" + \ldots \qquad (K \to {limit})."
    return {
        "lead": f"For {size} kernels it equals",
        "display": display(left, found.body, tail=tail, notation=notation),
        "reach": sentence(found.reach),
    }


# ---- criticality ---------------------------------------------------------------------------------------------------


def _class(report: Report) -> str:
    name, words = summary.class_and_words(report)
    colon, rest = (":", f" {prose(words)}") if words else ("", "")
    return rf"\textbf{{Universality class {prose(name)}{colon}}}{rest}".rstrip(".")


def _line(report: Report, heads: Heads) -> str:
    """The critical line as an equation, or as two along the fixed point."""
    notation = Notation({**heads, summary.STAR: "K^*"})
    if report.critical_line is not None:
        parts = summary.weights(report.critical_line_weights)
        where = " ".join(p if isinstance(p, str) else latex(p) for p in parts)
        shown = display("C_b", report.critical_line, tail="," if parts else ".", notation=notation)
        return f"{shown}\nfor ${where}$." if parts else shown
    if report.critical_curve is None:
        return ""
    weight, bias = summary.along(report.critical_curve)
    first = display("C_W", weight, tail=",", notation=notation)
    return f"{first}\n{display('C_b', bias, tail='.', notation=notation)}"


def _point(row: CriticalPoint, report: Report, heads: Heads) -> dict[str, object]:
    stars = [summary.STAR, *([row.K] if row.K == K or not row.exact else [])]  # K: on a line of points
    notation = Notation({**heads, **dict.fromkeys(stars, "K^*")})
    rows = []
    for name, value in (("K", row.K), ("C_W", row.C_W), ("C_b", row.C_b)):
        left = "K^*" if name == "K" else name
        if value in (K, row.along):
            rows.append(rf"{left} &\ \text{{any}}")
            continue
        rounded = summary.in_units(row, name)
        if rounded is not None:
            text = latex(rounded)
        else:
            text = "" if name == "K" and not row.exact else _short(value, name, row, report, notation)
        rows.append(f"{left} {_value(sp.sympify(value), text)}")
    if row.along == S_in:
        rows.append(rf"{notation.write(S_in)} &\ \text{{any, the variance inside of the averages}}")
    moves = summary.flow(row)
    return {
        "rows": " \\\\\n".join(rows),
        "stability": prose(summary.stability(row)),
        "flow": "" if moves is None else _flow(moves, notation),
    }


def _value(value: sp.Expr, formula: str) -> str:
    """``= formula = number``, either of which may be missing."""
    number = summary.value(value)
    if number is None or value.is_Integer:
        return f"&= {formula}"
    shown = decimal(number, summary.DIGITS)
    sign = "=" if sp.Rational(shown) == value.subs(gamma, 0) else r"\approx"
    at = r"\quad (\gamma = 0)" if value.has(gamma) else ""
    return rf"&= {formula} &\qquad &{sign} {shown}{at}" if formula else f"&{sign} {shown}{at}"


def _short(value: sp.Expr, name: str, row: CriticalPoint, report: Report, notation: Notation) -> str:
    """A critical value on one line: its closed form, or in averages where that is long; nothing if a number will do."""
    for candidate in (value, summary.in_averages(report, row, name) if name != "K" else None):
        if candidate is not None:
            lines = broken(candidate, 10.0 * _NARROW, notation)
            if len(lines) == 1 and width(lines[0]) <= _NARROW:
                return lines[0]
    if summary.value(value) is not None:
        return ""
    return " \\\\\n&\\quad ".join(broken(value, _WIDE, notation))


def _flow(moves: summary.Flow, notation: Notation) -> str:
    if moves.step == K:
        return (
            "Around $K = 0$ the difference $K' - K$ is smaller than every power of $K$: small kernels are preserved "
            "for very many layers, as in a scale-invariant network"
        )
    law = ""
    if moves.law is not None:
        law = rf", so that $K \approx {notation.write(moves.law)}$ in a deep layer $l$"
    return rf"Around $K = 0$ it is $K' = {notation.write(moves.step)} + \cdots${law}"


def _fixed_points(report: Report) -> list[str] | None:
    if report.fixed_points is None:
        return None
    rows = []
    for row in report.fixed_points:
        kernel = "any" if row.K == K else f"${number_text(row.K, 12)}$"
        slopes = (f"${number_text(slope, 12)}$" for slope in (row.chi_parallel, row.chi_perp))
        rows.append(" & ".join([kernel, *slopes, escape(row.phase)]))
    return rows


def _tokens(stack: StackOfTokens) -> dict[str, object]:
    """The table over the depth, and what it means."""
    rows = [[row.kernel, row.similarity, row.apjn] for row in stack.rows]
    return {
        "start": f"{stack.tokens} tokens; the first stream has kernel 1, and its tokens have nothing in common.",
        "rows": [
            " & ".join([str(row.layers), *(f"${number_text(value, _DIGITS)}$" for value in values)])
            for row, values in zip(stack.rows, rows, strict=True)
        ],
        "sentences": [_POWER.sub(r"$l^{\1}$", prose(text)) for text in stack.sentences],
    }


def _samples(report: Report) -> dict[str, object] | None:
    """A table of values, for theories whose functions have no formula to evaluate."""
    table = summary.samples(report)
    if table is None:
        return None
    notations = {q.name: q.notation for q in report.quantities}
    return {
        "heads": ["K", *(notations[name] for name in table.names)],
        "rows": [" & ".join([f"${_star(k)}$", *(f"${number_text(v, 10)}$" for v in row)]) for k, row in table.rows],
        "setting": settings(table.setting) if table.setting else "",
    }


def _deep(report: Report) -> str:
    """How kernel and Jacobian go with the depth: in the sentence, a long law displayed."""
    notation = Notation({summary.STAR: "K^*"})
    laws = summary.deep(report)
    parts = []
    for count, (left, law) in enumerate(laws, 1):
        tail = "," if count < len(laws) else "."
        inline = rf"{_star(left)} \sim {notation.write(law)}"
        if width(inline) > _INLINE:
            parts.append(display(_star(left), law, relation=r"\sim", tail=tail, notation=notation))
        else:
            parts.append(f"${inline}${tail}")
    if (relative := summary.correction(report)) is not None:
        parts.append(f"The next order of $K$, relative to this, is ${notation.write(relative)}$.")
    return "\n".join(parts)


def _star(text: str) -> str:
    return text.replace("K*", "K^*").replace("log J", r"\log J")


# ---- verdicts ------------------------------------------------------------------------------------------------------


def _check(row: Verdict, report: Report) -> dict[str, str]:
    notation = next((q.notation for q in report.quantities if q.name == row.quantity), "")
    return {
        "quantity": f"${notation}$" if notation else prose(row.quantity),
        "oracle": escape(row.oracle),
        "point": settings(row.point),
        "claimed": f"${number_text(row.claimed, 8)}$",
        "value": f"${number_text(row.found, 8)}$",
        "z": f"${float(row.z):.1f}$".replace("-0.0", "0.0"),
        "outcome": escape(row.outcome),
    }
