"""The source of functions in C, with their declarations at its head."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sympy as sp

from ....core import files
from ...emission.emitter import variable
from ...planning.module_plan import ModulePlan
from ...planning.plan import Component, Function
from ...scalar.descriptions import HEAD, formula, meaning
from ...scalar.functions import ScalarFunction, Text, component_function, component_text
from ...scalar.library_source import Precision, library
from ...scalar.scalar_target import definitions, in_rows, parts_of, tables_of
from ...scalar.smooth_averages import AveragedFunction, is_series
from ...scalar.translate import Names, translated
from ...wording import docstrings

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
REALS: Mapping[Precision, str] = {"double": "double", "single": "float"}
PREFIX = "symres_"
KNOWN = frozenset({
    "acos", "asin", "asinh", "atan", "copysign", "cos", "cosh", "erf", "erfc", "fabs", "fma", "log", "log1p", "pow",
    "sin", "sinh", "sqrt", "tan",
})  # fmt: skip
TILE, ROWS = 2048, 32
ABOUT = (
    "Functions of double and, with the letter f behind their name, of float. One with a plain name takes arrays of so "
    "many entries. NAME_matrix takes K1 of each row, K2 of each column, and matrices whose rows are ``step`` numbers "
    "apart. Parameters are numbers."
)

SERIES = (
    "Averages of two smooth functions without a closed form are computed as series in the correlation "
    "C/sqrt(K1*K2), their coefficients once for each kernel. What the terms leave is bounded in each call (Bessel's "
    "inequality): at most 2e-14 of sqrt(<f**2> <g**2>) where kernels allow that, 1e-12 else; what would exceed that, "
    "at large kernels with correlations near 1, is nan. So is everything where there is no memory for coefficients."
)


def module_text(plan: ModulePlan, title: str) -> str:
    """The source of a module.

    Args:
        plan: its functions.
        title: the name of the target in messages.
    """
    functions, components = parts_of(plan)
    about = [ABOUT, HEAD.format(code=docstrings.measured_code(plan.components, title))]
    about += [SERIES] if any(f.series for f in functions) else []
    lines = [line for text in about for line in docstrings.wrapped(text, 3)]
    lacking = [line for text in plan.missing for line in docstrings.wrapped(text, 7, 4)]
    if lacking:
        lines += ["", "Not contained:", "", *(f"    {line}" for line in lacking)]
    names = [f.quantity.name for f in plan.functions]
    head = {
        "title": plan.title,
        "command": plan.command,
        "about": lines,
        "guard": names[0] if len(names) == 1 else "THEORY",
        "documented": [_documented(f, s) for f, s in zip(plan.functions, functions, strict=True)],
    }
    return _source(head, functions, components)


def component_module(component: Component) -> str:
    """The source of a component alone."""
    function = component_function(component)
    plain = {} if is_series(component) else {component.name: component_text(component)}
    documented = {"meaning": component.name, "lines": [], "prototypes": prototypes(function)}
    head = {"title": component.name, "command": "", "about": [], "guard": "ALONE", "documented": [documented]}
    return _source(head, [function], plain)


def _source(head: Mapping[str, Any], functions: Sequence[ScalarFunction], components: Mapping[str, Text]) -> str:
    values = {
        **{key: _plain(value) for key, value in head.items()},
        "machine": machine(),
        "tile": TILE,
        "rows": ROWS,
        "allocates": any(f.series for f in functions),
        "series": series() if any(f.series for f in functions) else "",
        "precisions": [_precision(kind, functions, components) for kind in REALS],
    }
    return files.render("module.c.j2", values, TEMPLATES)


def _plain(value: Any) -> Any:
    """Text that ends no comment."""
    return value.replace("*/", "* /") if isinstance(value, str) else value


def prototypes(function: ScalarFunction) -> list[str]:
    """The declarations of a function for all types of numbers."""
    out = []
    for real in REALS.values():
        suffix = "f" if real == "float" else ""
        scalars = [f"{real} {variable(p)}" for p in function.parameters]
        arrays = [f"const {real} *{variable(s)}" for s in function.inputs]
        out.append(f"void {function.name}{suffix}({', '.join(['size_t entries', *arrays, *scalars, f'{real} *out'])});")
        if function.kept is not None:
            varying = list(map(variable, function.varying))
            matrices = [text for m in varying for text in (f"const {real} *{m}", f"size_t step_{m}")]
            listed = ["size_t rows", "size_t columns", *arrays[:2], *matrices, *scalars, f"{real} *out", "size_t step"]
            out.append(f"void {function.name}_matrix{suffix}({', '.join(listed)});")
    return out


def machine() -> str:
    """What the processor does."""
    return (HERE / "runtime" / "machine.h").read_text("utf-8")


def series() -> str:
    """The sums over Hermite coefficients."""
    return (HERE / "runtime" / "series.h").read_text("utf-8")


def tables(components: Mapping[str, Text], names: Names) -> list[dict[str, Any]]:
    """The constants that components read: name and lines."""
    return [
        {"name": f"{name}{names.suffix}", "lines": in_rows([names.literal(n) for n in numbers])}
        for name, numbers in tables_of(components).items()
    ]


def _documented(planned: Function, function: ScalarFunction) -> dict[str, Any]:
    lines = [
        *formula(planned),
        *docstrings.argument_lines(planned.quantity, "array or number"),
        "",
        *docstrings.function_lines(planned, False),
    ]
    return {
        "meaning": _plain(meaning(planned)),
        "lines": list(map(_plain, lines)),
        "prototypes": prototypes(function),
    }


def _precision(
    precision: Precision, functions: Sequence[ScalarFunction], components: Mapping[str, Text]
) -> dict[str, Any]:
    tools = library(precision)
    names = Names(REALS[precision], KNOWN, PREFIX, tools.constants, frozenset(tables_of(components)))
    factors = _factors(functions) if precision == "double" else {}
    averaged = [factor.source(parameters) for factor, parameters in factors.items()]
    sources = (*(t.source for t in components.values()), *averaged, *(s for f in functions for s in f.sources))
    own = definitions(sources)
    valid = definitions(["def unused():\n    return valid(0.0) + directed(0.0)"])
    return {
        "real": names.real,
        "helpers": translated([*tools.needed([*own, *_used(valid, functions)]), *own], names),
        "tables": tables(components, names),
        "averaged": [_values(factor, parameters, names) for factor, parameters in factors.items()],
        "functions": [_function(function, names) for function in functions],
    }


def _factors(functions: Sequence[ScalarFunction]) -> dict[AveragedFunction, tuple[sp.Symbol, ...]]:
    """The functions that are averaged as series, and their parameters; they are of double."""
    return {factor: f.parameters for f in functions for s in f.series for factor in (s.first, s.second)}


def _values(factor: AveragedFunction, parameters: Sequence[sp.Symbol], names: Names) -> dict[str, str]:
    """The function of arrays of a factor."""
    numbers = (f"parameters[{k}]" for k in range(len(parameters)))
    return {
        "name": _values_name(factor),
        "call": f"{names.function(factor.name)}({', '.join(['z[j]', *numbers])})",
    }


def _values_name(factor: AveragedFunction) -> str:
    return f"{PREFIX}{factor.name}_values"


def _used(trees: Iterable[Any], functions: Sequence[ScalarFunction]) -> list[Any]:
    """Calls that stand in loops over matrices."""
    return list(trees) if any(f.kept is not None for f in functions) else []


def _function(function: ScalarFunction, names: Names) -> dict[str, Any]:
    real, inputs, own = names.real, list(map(variable, function.inputs)), list(map(variable, function.parameters))
    return {
        "name": f"{function.name}{names.suffix}",
        "inputs": "".join(f"const {real} *{name}, " for name in inputs),
        "scalars": "".join(f"{real} {name}, " for name in own),
        "call": f"{names.function(f'{function.name}_entry')}({', '.join([*(f'{name}[j]' for name in inputs), *own])})",
        "matrix": None if function.kept is None else _matrix(function, own, names),
        "series": _series(function, own, names) if function.series else None,
    }


def _series(function: ScalarFunction, own: list[str], names: Names) -> dict[str, Any]:
    """What loops over functions of series need besides."""
    first, second = function.own
    sums = [f"{s}[j]" for s in function.sums]
    varying = list(map(variable, function.varying))
    pair = ["k1", *first, "k2[part + j]", *(f"{s}[part + j]" for s in second), *(f"row_{m}[j]" for m in varying)]
    entry = ["k1", *first, "k2", *second, *(f"{m}[(size_t)start + j]" for m in varying)]
    of_second = ["k2", *own, *(f"&{s}" for s in second)]
    called, largest = names.function(f"{function.name}_pair"), min(s.largest for s in function.series)
    return {
        "parameters": ", ".join([*own, "0"]),
        "largest": repr(largest) if math.isfinite(largest) else "INFINITY",
        "products": [
            {"symbol": str(s.symbol), "first": _values_name(s.first), "second": _values_name(s.second)}
            for s in function.series
        ],
        "of_second": f"{names.function(f'{function.name}_second')}({', '.join(of_second)})",
        "pair": f"{called}({', '.join([*pair, *sums, *own])})",
        "entry": f"{called}({', '.join([*entry, *sums, *own])})",
    }


def _matrix(function: ScalarFunction, own: list[str], names: Names) -> dict[str, Any]:
    first, second = function.own
    varying = list(map(variable, function.varying))
    pair = ["k1", *first, "k2[j]", *(f"{s}[j]" for s in second), *(f"row_{m}[j]" for m in varying), *own]

    def call(tag: str, kernel: str, results: list[str]) -> str:
        return f"{names.function(f'{function.name}_{tag}')}({', '.join([kernel, *own, *results])})"

    return {
        "name": f"{function.name}_matrix{names.suffix}",
        "inputs": ", ".join(f"const {names.real} *{m}, size_t step_{m}" for m in varying) + ", ",
        "first": first,
        "second": second,
        "varying": varying,
        "valid": names.function(function.valid),
        "of_first": call("first", "k1", [f"&{s}" for s in first]),
        "of_second": call("second", "k2[j]", [f"&{s}[j]" for s in second]),
        "call": f"{names.function(f'{function.name}_pair')}({', '.join(pair)})",
    }
