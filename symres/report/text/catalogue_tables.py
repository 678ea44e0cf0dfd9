"""The tables of ``symres list``, the page of ``symres show``, and the facts about an activation in words."""

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
from .console import Line, Span, line
from .formula_text import Maths, Typed, wrap

_MEANINGS = {
    "C_W": "fan-in times the variance of a weight",
    "C_b": "variance of a bias",
    "gamma": "weight of the skip connection",
    "xi": "weight of the branch",
    "units": "number of units in the branch",
}
# What may happen to phi and its derivatives at a point: a jump, or no finite value.
_ORDERS = (
    ("jump", "infinite value"),
    ("kink", "infinite slope"),
    *((f"{order} derivative jumps", f"{order} derivative infinite") for order in ("second", "third", "fourth")),
)
_NO_NUMBERS = (sp.nan, sp.zoo, sp.oo, -sp.oo)
_NOUNS = 2  # of them take an s where there are several places


@dataclass(frozen=True)
class Entry:
    """What a list has of one name."""

    formula: str  # beside the name
    words: Sequence[str]  # below the formula
    record: Mapping[str, object]  # the same as plain data


def activation_entries(unicode: bool) -> dict[str, Entry]:
    """Every activation of the catalogue with its formula, which can be typed as it stands, and its facts."""
    records = {name: activation_record(phi, unicode) for name, phi in catalogue.activations.items()}
    return {name: Entry(str(record["formula"]), [str(record["facts"])], record) for name, record in records.items()}


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


def quantity_entries(unicode: bool) -> dict[str, Entry]:
    """Every observable with its sign and arguments, its meaning, unit and source."""
    from ...theory.observables import registry  # needs NumPy, which takes longer to load than a list to print

    maths, entries = Maths(unicode), {}
    for name, observable in registry.observables.items():
        sign = observable.sign[0 if unicode else 1]
        arguments = [maths(s) for s in observable.arguments]
        unit = "a number" if observable.unit == "1" else f"in units of {observable.unit}"
        record = {
            "name": name,
            "sign": sign,
            "arguments": arguments,
            "meaning": observable.meaning,
            "unit": observable.unit,
            "source": observable.source,
        }
        words = "; ".join(filter(None, (observable.meaning, unit, observable.source)))
        entries[name] = Entry(f"{sign}({', '.join(arguments)})", [words], record)
    return entries


def facts_of(phi: Activation, maths: Maths) -> str:
    """Parity, homogeneity, breakpoints and growth in one line."""
    facts: list[str] = [phi.parity] if phi.parity else []
    if phi.homogeneity is not None:
        facts.append(f"homogeneous of degree {phi.homogeneity}")
    for order, breaks in enumerate(broken_at(phi)):
        for word, places in breaks.items():
            plural = "s" * (len(places) > 1 and order < _NOUNS)
            facts.append(f"{word}{plural} at {', '.join(map(maths, places))}")
    if not phi.breakpoints:
        facts.append("smooth")
    return "; ".join([*facts, f"tails: {phi.growth}"])


def broken_at(phi: Activation) -> list[dict[str, list[sp.Expr]]]:
    """Breakpoints by the lowest derivative that jumps or is infinite there, each with its name; smooth ones last."""
    function, left = phi.pieces, list(phi.breakpoints)
    result: list[dict[str, list[sp.Expr]]] = []
    for jumping, infinite in _ORDERS:
        breaks: dict[str, list[sp.Expr]] = {}
        for b, jump in zip(function.breaks, function.jumps, strict=True):
            if b in left and jump != 0:
                breaks.setdefault(infinite if jump.has(*_NO_NUMBERS) else jumping, []).append(b)
                left.remove(b)
        result.append(breaks)
        if not left:
            return result
        function = function.diff()
    return [*result, {"formula changes": left}]


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
    """A table of what has a name: a formula beside it, and what else is to be said below."""
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
