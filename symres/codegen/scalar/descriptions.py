"""What is said of functions and networks in comments and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..planning.network_plan import NetworkPlan
from ..planning.plan import Component, Function
from ..wording import docstrings
from .series import Series

SERIES = (
    "Averages of two variables are summed as series in the correlation, in float64, with the coefficients of an input "
    "computed once. Entries that may be off by more than 5e-13*sqrt(<f**2> <g**2>) are nan: nearly parallel, but "
    "different inputs of large kernels, for which the target numpy integrates."
)
SEVERAL = "a number, or a list of one for each layer"


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


def documented(function: Function, series: Series | None, arguments: Sequence[str], indent: int) -> list[str]:
    """What is said of a function: its formula and the names there, its arguments, how and how well it is computed.

    Args:
        function: the function.
        series: what it takes from series in the correlation, if anything.
        arguments: lines about them and about the result.
        indent: of the lines.
    """
    quantity = function.quantity
    where = docstrings.meanings(quantity)
    return [
        *(f"    {line}" for line in docstrings.formula_lines(quantity.definition, 8)),
        "",
        *(["where", "", *(f"    {line}" for line in where), ""] if where else []),
        *arguments,
        "",
        *([] if series is None else docstrings.wrapped(SERIES, indent, 4)),
        *docstrings.function_lines(function, False),
    ]


def network_lines(plan: NetworkPlan) -> list[str]:
    """The layers of a network, and the parameters that it takes."""
    listed = [f"    {line}" for layer, count in plan.runs for line in docstrings.wrapped(f"{count} x {layer.label}", 8)]
    return ["The layers, from input to output:", "", *listed]


def parameter_lines(plan: NetworkPlan, kind: str) -> list[str]:
    """One entry for each parameter of a network."""
    return [line for parameter in plan.parameters for line in docstrings.parameter_lines(parameter, kind)]


def network_functions(names: Sequence[str], explained: Sequence[str], depth: int, kind: str) -> list[dict[str, Any]]:
    """The functions of a network in Python: signatures, what is said of them, and their calls of compiled loops.

    Args:
        names: of the parameters.
        explained: a line or more for each of them.
        depth: how many layers there are.
        kind: what is computed in, for the inputs ``given``.
    """
    numbers = f"{{{', '.join(f'{name!r}: {name}' for name in names)}}}"
    of_pairs = (
        "K1: kernels of the first inputs, typically of shape (N, 1); K1 >= 0, nan else; array_like.",
        "K2: kernels of the second inputs, typically of shape (1, M); K2 >= 0, nan else; array_like.",
        "C: covariances of the inputs, of shape (N, M); array_like.",
        *explained,
        "Theta: tangent kernel of the inputs: 0 where no trained layer comes before; array_like.",
        "every_layer: whether to return the kernels behind every layer.",
    )
    of_rows = (
        "X1: inputs, array_like of shape (N, n0); the network sees kernels x.x'/n0.",
        "X2: others, of shape (M, n0); None stands for X1, and makes the matrices exactly symmetric.",
        *explained,
    )
    pairs = "two arrays of the broadcast shape. With ``every_layer`` they have a leading axis: entry l is that"
    results = f"    (C, Theta): {pairs}", "    behind l layers, entry 0 what was passed."
    return [
        {
            "name": "dual_kernel",
            "signature": ", ".join(["K1, K2, C", *names, "*", "Theta=0.0", "every_layer=False"]),
            "meaning": "Kernel and tangent kernel of two inputs behind all layers.",
            "lines": ["Args:", *(f"    {line}" for line in of_pairs), "", "Returns:", *results],
            "body": [
                f"given, numbers = (K1, K2, C), {numbers}",
                f"return pairs_through_layers(_dual_kernel, {depth}, (*given, Theta), numbers, every_layer, {kind})",
            ],
        },
        {
            "name": "dual_kernel_matrix",
            "signature": ", ".join(["X1", "X2=None", *(["*", *names] if names else [])]),
            "meaning": "Kernel and tangent kernel of rows of feature matrices, as Gaussian processes take them.",
            "lines": [
                "Args:",
                *(f"    {line}" for line in of_rows),
                "",
                "Returns:",
                "    (C, Theta): two arrays of shape (N, M).",
            ],
            "body": [
                f"given, numbers = (X1, X1 if X2 is None else X2), {numbers}",
                f"kernels = _kernels_beside_threads(X1, X2, {kind})",
                f"return rows_through_layers(_dual_kernel_matrix, {depth}, kernels, X2 is None, numbers)",
            ],
        },
    ]
