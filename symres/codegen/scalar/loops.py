"""Loops over entries, over matrices and through layers, in restricted Python: one text for all languages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ...core import files
from ..emission.emitter import defined, variable
from ..planning.network_plan import NetworkPlan
from ..planning.plan import KERNELS
from .functions import ScalarFunction
from .library_source import Precision
from .networks import ScalarLayer
from .series import READ, WRITTEN, Series

TEMPLATES = Path(__file__).parent / "templates"
_RANGE, _DIGITS = 120, 24  # powers of 2 that are floats, with room for coefficients; digits
_BLOCK = f"nodes: int, step: float, roots: {READ}, p: {READ}, even: {WRITTEN}, odd: {WRITTEN}"


def first_factors(all_of: Iterable[ScalarFunction | ScalarLayer]) -> dict[str, int]:
    """The number of the first function that each function or layer expands, by name."""
    begins, number = {}, 0
    for one in all_of:
        begins[one.name] = number
        number += len(one.series.factors) if one.series is not None else 0
    return begins


def hooks(series: Iterable[Series]) -> list[str]:
    """The functions of ``drivers/hooks.py``, which call those that are expanded by their numbers."""
    names = [factor.name for one in series for factor in one.factors]

    def chosen(calls: Iterable[str]) -> list[str]:
        """The call that the number says."""
        tests = ("if" if k == 0 else "elif" for k in range(len(names)))
        cases = zip(tests, range(len(names)), calls, strict=True)
        return [line for test, k, call in cases for line in (f"{test} number == {k}:", f"    {call}")]

    blocks = chosen(f"{name}_block(nodes, step, roots, p, even, odd)" for name in names)
    kernels = chosen(f"kernel = {name}_kernel(K, p)" for name in names)
    return [
        defined(f"factor_block(number: int, {_BLOCK}) -> None", blocks),
        defined(f"factor_kernel(number: int, K: float, p: {READ})", ["kernel = K", *kernels, "return kernel"]),
    ]


def function_loops(function: ScalarFunction, begin: int, precision: Precision) -> str:
    """NAME_entries(entries, inputs, parameters, out) and, of two inputs, NAME_matrix(rows, columns, K1, K2, others and
    their steps, parameters, out, step).

    Args:
        function: the function.
        begin: the number of the first function that it expands.
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
        "begin": begin,
        "wide": _wide(function, numbers) if single and function.steepest and function.series is None else None,
        "entry_of_arrays": f"{function.name}_entry({', '.join([*(f'{a}[j]' for a in arrays), *numbers])})",
    }
    if function.levels is not None:
        values |= {
            "first": function.of_input("first", "k1"),
            "second": [str(s) for s, _ in function.levels.second],
            "second_alone": function.of_input("second", "k2"),
            "second_of_tile": function.of_input("second", "k2[j]", "{0}[j]"),
            "pair_of_row": function.pair(("k1", "k2[j]"), "{0}[j]", "row_{0}[j]", "{0}[j]"),
            "pair_of_entries": function.pair(("k1", "k2"), "{0}", "{0}[i]", "{0}[j]"),
        }
    return files.render("functions.py.j2", values, TEMPLATES)


def _wide(function: ScalarFunction, numbers: Sequence[str]) -> dict[str, Any]:
    """How functions of float compute in double, where powers of kernels or their rounding errors are not floats."""
    least, largest = (2.0 ** (power / function.steepest) for power in (_DIGITS - _RANGE, _RANGE))
    of_entries = {name: f"{name}[j]" for name in map(variable, function.inputs)}
    of_row = {m: f"row_{m}[j]" for m in map(variable, function.varying)}

    def call(arguments: dict[str, str]) -> str:
        if "C" in arguments:
            exact = f"double_rounded({arguments['K1']}, {arguments['K2']}, {arguments['C']})"
            arguments = arguments | {"C": exact}
        return f"double_{function.name}_entry({', '.join([*arguments.values(), *numbers])})"

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
    names, begins = list(map(variable, plan.parameters)), first_factors(layers)
    values = {
        "names": names,
        "depth": sum(count for _, count in plan.runs),
        "kept": 2 + max(layer.own for layer in layers),
        "factors": max((len(layer.series.factors) for layer in layers if layer.series is not None), default=0),
        "layers": [
            {
                "name": layer.name,
                "own": layer.own,
                "kind": kind,
                "begin": begins[layer.name],
                "gap": layer.gap,
                "series": layer.series,
                "numbers": [(variable(p), names.index(variable(p))) for p in layer.parameters],
                "last": [f", {variable(p)}" for p in layer.parameters],
            }
            for kind, layer in enumerate(layers)
        ],
    }
    is_narrow = precision == "single" and values["factors"]
    return files.render("narrow_network.py.j2" if is_narrow else "network.py.j2", values, TEMPLATES)


def kinds_of(plan: NetworkPlan) -> dict[str, tuple[float, ...]]:
    """The table that the loops of a network read: which of its different layers each layer is."""
    names = [layer.name for layer in plan.layers]
    return {"KINDS": tuple(float(names.index(layer.name)) for layer, count in plan.runs for _ in range(count))}
