"""What is said of functions and networks in comments and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..planning.network_plan import NetworkPlan, NetworkState
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


def network_functions(
    names: Sequence[str], explained: Sequence[str], depth: int, kind: str, state: NetworkState
) -> list[dict[str, Any]]:
    """The functions of a network in Python: signatures, what is said of them, and their calls of compiled loops.

    Args:
        names: of the parameters.
        explained: a line or more for each of them.
        depth: how many layers there are.
        kind: what is computed in, for the inputs ``given``.
        state: what goes through the layers.
    """
    numbers = f"{{{', '.join(f'{name!r}: {name}' for name in names)}}}"
    texts = {s.name: f"{s}: {text}; array_like." for s, text in docstrings.network_arguments(state).items()}
    first, second, both, tangents = (
        [s.name for s in group] for group in (state.first, state.second, state.both, state.tangents)
    )
    every = "every_layer: whether to return the kernels behind every layer."
    of_pairs = (*(texts[n] for n in (*first, *second, *both)), *explained, *(texts[n] for n in tangents), every)
    of_rows = (
        "X1: inputs, array_like of shape (N, n0); the network sees kernels x.x'/n0.",
        "X2: others, of shape (M, n0); None stands for X1, and makes the matrices exactly symmetric.",
        *explained,
    )
    behind = "arrays of the broadcast shape. With ``every_layer`` they have a leading axis: entry l is that"
    ends = "    behind l layers, entry 0 what was passed."

    def function(
        name: str, arguments: Sequence[str], meaning: str, lines: Sequence[str], result: str, body: str
    ) -> Any:
        about = ["Args:", *(f"    {line}" for line in lines), "", "Returns:", f"    {result}"]
        inputs = ", ".join(a for a in arguments if "=" not in a and a not in (*names, "*"))
        head = f"given, numbers = ({inputs}), {numbers}"
        return {
            "name": name,
            "signature": ", ".join(arguments),
            "meaning": meaning,
            "lines": about,
            "body": [head, body],
        }

    def through(name: str, fixed: Sequence[str], moving: Sequence[str]) -> str:
        read = f"({', '.join(fixed)}{',' * (len(fixed) == 1)})"
        listed = f"_{name}, {depth}, {read}, ({', '.join(moving)}), numbers, every_layer, {kind}"
        return f"through_layers({listed})"

    kernels = [f"_covariances({first[0]}, {second[0]}, {c}, {kind})" for c in both]
    dual = function(
        "dual_kernel",
        [*first, *second, *both, *names, "*", *(f"{n}=0.0" for n in tangents), "every_layer=False"],
        f"Kernel and tangent kernel of two {'sequences' if state.changes else 'inputs'} behind all layers.",
        of_pairs,
        f"({', '.join((*both, *tangents))}): {'four' if state.changes else 'two'} {behind}",
        f"return {through('dual_kernel', (*first, *second), (*kernels, *tangents))}",
    )
    dual["lines"].append(ends)
    if state.changes:
        alone = [texts[s.name] for s in state.one]
        one = [s.name for s in state.one]
        of_one = function(
            "kernels",
            [*one, *names, "*", "every_layer=False"],
            "Kernel of a token and covariance of two tokens behind all layers.",
            [*alone, *explained, every],
            f"({', '.join(one)}): two {behind}",
            f"return {through('kernels', (), one)}",
        )
        of_one["lines"].append(ends)
        start = ("1.0", "float(tokens == 'all')")
        changes = function(
            "apjn",
            [*one, *names, "*", "tokens='one'", "every_layer=False"],
            "The averaged partial Jacobian norm of all layers.",
            [
                *alone,
                *explained,
                "tokens: 'one': the squared derivatives of a token in all of the input, summed; 'all': these are moved",
                "    alike.",
                "every_layer: whether to return that from the input to behind every layer.",
            ],
            "array of the broadcast shape; with ``every_layer`` entry l is that behind l layers, entry 0 is 1.",
            f"return {through('apjn', one, start)}[0]",
        )
        refused = "raise ValueError(f\"tokens is {tokens!r}, not 'one' or 'all'\")"
        changes["body"][:0] = ["if tokens not in ('one', 'all'):", f"    {refused}"]
        return [of_one, changes, dual]
    matrices = function(
        "dual_kernel_matrix",
        ["X1", "X2=None", *(["*", *names] if names else [])],
        "Kernel and tangent kernel of rows of feature matrices, as Gaussian processes take them.",
        of_rows,
        "(C, Theta): two arrays of shape (N, M).",
        f"kernels = _kernels_beside_threads(X1, X2, {kind})",
    )
    matrices["body"][0] = f"given, numbers = (X1, X1 if X2 is None else X2), {numbers}"
    matrices["body"].append(f"return rows_through_layers(_dual_kernel_matrix, {depth}, kernels, X2 is None, numbers)")
    return [dual, matrices]
