"""What is said of functions and networks in comments and docstrings."""

from __future__ import annotations

from ..emission.emitter import argument
from ..planning.network_plan import NetworkPlan
from ..planning.plan import Function
from ..wording import docstrings
from .series import Series

HEAD = docstrings.UNITS + " Errors are those of float64, measured on {code}, against ball arithmetic."

SERIES = (
    "Averages of two variables are summed as series in the correlation, in float64, with the coefficients of an input "
    "computed once. Entries that may be off by more than 5e-13*sqrt(<f**2> <g**2>) are nan: nearly parallel, but "
    "different inputs of large kernels, for which the target numpy integrates."
)


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
    lines = []
    for parameter in plan.parameters:
        text = docstrings.ARGUMENTS.get(parameter, docstrings.OTHER)
        lines += docstrings.wrapped(f"{argument(parameter)}: {text}; {kind}.", 8, 4)
    return lines
