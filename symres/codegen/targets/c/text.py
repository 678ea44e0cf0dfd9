"""The source of functions in C, with their declarations at its head."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sympy as sp

from ....core import files
from ...emission.emitter import argument, variable
from ...planning.module_plan import ModulePlan
from ...planning.plan import KERNELS, Component, Function
from ...scalar.descriptions import formula, head_lines, meaning, series_lines, units_and_errors
from ...scalar.functions import ScalarFunction, Text, component_function, component_texts
from ...scalar.library_source import Precision, library
from ...scalar.scalar_target import definitions, in_rows, parts_of, tables_of
from ...scalar.series import Series
from ...scalar.spelling import standard_functions
from ...scalar.translate import Names, translated
from ...wording import docstrings
from .declarations import KEYWORDS

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
REALS: Mapping[Precision, str] = {"double": "double", "single": "float"}
TITLE, PREFIX = "C", "symres_"
KNOWN = standard_functions()
TILE, NARROW, ROWS, PAIRS = 2048, 256, 32, 4096
_RANGE, _DIGITS = 120, 24  # powers of 2 that are floats, with room for coefficients; digits
_ARGUMENTS = ("entries", "rows", "columns", "step", "out", "symmetric", "blank", "every_C", "every_Theta")  # fmt: skip
ABOUT = (
    "Functions of double and, with the letter f at the end of their name, of float. NAME takes arrays of ``entries`` "
    "numbers. NAME_matrix takes K1 of each row, K2 of each column, and row-major matrices whose rows are ``step`` "
    "numbers apart. "
    "Parameters are single numbers. Modules that share a program need different prefixes: --prefix, in Python prefix=."
)


def module_text(plan: ModulePlan) -> str:
    """The source of some functions, their declarations at its head."""
    functions, components = parts_of(plan)
    about = [ABOUT, units_and_errors(plan.components, TITLE)]
    head = {
        "title": plan.title,
        "command": plan.command,
        "about": head_lines(about, plan.missing, 3),
        "prefix": plan.prefix,
        "documented": [_documented(f, s, plan.prefix) for f, s in zip(plan.functions, functions, strict=True)],
    }
    return _source(head, functions, components)


def component_module(component: Component) -> str:
    """The source of a component alone."""
    function, plain = component_function(component), component_texts([component])
    documented = {"meaning": component.name, "lines": [], "prototypes": prototypes(function)}
    head = {"title": component.name, "command": "", "about": [], "prefix": "", "documented": [documented]}
    return _source(head, [function], plain)


def _source(head: Mapping[str, Any], functions: Sequence[ScalarFunction], components: Mapping[str, Text]) -> str:
    values = {
        **{key: _plain(value) for key, value in head.items()},
        "machine": machine(),
        "tile": TILE,
        "rows": ROWS,
        "allocates": any(f.series is not None for f in functions),
        "narrow": NARROW,
        "pairs": PAIRS,
        "factors": max((len(f.series.factors) for f in functions if f.series is not None), default=0),
        "precisions": [_precision(kind, functions, components) for kind in REALS],
    }
    return files.render("module.c.j2", values, TEMPLATES)


def _plain(value: Any) -> Any:
    """Text that ends no comment."""
    return value.replace("*/", "* /") if isinstance(value, str) else value


def public(parameter: sp.Symbol) -> str:
    """The name of a parameter in declarations: the user's own, where that can be a name there.

    In capitals it may be a macro of a header, and with the ending of a type one of those.
    """
    name = argument(parameter)
    is_taken = (
        name in (*KEYWORDS, *_ARGUMENTS)
        or name.startswith(("step_", "SYMRES"))
        or name.endswith("_t")
        or name.isupper()
    )
    return variable(parameter) if is_taken or not name.isascii() else name


def prototypes(function: ScalarFunction, prefix: str = "") -> list[str]:
    """The declarations of a function for all types of numbers.

    Args:
        function: the function.
        prefix: what its name begins with.
    """
    out, name = [], f"{prefix}{function.name}"
    for real in REALS.values():
        suffix = "f" if real == "float" else ""
        scalars = [f"{real} {public(p)}" for p in function.parameters]
        arrays = [f"const {real} *{variable(s)}" for s in function.inputs]
        out.append(f"void {name}{suffix}({', '.join(['size_t entries', *arrays, *scalars, f'{real} *out'])});")
        if function.kept is not None:
            varying = list(map(variable, function.varying))
            matrices = [text for m in varying for text in (f"const {real} *{m}", f"size_t step_{m}")]
            listed = ["size_t rows", "size_t columns", *arrays[:2], *matrices, *scalars, f"{real} *out", "size_t step"]
            out.append(f"void {name}_matrix{suffix}({', '.join(listed)});")
    return out


def machine() -> str:
    """What the processor does."""
    return (HERE / "runtime" / "machine.h").read_text("utf-8")


def tables(components: Mapping[str, Text], names: Names) -> list[dict[str, Any]]:
    """The constants that components read: name and lines."""
    return [
        {"name": f"{name}{names.suffix}", "lines": in_rows([names.literal(n) for n in numbers])}
        for name, numbers in tables_of(components).items()
    ]


def _documented(planned: Function, function: ScalarFunction, prefix: str) -> dict[str, Any]:
    lines = [
        *formula(planned),
        *docstrings.argument_lines(planned.quantity, "array", "number", ""),
        "",
        *series_lines(function.series, 3),
        *docstrings.function_lines(planned, False),
    ]
    return {
        "meaning": _plain(meaning(planned, " * ")),
        "lines": list(map(_plain, lines)),
        "prototypes": prototypes(function, prefix),
    }


def _precision(
    precision: Precision, functions: Sequence[ScalarFunction], components: Mapping[str, Text]
) -> dict[str, Any]:
    tools = library(precision)
    names = Names(REALS[precision], KNOWN, PREFIX, tools.constants, frozenset(tables_of(components)))
    own = definitions([*(t.source for t in components.values()), *(s for f in functions for s in f.sources)])
    in_loops = ("valid", "directed") if any(f.kept is not None for f in functions) else ()
    needed = tools.needed(own, *in_loops)
    return {
        "real": names.real,
        "helpers": helpers(needed, own, [f.series for f in functions], names),
        "tables": tables(components, names),
        "functions": [_function(function, names) for function in functions],
    }


def helpers(
    needed: Iterable[ast.FunctionDef],
    own: Iterable[ast.FunctionDef],
    series: Iterable[Series | None],
    names: Names,
) -> str:
    """Functions of the library and of a module in C; before those of double, what series need of both.

    Args:
        needed: those of the library that the module calls.
        own: those of the module.
        series: those of the module; the coefficients are double for all types of numbers.
        names: the spelling.
    """
    found = [s for s in series if s is not None]
    if not found or names.real != "double":
        return translated([*needed, *own], names)
    tools, factors = library("double"), definitions([text for s in found for text in s.sources])
    before = tools.needed([*needed, *factors], *_SERIES)
    all_of = {tree.name: tree for tree in (*needed, *before)}
    ordered = [tree for name, tree in tools.functions.items() if name in all_of]
    runtime = (HERE / "runtime" / "series.h").read_text("utf-8")
    return "\n\n".join([translated(ordered, names), runtime, translated([*factors, *own], names)])


_SERIES = (  # what loops call
    "polynomials", "probed", "judge", "products", "squares", "remainders", "larger_tails", "row_of", "correlated",
    "chunk", "apart", "equal_in_row", "equal_apart",
)  # fmt: skip


def _function(function: ScalarFunction, names: Names) -> dict[str, Any]:
    real, inputs, own = names.real, list(map(variable, function.inputs)), list(map(variable, function.parameters))
    return {
        "name": f"{function.name}{names.suffix}",
        "inputs": "".join(f"const {real} *{name}, " for name in inputs),
        "scalars": "".join(f"{real} {name}, " for name in own),
        "call": f"{names.function(f'{function.name}_entry')}({', '.join([*(f'{name}[j]' for name in inputs), *own])})",
        "matrix": None if function.kept is None else _matrix(function, own, names),
        "series": None if function.series is None else _series(function, function.series, own, names),
        "wide": _wide(function, own) if names.suffix and function.steepest and function.series is None else None,
    }


def _wide(function: ScalarFunction, own: Sequence[str]) -> dict[str, str]:
    """How float functions compute in double, where powers of kernels or their rounding errors are no floats."""
    least, largest = (2.0 ** (power / function.steepest) for power in (_DIGITS - _RANGE, _RANGE))
    single = {name: f"{name}[j]" for name in map(variable, function.inputs)}
    matrix = (
        single | {"K1": "K1[i]", "K2": "K2[left + j]"} | {m: f"row_{m}[j]" for m in map(variable, function.varying)}
    )

    def call(given: dict[str, str]) -> str:
        if "C" in given:
            given = given | {"C": f"symres_rounded({given['K1']}, {given['K2']}, {given['C']})"}
        return f"{PREFIX}{function.name}_entry({', '.join([*given.values(), *own])})"

    kernels = [variable(s) for s in function.inputs if s in KERNELS]
    limits = f"{least!r}f, {largest!r}f"
    return {
        "limits": limits,
        "test": " | ".join(f"symres_is_wide({k}[j], {limits})" for k in kernels),
        "call": call(single),
        "matrix": call(matrix),
    }


def _series(function: ScalarFunction, series: Series, own: list[str], names: Names) -> dict[str, Any]:
    """What loops need to know of the series: names in the code of double."""
    calls = [
        (results, _call(function, side, [kernel, *own, *(f"&{r}" for r in results)], names))
        for side, kernel, results in zip(("first", "second"), ("k1", "k2"), function.own, strict=True)
        if results
    ]
    return {
        "of": series,
        "factors": f"{PREFIX}{function.name}_factors{names.suffix}",
        "parameters": ", ".join([*own, "0"]),
        "own": calls,
        "call": _call(function, "pair", function.pair_of_entries, names),
    }


def _call(function: ScalarFunction, tag: str, arguments: Sequence[str], names: Names) -> str:
    return f"{names.function(f'{function.name}_{tag}')}({', '.join(arguments)})"


def _matrix(function: ScalarFunction, own: list[str], names: Names) -> dict[str, Any]:
    first, second = function.own
    varying = list(map(variable, function.varying))

    def call(tag: str, kernel: str, results: list[str]) -> str:
        return _call(function, tag, [kernel, *own, *results], names)

    return {
        "name": f"{function.name}_matrix{names.suffix}",
        "inputs": ", ".join(f"const {names.real} *{m}, size_t step_{m}" for m in varying) + ", ",
        "first": first,
        "second": second,
        "varying": varying,
        "valid": names.function(function.valid),
        "of_first": call("first", "k1", [f"&{s}" for s in first]),
        "of_second": call("second", "k2[j]", [f"&{s}[j]" for s in second]),
        "call": _call(function, "pair", function.pair_of_row, names),
    }
