"""The modules of functions and networks for Numba."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....core import files
from ...arrays.array_target import FEATURE_ROWS
from ...arrays.runtime_library import RuntimeLibrary
from ...emission.emitter import OUT, argument, variable
from ...planning.module_plan import ModulePlan
from ...planning.network_plan import NetworkPlan
from ...planning.plan import Component, Function
from ...scalar import arrays
from ...scalar.descriptions import (
    SERIES,
    formula,
    head_lines,
    meaning,
    network_lines,
    parameter_lines,
    series_lines,
    units_and_errors,
)
from ...scalar.functions import ScalarFunction, Text, component_function, component_texts
from ...scalar.inlining import definitions as inlined_definitions
from ...scalar.inlining import renamed
from ...scalar.library_source import called, library
from ...scalar.networks import ScalarLayer, scalar_layer
from ...scalar.scalar_target import definitions, in_rows, parts_of, tables_of
from ...scalar.spelling import standard_functions
from ...wording import docstrings
from ...wording.function_names import signature

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
ARRAYS = RuntimeLibrary.read(Path(arrays.__file__), FEATURE_ROWS)
TITLE, PREFIX = "Numba", "_"
MATH = sorted(standard_functions() - {"fma"})
ABOUT = (
    "Functions take the kernels, then the parameters that their value depends on. Arrays broadcast; everything is "
    "computed in float64, and returned in float32 if all inputs are. Functions are compiled at their first call, and "
    "loops over large arrays run in threads (numba.set_num_threads)."
)
CONVENTIONS = f"{docstrings.PARAMETRISATION} {docstrings.INPUTS}."


def module_text(plan: ModulePlan) -> str:
    """The module of some functions."""
    functions, components = parts_of(plan)
    about = [ABOUT, units_and_errors(plan.components, TITLE)]
    lines = head_lines(about, plan.missing, 0)
    quantities = [f.quantity for f in plan.functions]
    begins = _begins(functions)
    public = [
        {
            **_function(s, begins[s.name]),
            **_documented(f, s),
            "signature": signature(f.quantity, quantities, [f"{OUT}=None"]),
        }
        for f, s in zip(plan.functions, functions, strict=True)
    ]
    return _text("functions.py.j2", plan.title, plan.command, lines, functions, components, {"functions": public})


def component_module(component: Component) -> str:
    """The module of a component alone."""
    function = component_function(component)
    listed = ", ".join(map(argument, (*function.inputs, *function.parameters)))
    public = {**_function(function, 0), "meaning": component.name, "lines": [], "signature": f"{listed}, *, {OUT}=None"}
    components = component_texts([component])
    values = {"functions": [public]}
    return _text("functions.py.j2", component.name, "", [], [function], components, values, threads=False)


def network_text(plan: NetworkPlan) -> str:
    """The module of a network."""
    layers = {layer.name: scalar_layer(layer, plan.is_sharp) for layer in plan.layers}
    components = component_texts(plan.called)
    order = [layers[layer.name] for layer, count in plan.runs for _ in range(count)]
    begins = _begins(list(layers.values()))
    series = [SERIES] if any(layer.series is not None for layer in order) else []
    about = [CONVENTIONS, *series, units_and_errors(plan.components, TITLE)]
    lines = [*network_lines(plan), "", *head_lines(about, (), 0)]
    parameters = list(map(variable, plan.parameters))
    values = {
        "parameters": list(map(argument, plan.parameters)),
        "explained": parameter_lines(plan, "a number, or a list of one for each layer"),
        "layers": [_layer(layer, parameters, begins[layer.name], k) for k, layer in enumerate(layers.values())],
        "expanding": any(layer.series is not None for layer in order),
        "kinds": [list(layers).index(layer.name) for layer in order],
        "kept": 2 + max(layer.own for layer in order),
        "sharp": plan.is_sharp,
    }
    return _text("network.py.j2", plan.title, plan.command, lines, list(layers.values()), components, values)


def _text(
    template: str,
    title: str,
    command: str,
    about: Sequence[str],
    functions: Sequence[ScalarFunction | ScalarLayer],
    components: Mapping[str, Text],
    values: Mapping[str, Any],
    threads: bool = True,
) -> str:
    tools = library("double")
    series = [f.series for f in functions if f.series is not None]
    sources = [*(t.source for t in components.values()), *(s for f in functions for s in f.sources)]
    own = definitions([*(s for found in series for s in found.sources), *sources])
    constants = {**tools.constants, "INFINITY": "inf", "NAN": "nan"}
    loops = files.render(template, values, TEMPLATES).strip("\n")
    runtime = (HERE / "runtime" / "expansions.py").read_text("utf-8") if series else ""
    expansions = [
        {"kind": _EXPANSIONS[t.name], "text": inlined_definitions(ast.unparse(t))[0]}
        for t in definitions([runtime])
        if t.name in _EXPANSIONS  # the others are those that the module defines
    ]
    in_loops = called(ast.parse("\n".join([loops, *(e["text"] for e in expansions)])))
    needed = tools.needed(own, *(name.removeprefix(PREFIX) for name in in_loops))
    helpers = [
        {"kind": _kind(tree), "text": _in_doubles(renamed(tree, frozenset(MATH), PREFIX, constants))}
        for tree in (*needed, *own)
    ]
    code = "\n".join([loops, *(h["text"] for h in helpers)])
    tables = [{"name": n, "lines": in_rows(list(map(repr, t)))} for n, t in tables_of(components).items()]
    return files.render(
        "module.py.j2",
        {
            "title": docstrings.quoted(title),
            "command": docstrings.quoted(command),
            "about": about,
            "threads": threads,
            "math": [name for name in (*MATH, "inf", "nan") if _is_used(name, code)],
            "names": [t.name for t in definitions([loops]) if not t.name.startswith("_")],
            "machine": inlined_definitions((HERE / "runtime" / "intrinsics.py").read_text("utf-8")),
            "arrays": ARRAYS.definitions(loops),
            "helpers": helpers,
            "series": [factor.name for found in series for factor in found.factors],
            "expansions": expansions,
            "loops": loops,
            "tables": tables,
        },
        TEMPLATES,
    )


_EXPANSIONS = {
    "_root": "_plain", "_chosen": "_plain", "_part": "_loop", "_room": "_plain", "_expansions": "_plain",
    "_block_of": "_scalar",
}  # fmt: skip


def _in_doubles(text: str) -> str:
    """A function that squares a narrow C as a double, in which the square is finite; kernels are doubles already.

    C itself stays narrow: what rounding may add to it depends on its type.
    """
    return re.sub(r"\bC \* C\b", "1.0 * C * C", text)


def _kind(tree: ast.FunctionDef) -> str:
    """The decorator of a scalar function, and of one that fills arrays."""
    fills = any(a.annotation is not None and ast.unparse(a.annotation) == "Written" for a in tree.args.args)
    return "_plain" if fills else "_scalar"


def _is_used(name: str, code: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(code)))


def _begins(functions: Sequence[ScalarFunction | ScalarLayer]) -> dict[str, int]:
    """The number of the first function that each of them expands, by name."""
    found, number = {}, 0
    for f in functions:
        found[f.name] = number
        number += len(f.series.factors) if f.series is not None else 0
    return found


def _documented(planned: Function, function: ScalarFunction) -> dict[str, Any]:
    arguments = docstrings.argument_lines(planned.quantity, "array_like")
    lines = [
        *formula(planned),
        "Args:",
        *(f"    {line}" for line in arguments),
        f"    {OUT}: array of the broadcast shape that receives the result.",
        "",
        "Returns:",
        f"    array of the broadcast shape (a number if all arguments are numbers), or ``{OUT}``.",
        "",
        *series_lines(function.series, 4),
        *docstrings.function_lines(planned, False),
    ]
    return {"meaning": meaning(planned, "    "), "lines": lines}


def _listed(names: Iterable[str]) -> str:
    return "".join(f"{name}, " for name in names)


def _function(function: ScalarFunction, begin: int) -> dict[str, Any]:
    inputs, own = list(map(variable, function.inputs)), list(map(variable, function.parameters))
    found: dict[str, Any] = {
        "name": function.name,
        "inputs": _listed(inputs),
        "parameters": _listed(own),
        "given": _listed(map(argument, function.parameters)),
        "call": f"_{function.name}_entry({', '.join([*(f'{name}[j]' for name in inputs), *own])})",
        "matrix": None,
        "series": None,
    }
    if function.kept is not None:
        first, second = function.own
        found["matrix"] = {
            "first": first,
            "second": second,
            "varying": list(map(variable, function.varying)),
            "valid": f"_{function.valid}",
            "of_first": f"_{function.name}_first({', '.join(['k1', *own])})",
            "of_second": f"_{function.name}_second({', '.join(['k2[j]', *own])})",
            "call": f"_{function.name}_pair({', '.join(function.pair_of_row)})",
        }
    if function.series is not None:
        found["series"] = {
            "of": function.series,
            "begin": begin,
            "own": function.of_each_input(PREFIX, "k1", "k2"),
            "call": f"_{function.name}_pair({', '.join(function.pair_of_entries)})",
        }
    return found


def _layer(layer: ScalarLayer, parameters: Sequence[str], begin: int, kind: int) -> dict[str, Any]:
    own = [f"parameters[{parameters.index(variable(p))}, layer]" for p in layer.parameters]
    numbers = [f"p{k}" for k in range(len(own))]
    kept = ["kernel", *(f"values[layer, {2 + k}, i]" for k in range(layer.own))]
    second = ["two[0, left + j]", *(f"two[{2 + k}, left + j]" for k in range(layer.own))]
    following = ["two_next[0, left + j]", "two_next[1, left + j]"]

    sums = [] if layer.series is None else [f"{s}[j]" for s in layer.series.symbols]

    def call(tag: str, *arguments: str) -> str:
        return f"_{layer.name}_{tag}({', '.join(arguments)})"

    def calls(first: Sequence[str], next_kernel: str, next_root: str) -> dict[str, str]:
        pair = [*first, *second, "C[j]"]
        gap = call("gap", *pair, "D[j]", f"{next_root}*two_next[1, left + j]", *numbers)
        step = call("step", *pair, "Theta[j]", "D[j]", next_kernel, next_root, *following, *sums, *numbers)
        return {"step": step, "gap": gap if layer.gap is not None else ""}

    shared = ["first", *(f"first{k}" for k in range(layer.own))]  # read once: a loop may write to any array
    apart = ["one[0, left + j]", *(f"one[{2 + k}, left + j]" for k in range(layer.own))]
    read = zip(shared, ["one[0, i]", *(f"one[{2 + k}, i]" for k in range(layer.own))], strict=True)
    return {
        "name": layer.name,
        "kind": kind,
        "series": layer.series and {"of": layer.series, "begin": begin, "parameters": ", ".join([*own, "0.0"])},
        "numbers": list(zip(numbers, own, strict=True)),
        "read": list(read),
        "one": f"{_listed(kept).strip()} = {call('one', 'counted', *own)}",
        "shared": calls(shared, "next_kernel", "next_root"),
        "apart": calls(apart, "one_next[0, left + j]", "one_next[1, left + j]"),
    }
