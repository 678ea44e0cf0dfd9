"""Loops over entries, over matrices and through layers, in restricted Python: one text for all languages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import files
from ..emission.emitter import variable
from ..planning.network_plan import NetworkPlan
from ..planning.plan import KERNELS
from .functions import ScalarFunction
from .library_source import Precision
from .networks import ScalarLayer
from .series import hooks

TEMPLATES = Path(__file__).parent / "templates"
_RANGE, _DIGITS = 120, 24  # powers of 2 that are floats, with room for coefficients; digits


def begins(items: Iterable[ScalarFunction | ScalarLayer]) -> dict[str, dict[str, int]]:
    """The numbers of the first function that each function or layer expands and of its first sum, by name."""
    numbers, factor, total = {}, 0, 0
    for item in items:
        numbers[item.name] = {"factor": factor, "sum": total}
        if item.series is not None:
            factor, total = factor + len(item.series.factors), total + len(item.series.sums)
    return numbers


def function_loops(function: ScalarFunction, begin: Mapping[str, int], precision: Precision) -> str:
    """NAME_entries(entries, inputs, parameters, out) and, of two inputs, NAME_matrix(rows, columns, K1, K2, others and
    their steps, parameters, out, step).

    Args:
        function: the function.
        begin: what ``begins`` says of it.
        precision: of the arguments; what floats cannot hold is computed in double.
    """
    arrays, numbers = list(map(variable, function.inputs)), list(map(variable, function.parameters))
    single = precision == "single"
    values: dict[str, Any] = {
        "name": function.name,
        "arrays": arrays,
        "numbers": numbers,
        "matrices": [] if function.levels is None else list(map(variable, function.varying)),
        "valid": function.valid,
        "single": single,
        "series": function.series,
        **begin,
        "wide": _wide(function, numbers) if single and function.steepest and function.series is None else None,
        "entry_of_arrays": f"{function.name}_entry({', '.join([*(f'{a}[j]' for a in arrays), *numbers])})",
    }
    if function.levels is not None:
        levels = [s for s, _ in function.levels.first], [s for s, _ in function.levels.second]
        values |= {
            "of_inputs": [str(s) for side in levels for s in side],
            "first": function.of_input("first", "k1"),
            "first_of_block": function.of_input("first", "k1[j]", "{0}[j]"),
            "second": [str(s) for s in levels[1]],
            "second_of_tile": function.of_input("second", "k2[j]", "{0}[j]"),
            "pair_of_row": function.pair(("k1", "k2[j]"), "{0}", "{0}[j]", "row_{0}[j]"),
        }
        if function.series is not None:
            inside = "".join(hooks([function.series]))
            values |= {
                "expanded": [(k, number) for k, number in enumerate(numbers) if f"= p[{k}]" in inside],
                "pair_of_row": function.pair(("k1[i]", "k2[j]"), "{0}[i]", "{0}[j]", "row_{0}[j]", "{0}[j]"),
                "pair_of_pairs": function.pair(("k1[j]", "k2[j]"), "{0}[j]", "{0}[j]", "row_{0}[j]", "{0}[j]"),
            }
    if single and math.isinf(function.steepest):
        wide = _wide(function, numbers)
        values |= {"entry_of_arrays": wide["entries"], "pair_of_row": wide["matrix"]}
    return files.render("functions.py.j2", values, TEMPLATES)


def _wide(function: ScalarFunction, numbers: Sequence[str]) -> dict[str, Any]:
    """How functions of float compute in double, where powers of kernels or their rounding errors are not floats."""
    least, largest = (2.0 ** (power / function.steepest) for power in (_DIGITS - _RANGE, _RANGE))
    of_entries = {name: f"{name}[j]" for name in map(variable, function.inputs)}
    of_row = {m: f"row_{m}[j]" for m in map(variable, function.varying)}

    def call(arguments: dict[str, str]) -> str:
        if "C" in arguments:
            one, other = (arguments.get(k, arguments.get("K")) for k in ("K1", "K2"))
            exact = f"_double_rounded({one}, {other}, {arguments['C']})"
            arguments = arguments | {"C": exact}
        return f"_double_{function.name}_entry({', '.join([*arguments.values(), *numbers])})"

    return {
        "limits": f"{least!r}, {largest!r}",
        "kernels": [variable(s) for s in function.inputs if s in KERNELS],
        "entries": call(of_entries),
        "matrix": call(of_entries | {"K1": "K1[i]", "K2": "K2[left + j]"} | of_row) if function.levels else "",
    }


def network_loops(plan: NetworkPlan, layers: Sequence[ScalarLayer], precision: Precision) -> str:
    """The functions dual_kernel and dual_kernel_matrix of a network, as ``NetworkPlan`` describes them.

    Args:
        plan: the network.
        layers: its different layers.
        precision: of the arguments. A network with series is computed in double.
    """
    names, numbers = list(map(variable, plan.parameters)), begins(layers)
    values = {
        "state": plan.state.parts,
        "names": names,
        "single": precision == "single",
        "depth": plan.depth,
        "kept": 1 + len(plan.state.one) + max(layer.own for layer in layers),
        "factors": max((len(layer.series.factors) for layer in layers if layer.series is not None), default=0),
        "layers": [
            {
                "name": layer.name,
                "own": layer.own,
                **numbers[layer.name],
                "gap": layer.gap,
                "series": layer.series,
                "numbers": [(variable(p), names.index(variable(p))) for p in layer.parameters],
                "last": [f", {variable(p)}" for p in layer.parameters],
            }
            for layer in layers
        ],
    }
    return files.render("network.py.j2", values, TEMPLATES)


def tables_of(plan: NetworkPlan, layers: Sequence[ScalarLayer]) -> dict[str, tuple[float, ...]]:
    """What the loops of a network read, layer by layer: which of its different layers it is, and what that expands."""
    numbers, kinds = begins(layers), {layer.name: kind for kind, layer in enumerate(layers)}
    expanded = {layer.name: 0 if layer.series is None else len(layer.series.factors) for layer in layers}
    names = [layer.name for layer, count in plan.runs for _ in range(count)]
    columns = {"KINDS": kinds, "FIRST": {n: b["factor"] for n, b in numbers.items()}, "FACTORS": expanded}
    return {table: tuple(float(column[name]) for name in names) for table, column in columns.items()}
