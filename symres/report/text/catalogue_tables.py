"""The tables of ``symres list`` and the page of ``symres show``."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable

import sympy as sp

from ...activations import catalogue
from ...activations.activation import Activation, file_stem
from ...core.symbols import SHARED
from ...layers import architectures
from ...layers.layer import Layer
from .activation_facts import facts_of
from .console import Line, Span, line
from .formula_text import Maths, Typed
from .line_breaking import wrap

_MEANINGS = {
    "C_W": "fan-in times the variance of a weight",
    "C_b": "variance of a bias",
    "gamma": "factor of the skip connection",
    "xi": "factor of the branch",
}


def activation_table(width: int, unicode: bool) -> list[Line]:
    """Name and formula in one row, the facts under it; a formula can be typed as it stands."""
    maths, typed = Maths(unicode), Typed()
    known = catalogue.activations
    column = max(map(len, known), default=0) + 2
    lines = table_head("Activations", width, unicode)
    for name, phi in known.items():
        formula = wrap(typed(phi.expr), width - column)
        lines.append(line(Span(name.ljust(column), "bold"), formula[0]))
        lines += [line(" " * column, text) for text in formula[1:]]
        facts = textwrap.wrap(facts_of(phi, maths), width - column)
        lines += [line(" " * column, Span(text, "dim")) for text in facts]
    return lines


def layer_table(width: int, unicode: bool) -> list[Line]:
    """Name and forward equation with all its parameters, what the layer is, and what they are."""
    phi = Activation("phi", sp.tanh(catalogue.z))  # any activation: only its letter is printed
    maths = Maths(unicode, phi.formula)
    known = architectures.architectures
    column = max(map(len, known), default=0) + 2
    lines = table_head("Layers", width, unicode)
    for name, build in known.items():
        free = {option.name: SHARED[option.name] for option in _options(build) if option.name in SHARED}
        equation = wrap(f"z' = {maths(build(phi, **free).forward)}", width - column)
        lines.append(line(Span(name.ljust(column), "bold"), equation[0]))
        lines += [line(" " * column, text) for text in equation[1:]]
        about = (build.__doc__ or "").strip().split("\n")[0].split(",")[0]
        lines.append(line(" " * column, Span(about, "dim")))
        parameters = textwrap.wrap(f"parameters: {', '.join(_parameters(build, phi))}", width - column)
        lines += [line(" " * column, Span(text, "dim")) for text in parameters]
    return lines


def facts_page(phi: Activation, width: int, unicode: bool) -> list[Line]:
    """One activation: formula, facts, parameters, source."""
    maths = Maths(unicode, phi.formula)
    rows = [(f"{maths(phi.formula)}(z)", maths(phi.expr)), ("facts", facts_of(phi, maths))]
    if phi.parameters:
        rows.append(("parameters", ", ".join(f"{maths(p)} ({_assumption(p)})" for p in phi.parameters)))
    if phi.source:
        rows.append(("source", phi.source))
    rows.append(("identifier", file_stem(phi)))
    column = max(len(label) for label, _ in rows) + 2
    lines = table_head(phi.name, width, unicode)
    for label, text in rows:
        is_formula = label == rows[0][0]
        parts = wrap(text, width - column) if is_formula else textwrap.wrap(text, width - column)
        lines.append(line(Span(label.ljust(column), "bold"), parts[0]))
        lines += [line(" " * column, part) for part in parts[1:]]
    return lines


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
