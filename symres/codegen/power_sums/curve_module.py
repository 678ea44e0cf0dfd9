"""Modules for functions of gamma that contain sums over its powers: summed term by term until doubles see no more.

What a language cannot compute, averages and functions that it lacks, is computed here: constants become decimals, and
the term of a sum a polynomial.
"""

from __future__ import annotations

from typing import Any

import mpmath as mp
import sympy as sp
from sympy.printing.codeprinter import CodePrinter, PrintMethodNotImplementedError
from sympy.printing.numpy import NumPyPrinter

from ...core import files
from ...core.atoms import AverageNode, Opaque, PowerSumNode
from ...core.errors import NoClosedForm
from ...core.symbols import gamma
from ...numerics.balls import evaluate
from ...results.quantity import Quantity
from ..emission.emitter import argument
from ..module import Module, Target
from ..procedures.procedure_module import Added
from ..wording.docstrings import argument_lines, formula_lines
from .term_series import series_of

_PLACES = ("-0.5", "0.001", "0.3", "0.5", "0.9", "0.99", "0.999")  # where the error is measured
_OTHERS = ("0.3", "1.5")  # values of other parameters there
_SLOW = ("-0.5", "0.3", "0.9")  # the same where the language cannot compute the term, and values take seconds
_CONSTANT = 20  # digits


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
        NoClosedForm: averages or functions that the language lacks depend on more than the correlation.
    """
    expression = quantity.expr
    assert expression is not None
    unmeasured = _module(quantity, expression, target, (title, command), "not measured", Added())
    return _module(quantity, expression, target, (title, command), _measured(quantity, unmeasured), more)


def _module(
    quantity: Quantity, expression: sp.Expr, target: Target, head: tuple[str, str], error: str, more: Added
) -> Module:
    printer = _printer(target)
    nodes = _nodes(expression, PowerSumNode)
    names = {node: sp.Symbol(f"sum{k}") for k, node in enumerate(sorted(nodes, key=str), 1)}
    lines, series = [], []
    for node, name in names.items():
        term, variable, powers = node.shown
        columns = {s: sp.Symbol(f"{argument(s)}_") for s in quantity.symbols} | {variable: variable}
        if _prints(printer, term):
            summand = printer.doprint(term.xreplace(columns))
        else:
            if term.free_symbols != {variable}:
                raise _no_code(quantity, target, term.free_symbols - {variable})
            summand = f"r*_series(r, _{str(name).upper()})"
            series.append((f"_{str(name).upper()}", series_of(term, variable)))
        lines += [
            f"r = _powers({printer.doprint(powers[1] / powers[0])}, {0 if powers[0] == 1 else 1})",
            f"{name} = ({summand}).sum(-1)",
        ]
    whole = expression.xreplace(names)
    if not _prints(printer, whole):
        whole = _with_decimals(whole)
        if not _prints(printer, whole):
            raise _no_code(quantity, target, whole.free_symbols)
    text = files.render(
        f"curve.{target}.py.j2",
        {
            "title": head[0],
            "command": head[1],
            "name": quantity.name,
            "meaning": quantity.meaning[:1].upper() + quantity.meaning[1:],
            "formula": formula_lines(expression, 8),
            "explained": argument_lines(quantity, "array_like" if target == "numpy" else "tensor or number"),
            "arguments": [argument(s) for s in quantity.symbols],
            "columns": ", ".join(f"{argument(s)}_" for s in quantity.symbols),
            "expanded": ", ".join(f"{argument(s)}[..., None]" for s in quantity.symbols),
            "error": error,
            "source": quantity.source,
            "added": more,
            "series": series,
            "lines": [*lines, f"return {printer.doprint(whole)}"],
        },
    )
    return Module(quantity.name, target, text, functions=(*more.names, quantity.name))


def _printer(target: Target) -> CodePrinter:
    """Sympy's printer for a library; that for PyTorch imports it."""
    if target == "numpy":
        return NumPyPrinter()
    from sympy.printing.pytorch import TorchPrinter

    return TorchPrinter()


def _prints(printer: CodePrinter, expression: sp.Expr) -> bool:
    """Whether a language can compute an expression."""
    if _nodes(expression, AverageNode):
        return False
    try:
        printer.doprint(expression)
    except PrintMethodNotImplementedError:
        return False
    return True


def _with_decimals(expression: sp.Expr) -> sp.Expr:
    """An expression whose largest parts without symbols are decimals."""
    if not expression.free_symbols:
        return expression if expression.is_Rational else sp.Float(evaluate(expression, {}, _CONSTANT)[0], _CONSTANT)
    args: tuple[sp.Expr, ...] = () if isinstance(expression, Opaque) else expression.args
    if expression.is_Add or expression.is_Mul:
        constant, others = expression.as_independent(*expression.free_symbols, as_Add=expression.is_Add)
        args = (constant, *expression.func.make_args(others))
    return expression.func(*map(_with_decimals, args)) if args else expression


def _no_code(quantity: Quantity, target: Target, symbols: set[sp.Symbol]) -> NoClosedForm:
    """What is said of averages and functions of more than the correlation."""
    names = ", ".join(sorted(map(str, symbols)))
    return NoClosedForm(
        f"{target} code for {quantity.name}",
        f"it has averages, or functions that {target} lacks, of {names}",
        "give parameters of the activation numbers, or use evalf at the weights that you need",
    )


def _nodes(expression: sp.Expr, kind: type) -> set[Any]:
    """The nodes of a kind, which may be no class of sympy's."""
    return {e for e in sp.preorder_traversal(expression) if isinstance(e, kind)}


def _measured(quantity: Quantity, module: Module) -> str:
    """The largest relative error at some weights, as text."""
    function = getattr(module.load(), quantity.name)
    worst = mp.mpf(0)
    assert quantity.expr is not None
    nodes = _nodes(quantity.expr, PowerSumNode)
    places = _PLACES if all(_prints(_printer("numpy"), node.shown[0]) for node in nodes) else _SLOW
    for place in places:
        for other in _OTHERS[: max(1, len(quantity.symbols))]:
            values = {s.name: place if s == gamma else other for s in quantity.symbols}
            right = quantity.evalf(20, **values)
            found = mp.mpf(float(function(*(float(v) for v in values.values()))))
            worst = max(worst, abs(found / right - 1) if right else abs(found))
    return f"{mp.nstr(worst, 2)} relative at gamma = {', '.join(places)}"
