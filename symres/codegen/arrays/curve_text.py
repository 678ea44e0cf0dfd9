"""Functions with sums over the powers of a weight: summed term by term until doubles see no more."""

from __future__ import annotations

from ..emission.emitter import Emitter, argument
from ..planning.module_plan import CurvePlan, PowerSum
from ..wording.docstrings import argument_lines, formula_lines
from .array_code import ArrayCode


def curve_values(target: ArrayCode, plan: CurvePlan) -> dict[str, object]:
    """What the template shows of such a function."""
    quantity = plan.quantity
    names = {s: argument(s) for s in quantity.symbols}
    lines, series = [], []
    for found in plan.sums:
        table = f"_{found.symbol.name.upper()}"
        lines += [*_summed(target, plan, found, table)]
        names[found.symbol] = found.symbol.name
        series += [(table, found.series)] if found.term is None else []
    return {
        "name": quantity.name,
        "meaning": quantity.meaning[:1].upper() + quantity.meaning[1:],
        "formula": formula_lines(quantity.expr, 8),
        "explained": argument_lines(quantity, target.words.argument),
        "arguments": ", ".join(argument(s) for s in quantity.symbols),
        "columns": ", ".join(f"{argument(s)}_" for s in quantity.symbols),
        "expanded": ", ".join(f"{argument(s)}[..., None]" for s in quantity.symbols),
        "result": target.words.curve,
        "error": plan.error,
        "source": quantity.source,
        "series": series,
        "lines": [*lines, *Emitter(target.dialect, names).function([("return", plan.whole)])],
    }


def _summed(target: ArrayCode, plan: CurvePlan, found: PowerSum, table: str) -> list[str]:
    """Lines that give a sum its name."""
    symbols, name = plan.quantity.symbols, found.symbol.name
    power = Emitter(target.dialect, {s: argument(s) for s in symbols}).function([("ratio", found.ratio)], prefix="q")
    head = [*power, f"r = _powers(ratio, {found.first})"]
    if found.term is None:
        return [*head, f"{name} = (r*_chebyshev_series(r, {table})).sum(-1)"]
    columns = {s: f"{argument(s)}_" for s in symbols} | {found.variable: "r"}
    term = Emitter(target.dialect, columns).function([("term", found.term)], prefix="s")
    return [*head, *term, f"{name} = term.sum(-1)"]
