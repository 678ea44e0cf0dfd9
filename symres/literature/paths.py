"""Derivations as paths into the public API: ``derive(residual(phi)).chi_perp``, read from text and evaluated."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from typing import Any

import mpmath as mp
import sympy as sp

from ..core.errors import DeclarationError
from ..functions.balls import evaluate
from ..results.quantity import Quantity

_DIGITS = 25
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS = {"abs": abs, "exp": sp.exp, "float": float, "len": len, "log": sp.log, "pi": sp.pi, "sqrt": sp.sqrt}
_derived: dict[str, Any] = {}  # theories and networks by their text, for they are asked for again


def follow(text: str, names: Mapping[str, Any], values: Mapping[str, sp.Rational]) -> mp.mpf | bool:
    """What a path leads to, at values for parameters.

    Args:
        text: a Python expression of public names, attributes, calls, indices and arithmetic.
        names: what activations and other words of the claim stand for.
        values: exact numbers, by the names of parameters.

    Raises:
        DeclarationError: the text has other parts, or leads to something that is not a number.
        SymresError, AttributeError, TypeError: what the API raises.
    """
    result = _Walker(text, names, values).walk(ast.parse(text, mode="eval").body)
    return _number(result, text, values)


def _number(result: Any, text: str, values: Mapping[str, sp.Rational]) -> mp.mpf | bool:
    if isinstance(result, bool | sp.logic.boolalg.BooleanAtom):
        return bool(result)
    if isinstance(result, Quantity):
        needed = {s.name for s in result.symbols}
        return result.evalf(_DIGITS, **{name: value for name, value in values.items() if name in needed})
    try:
        exact = sp.sympify(result)
        at = {s: values[s.name] for s in exact.free_symbols}
        return evaluate(exact.subs(at), {}, _DIGITS)[0]
    except (KeyError, sp.SympifyError, TypeError, AttributeError):
        raise DeclarationError(f"the path {text}", f"it leads to {result!r}", "follow it to a number") from None


class _Walker:
    def __init__(self, text: str, names: Mapping[str, Any], values: Mapping[str, sp.Rational]) -> None:
        self._text, self._names, self._values = text, names, values

    def walk(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return sp.Rational(str(value)) if isinstance(value, float) else value
            case ast.Name(id=name):
                return self._named(name)
            case ast.Attribute(value=value, attr=name) if not name.startswith("_"):
                return getattr(self.walk(value), name)
            case ast.Subscript(value=value, slice=index):
                return self.walk(value)[self.walk(index)]
            case ast.Tuple(elts=parts):
                return tuple(map(self.walk, parts))
            case ast.List(elts=parts):
                return list(map(self.walk, parts))
            case ast.Dict(keys=keys, values=values):
                return {self.walk(key): self.walk(value) for key, value in zip(keys, values, strict=True) if key}
            case ast.Slice():
                return slice(*(None if end is None else self.walk(end) for end in (node.lower, node.upper)))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.walk(operand)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
                return _BINARY[type(sign)](self.walk(left), self.walk(right))
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return bool(self.walk(left) == self.walk(right))
            case ast.Call():
                return self._called(node)
        raise DeclarationError(f"the path {self._text}", f"{ast.unparse(node)} is not allowed", "use calls and names")

    def _named(self, name: str) -> Any:
        import symres as public

        if name in self._names:
            return self._names[name]
        if name in self._values:
            return self._values[name]
        if name in _FUNCTIONS:
            return _FUNCTIONS[name]
        if name in ("True", "False", "None"):
            return ast.literal_eval(name)
        return getattr(public, name)

    def _called(self, node: ast.Call) -> Any:
        arguments = [self.walk(argument) for argument in node.args]
        keywords = {keyword.arg: self.walk(keyword.value) for keyword in node.keywords if keyword.arg}
        function = self.walk(node.func)
        if function is sp.sqrt and isinstance(arguments[0], Quantity):
            arguments = [arguments[0].expr]
        if not (isinstance(node.func, ast.Name) and node.func.id in ("derive", "network")):
            return function(*arguments, **keywords)
        key = f"{node.func.id} {arguments!r} {keywords!r}"
        if key not in _derived:
            _derived[key] = function(*arguments, **keywords)
        return _derived[key]
