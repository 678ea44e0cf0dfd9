"""Modules for functions of gamma that contain sums over its powers: summed term by term until doubles see no more."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import sympy as sp
from sympy.printing.codeprinter import CodePrinter
from sympy.printing.numpy import NumPyPrinter

from ...core import files
from ...core.atoms import AverageNode, PowerSumNode
from ...core.errors import NoClosedForm
from ...core.symbols import gamma
from ...results.quantity import Quantity
from ..emission.emitter import argument
from ..module import Module, Target
from ..procedures.procedure_module import Added
from ..wording.docstrings import argument_lines, formula_lines

_PLACES = ("-0.5", "0.001", "0.3", "0.5", "0.9", "0.99", "0.999")  # where the error is measured
_OTHERS = ("0.3", "1.5")  # values of other parameters there


def has_power_sum(quantity: Quantity) -> bool:
    """Whether a quantity contains a sum over powers."""
    return quantity.expr is not None and bool(_nodes(quantity.expr, PowerSumNode))


def curve_module(quantity: Quantity, target: Target, title: str, command: str, more: Added) -> Module:
    """The function as a module.

    Args:
        quantity: a closed form with sums over powers of gamma.
        target: "numpy" or "torch".
        title: first line of the text.
        command: that makes it again.
        more: what else stands in the module.

    Raises:
        NoClosedForm: it contains averages without a closed form.
    """
    expression = quantity.expr
    assert expression is not None
    if _nodes(expression, AverageNode):
        raise NoClosedForm(
            f"{target} code for {quantity.name}",
            "the covariance of neurons at two times has no closed form",
            "use evalf at the weights that you need, or export to LaTeX",
        )
    unmeasured = _module(quantity, expression, target, (title, command), "not measured", Added())
    return _module(quantity, expression, target, (title, command), _measured(quantity, unmeasured), more)


def _module(
    quantity: Quantity, expression: sp.Expr, target: Target, head: tuple[str, str], error: str, more: Added
) -> Module:
    printer = _printer(target)
    nodes = _nodes(expression, PowerSumNode)
    names = {node: sp.Symbol(f"sum{k}") for k, node in enumerate(sorted(nodes, key=str), 1)}
    lines = []
    for node, name in names.items():
        term, variable, powers = node.shown
        columns = {s: sp.Symbol(f"{argument(s)}_") for s in quantity.symbols} | {variable: variable}
        lines += [
            f"r = _powers({printer.doprint(powers[1] / powers[0])}, {0 if powers[0] == 1 else 1})",
            f"{name} = ({printer.doprint(term.xreplace(columns))}).sum(-1)",
        ]
    text = files.render(
        f"curve.{target}.py.j2",
        {
            "title": head[0],
            "command": head[1],
            "name": quantity.name,
            "meaning": quantity.meaning,
            "formula": formula_lines(expression, 8),
            "explained": argument_lines(quantity, "array_like" if target == "numpy" else "tensor or number"),
            "arguments": [argument(s) for s in quantity.symbols],
            "columns": ", ".join(f"{argument(s)}_" for s in quantity.symbols),
            "expanded": ", ".join(f"{argument(s)}[..., None]" for s in quantity.symbols),
            "error": error,
            "source": quantity.source,
            "added": more,
            "lines": [*lines, f"return {printer.doprint(expression.xreplace(names))}"],
        },
    )
    return Module(quantity.name, target, text, functions=(*more.names, quantity.name))


def _printer(target: Target) -> CodePrinter:
    """Sympy's printer for a library; that for PyTorch imports it."""
    if target == "numpy":
        return NumPyPrinter()
    from sympy.printing.pytorch import TorchPrinter

    return TorchPrinter()


def _nodes(expression: sp.Expr, kind: type) -> set[Any]:
    """The nodes of a kind, which may be no class of sympy's."""
    return {e for e in sp.preorder_traversal(expression) if isinstance(e, kind)}


def _measured(quantity: Quantity, module: Module) -> str:
    """The largest relative error at some weights, as text."""
    function = getattr(module.load(), quantity.name)
    worst = mp.mpf(0)
    for place in _PLACES:
        for other in _OTHERS:
            values = {s.name: place if s == gamma else other for s in quantity.symbols}
            right = quantity.evalf(20, **values)
            found = mp.mpf(float(function(*(float(v) for v in values.values()))))
            worst = max(worst, abs(found / right - 1) if right else abs(found))
    return f"{mp.nstr(worst, 2)} relative at gamma = {', '.join(_PLACES)}"
