"""Formulas of documents: from their text to a tree.

The text is that of the formula parser with averages and operations: ``E(phi(z)^2, K)`` is the average over a normal z
of variance K, ``E(phi(x)*phi(y), K1, K2, C)`` the one over two inputs; ``phi1`` to ``phi4`` are derivatives of the
activation. ``iterate(map, K, start, l)`` applies a map of K so often, ``fixed(map, K, start)`` until nothing changes;
``slope(f, x)`` is df/dx, ``total(f, j, a, b)`` and ``product(f, j, a, b)`` run over integers, ``integral(f, x, a, b)``
over numbers, ``solution(f, x, start)`` is the x at which f vanishes.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from ..activations.formula_parser import PARSED_FUNCTIONS
from ..core.atoms import AverageNode
from ..core.errors import DeclarationError
from ..core.symbols import x1, x2, z

OPERATIONS = ("iterate", "fixed", "slope", "total", "product", "integral", "solution")
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_RELATIONS = {ast.Lt: sp.Lt, ast.LtE: sp.Le, ast.Gt: sp.Gt, ast.GtE: sp.Ge}
_CONSTANTS = {"pi": sp.pi, "e": sp.E, "oo": sp.oo}
_INPUTS = {z.name: x1, "x": x1, "y": x2}
_HIGHEST = 4  # derivative of an activation


class PrintedAverage(AverageNode, sp.Expr):
    """An average over one or two normal variables, never evaluated by the calculus of averages."""

    def __new__(cls, integrand: sp.Expr, *covariance: sp.Expr) -> PrintedAverage:
        """Make the node."""
        return sp.Expr.__new__(cls, integrand, *covariance)

    @property
    def integrand(self) -> sp.Expr:
        """In x1 and x2."""
        return self.args[0]

    @property
    def covariance(self) -> tuple[sp.Expr, ...]:
        """(K,) or (K1, C, K2)."""
        return self.args[1:]

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """Without the variables of the average."""
        return set().union(*(argument.free_symbols for argument in self.args)) - {x1, x2}

    def _latex(self, printer: Any) -> str:
        law = ",".join(map(printer._print, self.covariance))
        names = {x1: z} if len(self.covariance) == 1 else {x1: sp.Symbol("x"), x2: sp.Symbol("y")}
        return rf"\left\langle {printer._print(self.integrand.xreplace(names))} \right\rangle_{{{law}}}"


class Operation(sp.Expr):
    """An operation of ``OPERATIONS`` on a formula in a bound symbol: name, formula, symbol and further arguments."""

    def __new__(cls, name: sp.Symbol, formula: sp.Expr, bound: sp.Symbol, *arguments: sp.Expr) -> Operation:
        """Make the node."""
        return sp.Expr.__new__(cls, name, formula, bound, *arguments)

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """Without the bound symbol, unless it is where a slope is taken."""
        _, formula, bound, *arguments = self.args
        inner = formula.free_symbols if self.args[0].name == "slope" else formula.free_symbols - {bound}
        return inner.union(*(argument.free_symbols for argument in arguments))

    def _latex(self, printer: Any) -> str:
        name, *arguments = self.args
        if name.name == "slope":
            formula, bound = map(printer._print, arguments)
            return rf"\frac{{\partial}}{{\partial {bound}}} \left({formula}\right)"
        return rf"\operatorname{{{name.name}}}\left({', '.join(map(printer._print, arguments))}\right)"


Phi = Callable[[sp.Expr, int], sp.Expr]  # an activation, or a derivative of an order, of an argument


def tree(text: str, names: Mapping[str, sp.Expr], phi: Mapping[str, Phi]) -> sp.Basic:
    """A formula, or a relation between two.

    Args:
        text: as documents are typed.
        names: what abbreviations and a document's own symbols stand for; any other name is a positive symbol.
        phi: activations by name.

    Raises:
        DeclarationError: the text is not a formula of this language.
    """
    try:
        parsed = ast.parse(text.replace("^", "**"), mode="eval").body
    except SyntaxError:
        raise _refused(text, "it is not a formula") from None
    return _Reader(text, names, phi).read(parsed)


def symbol(name: str) -> sp.Symbol:
    """The symbol of a name."""
    return sp.Symbol(name, positive=True)


class _Reader:
    def __init__(self, text: str, names: Mapping[str, sp.Expr], phi: Mapping[str, Phi]) -> None:
        self._text, self._names, self._phi = text, names, phi

    def read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as value):
                return sp.Rational(ast.get_source_segment(self._text.replace("^", "**"), node) or str(value))
            case ast.Name(id=name):
                return self._named(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.read(operand)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
                return _BINARY[type(sign)](self.read(left), self.read(right))
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _RELATIONS:
                return _RELATIONS[type(sign)](self.read(left), self.read(right), evaluate=False)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._called(name, arguments)
        raise _refused(self._text, f"{ast.unparse(node)} has no meaning in it")

    def _named(self, name: str) -> sp.Expr:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        return self._names.get(name, symbol(name))

    def _called(self, name: str, arguments: list[ast.expr]) -> Any:
        stem, order = (name[:-1], int(name[-1])) if name[-1:].isdigit() else (name, 0)
        if name == "E":
            return self._average(arguments)
        if name in OPERATIONS:
            bound = sp.Symbol(ast.unparse(arguments[1]), positive=True)
            inside = _Reader(self._text, {**self._names, bound.name: bound}, self._phi)
            return Operation(
                sp.Symbol(name), inside.read(arguments[0]), bound, *(self.read(node) for node in arguments[2:])
            )
        read = [self.read(argument) for argument in arguments]
        if name in PARSED_FUNCTIONS:
            return PARSED_FUNCTIONS[name][0](*read)
        if stem in self._phi and order <= _HIGHEST and len(read) == 1:
            return self._phi[stem](read[0], order)
        raise _refused(self._text, f"the function {name} is not one of its words")

    def _average(self, arguments: list[ast.expr]) -> sp.Expr:
        inside = _Reader(self._text, {**self._names, **_INPUTS}, self._phi)
        integrand, law = inside.read(arguments[0]), [self.read(argument) for argument in arguments[1:]]
        if len(law) == 3:
            law = [law[0], law[2], law[1]]
        return PrintedAverage(integrand, *law)


def _refused(text: str, found: str) -> DeclarationError:
    return DeclarationError(f"the printed formula {text}", found, "see symres/literature/formulas.py for its words")
