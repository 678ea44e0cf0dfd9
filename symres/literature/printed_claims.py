"""Claims: what documents print, and by which call it is derived, read from the files of ``documents``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import resources
from random import Random
from typing import Any

import sympy as sp

from ..activations.formula_parser import nearest
from ..core.errors import DeclarationError

KINDS = ("identity", "approximation", "inequality", "law", "existence", "number", "figure", "sentence")
VERDICTS = ("CONFIRMED", "CONFIRMED WITH CAVEAT", "ERRATUM", "NOT DERIVABLE")
_POINTS = 3  # at which both sides of a claim are compared, more where there are more choices
_STEPS = 1000  # between the ends of a range: numbers of few digits, none of them special

Domain = Mapping[str, Any]
Point = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """One printed result.

    Args:
        id: permanent, of the document and the number in it: ``doshi2023:24``.
        label: as printed: ``(24)``.
        kind: of ``KINDS``.
        states: what it says, in a line.
        printed: the printed relation in the document's own symbols (``formulas`` has its words); a number as printed.
        derived: a path into the public API (``paths``); empty where the result is not derivable.
        missing: the path that a derivation would take, where it is not derivable.
        where: the document's abbreviations.
        domain: from what points are drawn, by symbol: a text ``low..high``, a list of choices, or a value.
        expect: the verdict.
        correct: the correct relation, where the print is wrong.
        witness: a formula that shares nothing with the derivation and tells which of them is right.
        caveat: under which condition alone the print holds, in words.
        holds: that condition as a domain.
        error: relative, of an approximation.
        tolerance: relative, of a comparison.
        reason: why the print is wrong, or not derivable.
    """

    id: str
    label: str
    kind: str
    states: str
    printed: str
    derived: str = ""
    missing: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    domain: Domain = field(default_factory=dict)
    expect: str = "CONFIRMED"
    correct: str = ""
    witness: str = ""
    caveat: str = ""
    holds: Domain = field(default_factory=dict)
    error: float = 0.0
    tolerance: float = 1e-9
    reason: str = ""

    def points(self, symbols: set[str], restricted: bool = False) -> Iterator[Point]:
        """Random points of the domain, the same in every run.

        Args:
            symbols: the words of the claim: of choices only those are drawn that it has.
            restricted: whether to the condition under which alone the print holds.
        """
        domain = {name: law for name, law in self.domain.items() if name in symbols or not isinstance(law, list)}
        domain |= self.holds if restricted else {}
        choices = {name: law for name, law in domain.items() if isinstance(law, list)}
        random = Random(self.id)
        for position in range(max([_POINTS if domain.keys() & symbols else 1, *map(len, choices.values())])):
            yield {name: _drawn(law, position, random) for name, law in sorted(domain.items())}


def _drawn(law: Any, position: int, random: Random) -> Any:
    if isinstance(law, list):
        return law[position % len(law)]
    if isinstance(law, str) and ".." in law:
        low, high = map(sp.Rational, law.split(".."))
        return low + (high - low) * sp.Rational(random.randrange(1, _STEPS), _STEPS)
    return sp.Rational(law) if isinstance(law, str) and law[:1].isdigit() else law


@dataclass(frozen=True)
class Document:
    """A version of a document.

    Args:
        id: of its claims: ``doshi2023``.
        source: the number of its text: ``004``.
        title, authors, arxiv: what it is.
        symbols: what its letters are in the names of symres.
        claims: in the order of print.
    """

    id: str
    source: str
    title: str
    authors: str
    arxiv: str
    symbols: Mapping[str, str]
    claims: tuple[Claim, ...]


@cache
def documents() -> tuple[Document, ...]:
    """All documents, by their numbers."""
    files = sorted(resources.files(__package__).joinpath("documents").iterdir(), key=lambda file: file.name)
    merged: dict[str, Document] = {}
    for file in (file for file in files if file.name.endswith(".toml")):
        part = _document(tomllib.loads(file.read_text("utf-8")))
        before = merged.get(part.id)  # a long document is several files
        merged[part.id] = part if before is None else replace(before, claims=(*before.claims, *part.claims))
    return tuple(sorted(merged.values(), key=lambda document: document.source))


def chosen(text: str = "") -> tuple[tuple[Document, Claim], ...]:
    """The claims of ``DOCUMENT`` or ``DOCUMENT:LABEL``, by names or numbers; of an empty text all.

    Raises:
        DeclarationError: there is no such document or claim.
    """
    name, _, label = text.partition(":")
    matching = [d for d in documents() if name in ("", d.id, d.source)]
    if not matching:
        names = [d.id for d in documents()]
        raise DeclarationError(
            f"the document {name}", "it is not one", nearest(name, names) or f"use {', '.join(names)}"
        )
    pairs = tuple((d, claim) for d in matching for claim in d.claims if label in ("", claim.label, _stem(claim)))
    pairs = pairs or tuple((d, c) for d in matching for c in d.claims if _stem(c).startswith(f"{label.strip('()')}."))
    if not pairs:
        labels = [_stem(claim) for d in matching for claim in d.claims]
        advice = nearest(label, labels) or f"symres literature {name} lists them"
        raise DeclarationError(f"the claim {label} of {name}", "it is not one", advice)
    return pairs


def _stem(claim: Claim) -> str:
    return claim.id.partition(":")[2]


def _document(table: dict[str, Any]) -> Document:
    head = table["document"]
    where, domain = table.get("where", {}), table.get("domain", {})
    claims = []
    for entry in table["claim"]:
        unknown = entry.keys() - {f.name for f in fields(Claim)}
        if unknown:
            raise DeclarationError(f"the claim {entry['id']}", f"it has fields {sorted(unknown)}", "correct the file")
        merged = {"where": {**where, **entry.get("where", {})}, "domain": {**domain, **entry.get("domain", {})}}
        claims.append(Claim(**{**entry, **merged, "id": f"{head['id']}:{entry['id']}"}))
    return Document(**head, symbols=table.get("symbols", {}), claims=tuple(claims))
