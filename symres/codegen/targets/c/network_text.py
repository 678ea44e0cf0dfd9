"""The source of a network in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....core import files
from ...emission.emitter import variable
from ...planning.network_plan import NetworkPlan
from ...scalar.descriptions import SERIES, head_lines, network_lines, parameter_lines, units_and_errors
from ...scalar.functions import Text, component_texts
from ...scalar.library_source import Precision, library
from ...scalar.networks import ScalarLayer, scalar_layer
from ...scalar.scalar_target import definitions, tables_of
from ...scalar.translate import Names
from ...wording import docstrings
from .text import KNOWN, PAIRS, PREFIX, REALS, TEMPLATES, TITLE, helpers, machine, public, tables

FIXED = 2  # what is kept of each input for every layer: its kernel and the root
TILE, ROWS = 128, 128
ABOUT = (
    "Functions of double and, with the letter f at the end of their name, of float. The int that they return is 0, or "
    "1 if memory ran out: then C and Theta are not results. Matrices are row-major: the entry of row i and column j is "
    "at i*columns + j. Each parameter is an array of one number for every layer.",
    f"{docstrings.PARAMETRISATION} {docstrings.INPUTS}.",
    "Functions of float are for kernels of order 1: those below 1e-18 count as 0, powers of large ones overflow, in "
    "some layers from 1e9 on. Functions of double hold for all kernels in the range of double.",
)
MATRIX = (
    "K1, K2: kernels of the inputs of rows and of columns; >= 0, else nan.",
    "symmetric: 1 if rows and columns are the same inputs, so that half of the matrices is computed; 0 else.",
    "blank: 1 if Theta need not be read, as it is 0 before the first layer; 0 else.",
    "C: before the call the covariances x.x'/n0 of all pairs of inputs, on the diagonal of a symmetric matrix K1; "
    "replaced by those after the network.",
    "Theta: before the call the tangent kernels of the inputs, unless blank is 1; replaced by those after the network.",
)
ENTRIES = (
    "K1, K2: kernels of the inputs of each pair; >= 0, else nan.",
    "C, Theta: before the call the covariances x.x'/n0 and the tangent kernels of the inputs, which are 0 where no "
    "trained layer comes before; replaced by those after the network.",
    "every_C, every_Theta: those after each layer, one layer after the other; may be NULL.",
)


def network_text(plan: NetworkPlan) -> str:
    """The source of a network."""
    layers = {layer.name: scalar_layer(layer, plan.is_sharp) for layer in plan.layers}
    components = component_texts(plan.called)
    series = [layer.series for layer in layers.values() if layer.series is not None]
    parameters = list(map(variable, plan.parameters))
    order = [layers[layer.name] for layer, count in plan.runs for _ in range(count)]
    about = [*ABOUT, *([SERIES] if series else []), units_and_errors(plan.components, TITLE)]
    values = {
        "title": plan.title,
        "command": plan.command,
        "about": [*network_lines(plan), "", *head_lines(about, (), 3)],
        "prefix": plan.prefix,
        "documented": _documented(plan, list(map(public, plan.parameters))),
        "machine": machine(),
        "tile": TILE,
        "rows": ROWS,
        "allocates": True,
        "narrow": TILE,
        "pairs": PAIRS,
        "factors": max((len(found.factors) for found in series), default=0),
        "kept": FIXED + max(layer.own for layer in order),
        "depth": len(order),
        "network": [layer.name for layer in order],
        "expanding": [layer.name for layer in order if layer.series is not None],
        "precisions": [_precision(kind, list(layers.values()), parameters, components) for kind in REALS],
    }
    return files.render("network.c.j2", values, TEMPLATES)


def _documented(plan: NetworkPlan, parameters: Sequence[str]) -> list[dict[str, Any]]:
    own = parameter_lines(plan, "an array, one for each layer")

    def of(meaning: str, texts: Sequence[str], arguments: str, results: str) -> dict[str, Any]:
        lines = [*(line for text in texts for line in docstrings.wrapped(text, 3, 4)), *own]
        found = []
        for real in REALS.values():
            scalars = "".join(f"const {real} *{name}, " for name in parameters)
            kernels = f"const {real} *K1, const {real} *K2, "
            ends = results.format(real)
            name = plan.prefix + meaning.split(":")[0] + ("f" if real == "float" else "")
            found.append(f"int {name}({arguments.format(kernels)}{scalars}{ends});")
        return {"meaning": meaning, "lines": lines, "prototypes": found}

    return [
        of(
            "dual_kernel_matrix: kernel and tangent kernel of all pairs of inputs.",
            MATRIX,
            "size_t rows, size_t columns, {0}int symmetric, int blank, ",
            "{0} *C, {0} *Theta",
        ),
        of(
            "dual_kernel: kernel and tangent kernel of pairs of inputs.",
            ENTRIES,
            "size_t entries, {0}",
            "{0} *C, {0} *Theta, {0} *every_C, {0} *every_Theta",
        ),
    ]


def _precision(
    precision: Precision, layers: Sequence[ScalarLayer], parameters: Sequence[str], components: Mapping[str, Text]
) -> dict[str, Any]:
    tools = library(precision)
    names = Names(REALS[precision], KNOWN, PREFIX, tools.constants, frozenset(tables_of(components)))
    own = definitions([*(t.source for t in components.values()), *(s for layer in layers for s in layer.sources)])
    in_loops = ["valid", "counted", "determinant", "possible"]
    in_loops += ["is_near"] if any(layer.gap is not None for layer in layers) else []
    return {
        "real": names.real,
        "suffix": names.suffix,
        "helpers": helpers(tools.needed(own, *in_loops), own, [layer.series for layer in layers], names),
        "tables": tables(components, names),
        "layers": [_layer(layer, parameters, names) for layer in layers],
        "scalars": "".join(f"const {names.real} *{name}, " for name in parameters),
        "pointers": ", ".join([*parameters, "0"]),
    }


def _layer(layer: ScalarLayer, parameters: Sequence[str], names: Names) -> dict[str, Any]:
    own = list(map(variable, layer.parameters))
    row = f"{PREFIX}row{names.suffix}"
    first, second = ([f"{side}{k}" for k in range(layer.own)] for side in ("first", "second"))

    def pointer(name: str, side: str, further: int, which: int) -> str:
        inputs, place = ("one", "i") if side == "first" else ("two", "left")
        return f"const {names.real} *restrict {name} = {row}({inputs}, layer + {further}, {which}) + {place};"

    pointers = [f"const {names.real} {name} = parameters[{parameters.index(name)}][layer];" for name in own]
    pointers += [pointer("K1", "first", 0, 0), pointer("K2", "second", 0, 0)]
    pointers += [pointer("size1", "first", 0, 1), pointer("size2", "second", 0, 1)] if layer.gap is not None else []
    pointers += [pointer(name, "first", 0, FIXED + k) for k, name in enumerate(first)]
    pointers += [pointer(name, "second", 0, FIXED + k) for k, name in enumerate(second)]
    pointers += [pointer(f"{name}1", "first", 1, k) for k, name in enumerate(("next", "root"))]
    pointers += [pointer(f"{name}2", "second", 1, k) for k, name in enumerate(("next", "root"))]
    inputs = [f"{name}[j * stride]" for name in ("K1", *first)] + [f"{name}[j]" for name in ("K2", *second)]
    following = ["next1[j * stride]", "root1[j * stride]", "next2[j]", "root2[j]"]
    results = [f"{row}(inputs, layer + 1, 0) + i"]
    results += [f"{row}(inputs, layer, {FIXED + k}) + i" for k in range(layer.own)]
    numbers = [f"parameters[{parameters.index(name)}][layer]" for name in own]

    def call(tag: str, *arguments: str) -> str:
        return f"{names.function(f'{layer.name}_{tag}')}({', '.join(arguments)})"

    sums = [] if layer.series is None else [f"{s}[j]" for s in layer.series.symbols]
    results_of = ["&C[j]", "&Theta[j]", "&D[j]"]
    gap = call("gap", *inputs, "C[j]", "D[j]", "root1[j * stride] * root2[j]", *own)
    return {
        "name": layer.name,
        "pointers": pointers,
        "call_one": call("one", "K", *numbers, *results),
        "call_step": call("step", *inputs, "C[j]", "Theta[j]", "D[j]", *following, *sums, *own, *results_of),
        "call_gap": gap if layer.gap is not None else "",
        "series": layer.series and {"of": layer.series, "parameters": ", ".join([*numbers, "0"])},
    }
