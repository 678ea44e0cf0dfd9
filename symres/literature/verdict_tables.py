"""What people read of judgements: tables, a claim whole, and the errata sheet."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import mpmath as mp
import sympy as sp

from ..core.errors import DeclarationError
from ..core.files import render
from ..notation import latex
from ..report.latex.prose import prose
from .formulas import Phi, tree
from .judging import Judgement, Number, words_of
from .printed_claims import VERDICTS

_ACTIVATIONS = {"phi": r"\phi", "phi_a": r"\phi_a", "phi_b": r"\phi_b"}
_SHOWN = 8  # digits of a value
_LABEL = 11  # columns of what a line is about
_DEVIATION = 9  # columns


def summary(judgements: Sequence[Judgement]) -> str:
    """A row for each document: how many claims have which verdict."""
    documents = dict.fromkeys(judgement.document.id for judgement in judgements)
    rows = [["document", "source", "claims", *(verdict.lower() for verdict in VERDICTS)]]
    for name in documents:
        of_document = [judgement for judgement in judgements if judgement.document.id == name]
        counts = [sum(judgement.verdict == verdict for judgement in of_document) for verdict in VERDICTS]
        rows.append([name, of_document[0].document.source, *map(str, (len(of_document), *counts))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *_unsound(judgements)])


def table(judgements: Sequence[Judgement]) -> str:
    """A line for each claim."""
    longest = max(len(judgement.claim.label) for judgement in judgements)
    verdicts = max(len(judgement.verdict) for judgement in judgements)
    lines = [
        f"{j.claim.label:{longest}}  {j.verdict:{verdicts}}  {_deviation(j):{_DEVIATION}}  {j.claim.states}"
        for j in judgements
    ]
    return "\n".join([*lines, *_unsound(judgements)])


def whole(judgement: Judgement, width: int = 80) -> str:
    """A claim with everything that its verdict rests on."""
    claim = judgement.claim
    at = ", ".join(f"{name} = {_shown(value)}" for name, value in judgement.shown_point.items())
    rows = [
        ("printed", claim.printed),
        *((name, f"{name} = {meaning}") for name, meaning in claim.where.items() if name in words_of(claim.printed)),
        ("derived", claim.derived or f"{claim.missing} is missing"),
        ("correct", claim.correct),
        ("witness", claim.witness),
        ("at", at),
        *((f"  {name}", _value(getattr(judgement, name))) for name in ("printed", "derived", "correct", "witness")),
        ("caveat", f"it holds {claim.caveat}" if claim.caveat else ""),
        ("reason", claim.reason),
        ("remark", judgement.remark if judgement.remark not in (claim.reason, f"it holds {claim.caveat}") else ""),
    ]
    head = f"{claim.id}  {claim.label}  {claim.kind}: {claim.states}"
    lines = [*textwrap.wrap(head, width), f"{judgement.document.authors}, {judgement.document.title}"]
    lines.append(f"{'verdict':{_LABEL}} {judgement.verdict}")
    for label, text in rows:
        name = "where" if text.startswith(f"{label} = ") else label
        for position, part in enumerate(textwrap.wrap(text, width - _LABEL - 1, break_on_hyphens=False)):
            lines.append(f"{name if position == 0 else '':{_LABEL}} {part}")
    return "\n".join(lines)


def errata(judgements: Iterable[Judgement], width: int = 80) -> str:
    """The claims that are wrong in print, each with its correction."""
    return "\n\n".join(whole(judgement, width) for judgement in judgements if judgement.verdict == "ERRATUM")


def errata_sheet(judgements: Sequence[Judgement]) -> str:
    """The same as a LaTeX document."""
    wrong = [judgement for judgement in judgements if judgement.verdict == "ERRATUM"]
    documents = {judgement.document.id: judgement.document for judgement in judgements}
    entries = [
        {
            "document": name,
            "title": f"{document.authors}: \\emph{{{document.title}}}, arXiv:{document.arxiv}",
            "claims": [
                {
                    "label": judgement.claim.label,
                    "states": prose(_sentence(judgement.claim.states)),
                    "printed": in_latex(judgement.claim.printed),
                    "correct": in_latex(judgement.claim.correct),
                    "where": _where_in_latex(judgement),
                    "reason": prose(_sentence(judgement.claim.reason)),
                    "numbers": prose(_values(judgement)),
                }
                for judgement in wrong
                if judgement.document.id == name
            ],
        }
        for name, document in documents.items()
    ]
    return render("errata.tex.j2", {"documents": [entry for entry in entries if entry["claims"]]})


def in_latex(text: str) -> str:
    """A printed formula in the document's own letters."""
    names = {name: _named(shown) for name, shown in _ACTIVATIONS.items()}
    try:
        return latex(tree(text, {}, names))
    except DeclarationError:
        return rf"\text{{{text}}}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _named(shown: str) -> Phi:
    return lambda argument, order: sp.Function(shown + "'" * order)(argument)


def _where_in_latex(judgement: Judgement) -> str:
    claim = judgement.claim
    words = words_of(claim.printed) | words_of(claim.correct)
    used = {name: meaning for name, meaning in claim.where.items() if name in words}
    return ", ".join(f"{latex(sp.Symbol(name))} = {in_latex(meaning)}" for name, meaning in used.items())


def _values(judgement: Judgement) -> str:
    at = ", ".join(f"{name} = {_shown(value)}" for name, value in judgement.shown_point.items())
    parts = [f"{name} {_value(getattr(judgement, name))}" for name in ("printed", "correct", "derived", "witness")]
    return f"{', '.join(parts)}" + (f" at {at}" if at else "")


def _unsound(judgements: Iterable[Judgement]) -> list[str]:
    return [f"! {judgement.claim.id}: {judgement.remark}" for judgement in judgements if not judgement.sound]


def _deviation(judgement: Judgement) -> str:
    return "" if judgement.verdict == "NOT DERIVABLE" else f"{judgement.deviation:.1e}"


def _value(value: Number | None) -> str:
    return "" if value is None else str(value) if isinstance(value, bool) else mp.nstr(mp.mpf(value), _SHOWN)


def _shown(value: object) -> str:
    return mp.nstr(mp.mpf(sp.N(value)), 6) if isinstance(value, sp.Rational) and value.q > 1 else str(value)
