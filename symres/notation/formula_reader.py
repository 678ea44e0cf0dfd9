"""Formulas in the program's own text, read back: no evaluation, only names, numbers, operators and known functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import sympy as sp

from ..core.symbols import SHARED
from ..functions.function_record import RECORDS

_FUNCTIONS = {"sqrt": sp.sqrt} | {kind.__name__: kind for kind in RECORDS}
_OPERATORS = {ast.Add: sp.Add, ast.Mult: sp.Mul, ast.Pow: sp.Pow}
_SUBJECT = re.compile(r"(?:^|(?<=; ))[^;]+?(?= is not an? )")
_EQUATION = re.compile(r"(?<!\w)(?:C_W|C_b|chi_parallel|chi_perp) = ")
_END = re.compile(r", | with |; |$")


def _read(text: str) -> sp.Expr | None:
    """The formula that a text, as sympy prints it, is; None if it is none. Unknown symbols are positive ones."""
    try:
        return _expression(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, KeyError):
        return None


def segments(sentence: str) -> Iterator[str | sp.Expr]:
    """A sentence as words and formulas: ``C_W = <formula> with ...``, ``<formula> is not a polynomial``."""
    start = 0
    for first, last in sorted(_places(sentence)):
        formula = _read(sentence[first:last]) if first >= start else None
        if formula is not None and not formula.is_Atom:
            yield sentence[start:first]
            yield formula
            start = last
    yield sentence[start:]


def _places(sentence: str) -> Iterator[tuple[int, int]]:
    """Where a formula may begin and end: before "is not a", and behind the sign of an equation."""
    yield from (found.span() for found in _SUBJECT.finditer(sentence))
    for found in _EQUATION.finditer(sentence):
        yield from ((found.end(), end.start()) for end in _END.finditer(sentence, found.end()))


def _expression(node: ast.expr) -> sp.Expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return sp.Integer(node.value)
    if isinstance(node, ast.Name):
        known = {"pi": sp.pi, "E": sp.E, **SHARED}
        return known.get(node.id) or sp.Symbol(node.id, positive=True)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_expression(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = (_expression(side) for side in (node.left, node.right))
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Div):
            return left / right
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _FUNCTIONS[node.func.id](*(_expression(a) for a in node.args))
    raise ValueError(f"not a formula: {ast.dump(node)}")
