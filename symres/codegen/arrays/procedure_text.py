"""What a procedure adds to a module of functions: its own functions, which call them; and functions with power sums.

Sums over the powers of a weight are summed term by term until doubles see no more.
"""

from __future__ import annotations

from pathlib import Path

from ...core import files
from ...core.errors import DeclarationError
from ...core.symbols import KERNELS
from ...results.quantity import Quantity
from ..emission.emitter import Emitter, argument
from ..planning.module_plan import CurvePlan, Extra, PowerSum
from ..wording import docstrings
from ..wording.docstrings import argument_lines, formula_lines
from .array_code import ArrayCode, Wording

_TAKEN = {"depth", "K", "r"}  # arguments of procedures themselves
_INPUT = "kernel of the input; K >= 0, else nan"


def procedure_text(extra: Extra, words: Wording, gradients: bool, templates: Path) -> str:
    """The code of a procedure.

    Args:
        extra: what is computed, and how well.
        words: what docstrings call things.
        gradients: whether results have any.
        templates: the folder of the templates.

    Raises:
        DeclarationError: a parameter has the name of an argument of the procedure.
    """
    procedure = extra.procedure
    names = list(map(argument, procedure.parameters))
    for name in names:
        if name in _TAKEN:
            raise DeclarationError(
                f"code for the {procedure.name} with the parameter {name}", "the code needs this name", "rename it"
            )
    facts = [f"Error: {extra.error}.", *([f"Generalises: {procedure.source}."] if procedure.source else [])]
    values = {
        "array": words.array,
        "numbers": words.numbers,
        "gradients": gradients,
        "functions": [q.name for q in procedure.functions],
        "calls": {q.name: f"{q.name}({_kernels(q)}**parameters)" for q in procedure.functions},
        "unknowns": list(map(argument, procedure.unknowns)),
        "names": names,
        "signature": ", ".join(names),
        "given": ", ".join(f'"{name}": {name}' for name in names),
        "arguments": [
            *docstrings.wrapped(f"K: {_INPUT}; {words.argument}.", 8, 4),
            *(line for s in procedure.parameters for line in docstrings.parameter_lines(s, words.argument)),
        ],
        "facts": [line for fact in facts for line in docstrings.wrapped(fact, 4, 4)],
        **procedure.constants,
    }
    return files.render(f"procedures/{procedure.name}.py.j2", values, templates).strip("\n")


def _kernels(quantity: Quantity) -> str:
    return "".join(f"{s}, " for s in quantity.symbols if s in KERNELS)


def curve_values(target: ArrayCode, plan: CurvePlan) -> dict[str, object]:
    """What the template shows of such a function."""
    quantity = plan.quantity
    names = {s: argument(s) for s in quantity.symbols}
    lines, series = [], []
    for total in plan.sums:
        table = f"_{total.symbol.name.upper()}"
        lines += [*_summed(target, plan, total, table)]
        names[total.symbol] = total.symbol.name
        series += [(table, total.series)] if total.term is None else []
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


def _summed(target: ArrayCode, plan: CurvePlan, total: PowerSum, table: str) -> list[str]:
    """Lines that give a sum its name."""
    symbols, name = plan.quantity.symbols, total.symbol.name
    power = Emitter(target.dialect, {s: argument(s) for s in symbols}).function([("ratio", total.ratio)], prefix="q")
    head = [*power, f"r = _powers(ratio, {total.first})"]
    if total.term is None:
        return [*head, f"{name} = (r*_chebyshev_series(r, {table})).sum(-1)"]
    columns = {s: f"{argument(s)}_" for s in symbols} | {total.variable: "r"}
    term = Emitter(target.dialect, columns).function([("term", total.term)], prefix="s")
    return [*head, *term, f"{name} = term.sum(-1)"]
