"""The tables of ``symres list`` and the page of ``symres show``."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from ...activations import catalogue
from ...activations.activation import Activation, file_stem
from ...core.symbols import SHARED, z
from ...functions.function_record import explained
from ...layers import architectures
from ...layers.layer import Layer
from ...notation import latex
from .activation_facts import facts_of
from .console import Line, Span, line
from .formula_text import Maths, Typed
from .line_breaking import wrap

_MEANINGS = {
    "C_W": "fan-in times the variance of a weight",
    "C_b": "variance of a bias",
    "gamma": "weight of the skip connection",
    "xi": "weight of the branch",
    "units": "number of units in the branch",
}


@dataclass(frozen=True)
class Entry:
    """What a list has of one name."""

    formula: str  # beside the name
    words: Sequence[str]  # below the formula
    record: Mapping[str, object]  # the same as plain data


def activation_entries(unicode: bool) -> dict[str, Entry]:
    """Every activation of the catalogue with its formula, which can be typed as it stands, and its facts."""
    maths, typed = Maths(unicode), Typed()
    entries = {}
    for name, phi in catalogue.activations.items():
        record = activation_record(phi, unicode)
        entries[name] = Entry(typed(phi.expr), [facts_of(phi, maths)], record)
    return entries


def activation_record(phi: Activation, unicode: bool) -> dict[str, object]:
    """An activation as plain data: its formula as it is typed and in LaTeX, domains of its parameters, its facts."""
    return {
        "name": phi.name,
        "formula": Typed()(phi.expr),
        "latex": latex(phi.expr),
        "parameters": {str(p): _assumption(p) for p in phi.parameters},
        "facts": facts_of(phi, Maths(unicode)),
        "source": phi.source,
        "identifier": file_stem(phi.formula),
    }


def layer_entries(unicode: bool) -> dict[str, Entry]:
    """Every architecture with its forward equation, what it is, and its parameters."""
    phi = Activation("phi", sp.tanh(catalogue.z))  # any activation: only its letter is printed
    maths = Maths(unicode, phi.formula)
    entries = {}
    for name, build in architectures.architectures.items():
        free = {option.name: SHARED[option.name] for option in _options(build) if option.name in SHARED}
        about = (build.__doc__ or "").strip().split("\n")[0].split(",")[0]
        forward, parameters = maths(build(phi, **free).forward), _parameters(build, phi)
        record = {"name": name, "forward": forward, "meaning": about, "parameters": parameters}
        entries[name] = Entry(f"z' = {forward}", [about, f"parameters: {', '.join(parameters)}"], record)
    return entries


def facts_page(phi: Activation, width: int, unicode: bool) -> list[Line]:
    """One activation: formula, facts, parameters, source."""
    maths = Maths(unicode, phi.formula)
    rows = [(maths(record.kind(z)), maths(definition)) for record, definition in explained(phi.expr)]
    rows.append(("facts", facts_of(phi, maths)))
    if phi.parameters:
        rows.append(("parameters", ", ".join(f"{maths(p)} ({_assumption(p)})" for p in phi.parameters)))
    if phi.source:
        rows.append(("source", phi.source))
    rows.append(("identifier", file_stem(phi.formula)))
    head = f"{maths(phi.formula)}(z)"
    column = max(len(label) for label in (head, *dict(rows))) + 2
    lines = _entry(head, wrap(maths(phi.expr), width - column), column)
    lines += [row for label, text in rows for row in _entry(label, textwrap.wrap(text, width - column), column)]
    return table_head(phi.name, width, unicode) + lines


def table(title: str, entries: Mapping[str, Entry], width: int, unicode: bool) -> list[Line]:
    """A table of what has a name: a formula beside it, and what else is to be said below.

    Args:
        title: of the table.
        entries: by name.
        width: columns.
        unicode: whether mathematical characters can be shown.
    """
    column = max(map(len, entries), default=0) + 2
    lines = table_head(title, width, unicode)
    for name, entry in entries.items():
        lines += _entry(name, wrap(entry.formula, width - column), column)
        below = [row for text in entry.words for row in textwrap.wrap(text, width - column)]
        lines += [line(" " * column, Span(row, "dim")) for row in below]
    return lines


def _entry(label: str, rows: Sequence[str], column: int) -> list[Line]:
    """Rows beside a label."""
    first, *others = rows
    return [line(Span(label.ljust(column), "bold"), first), *(line(" " * column, row) for row in others)]


def _parameters(build: Callable[..., Layer], phi: Activation) -> list[str]:
    """The parameters that --set takes for a layer; those with a default are shown with that number."""
    numbers = {str(p): "" for p in build(phi).parameters}
    numbers |= {o.name: f" = {o.default}" for o in _options(build) if not isinstance(o.default, sp.Symbol)}
    return [f"{p}{number} ({_MEANINGS[p]})" if p in _MEANINGS else f"{p}{number}" for p, number in numbers.items()]


def _options(build: Callable[..., Layer]) -> list[inspect.Parameter]:
    """The arguments of a layer besides the activation."""
    return list(inspect.signature(build).parameters.values())[1:]


def _assumption(parameter: sp.Symbol) -> str:
    for word in ("positive", "nonnegative", "negative", "integer"):
        if getattr(parameter, f"is_{word}"):
            return word
    return "real"


def table_head(title: str, width: int, unicode: bool) -> list[Line]:
    """The title of a table."""
    return [line(Span(title, "bold blue")), line(Span(("─" if unicode else "-") * width, "dim"))]
