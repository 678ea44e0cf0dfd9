"""What is said of functions and networks in comments and docstrings."""

from __future__ import annotations

from collections.abc import Iterable

from ..planning.network_plan import NetworkPlan
from ..planning.plan import Component, Function
from ..wording import docstrings
from .series import Series

SERIES = (
    "Averages of two variables are summed as series in the correlation, in float64, with the coefficients of an input "
    "computed once. Entries that may be off by more than 5e-13*sqrt(<f**2> <g**2>) are nan: nearly parallel, but "
    "different inputs of large kernels, for which the target numpy integrates."
)


def units_and_errors(components: Iterable[Component], title: str) -> str:
    """In which units numbers are, and on which code the errors of components of a target were measured."""
    code = docstrings.measured_code(components, title)
    return f"{docstrings.UNITS} Errors are those of float64, measured on {code}, against ball arithmetic."


def head_lines(about: Iterable[str], missing: Iterable[str], indent: int) -> list[str]:
    """What stands at the head of a module: sentences, and what it does not contain."""
    lines = [line for text in about for line in docstrings.wrapped(text, indent)]
    lacking = [f"    {line}" for text in missing for line in docstrings.wrapped(text, indent + 4, 4)]
    return [*lines, *(["", "Not contained:", "", *lacking] if lacking else [])]


def meaning(function: Function, beginning: str) -> str:
    """What it computes and for which parameters, in lines with so many characters at their beginning."""
    return f"\n{beginning}".join(docstrings.wrapped(docstrings.first_paragraph(function), 8))


def formula(function: Function) -> list[str]:
    """Its formula and what the names there stand for."""
    quantity = function.quantity
    where = docstrings.meanings(quantity)
    lines = [f"    {line}" for line in docstrings.formula_lines(quantity.definition, 8)]
    return [*lines, "", *(["where", "", *(f"    {line}" for line in where), ""] if where else [])]


def series_lines(series: Series | None, indent: int) -> list[str]:
    """How averages without a closed form are computed, where there are any."""
    return [] if series is None else docstrings.wrapped(SERIES, indent, 4)


def network_lines(plan: NetworkPlan) -> list[str]:
    """The layers of a network, and the parameters that it takes."""
    listed = [f"    {line}" for layer, count in plan.runs for line in docstrings.wrapped(f"{count} x {layer.label}", 8)]
    return ["The layers, from input to output:", "", *listed]


def parameter_lines(plan: NetworkPlan, kind: str) -> list[str]:
    """One entry for each parameter of a network."""
    return [line for parameter in plan.parameters for line in docstrings.parameter_lines(parameter, kind)]
