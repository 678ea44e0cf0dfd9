"""Scalar Python as C: the restricted language of the run-time library, and of the functions that are generated.

Functions of numbers, whole numbers and arrays: assignments, arithmetic, comparisons, conditions, branches and
loops. Parts of arrays are pointers; whole numbers are divided where they are not negative. Each local name is declared
where it first stands. What is fused stays fused, and nothing else is: the text says ``fma`` where it means it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/", ast.Mod: "%", ast.BitAnd: "&&",
    ast.BitOr: "||",
}  # fmt: skip
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_TYPES = {
    "float": "{0}",
    "int": "long",
    "Sequence[float]": "const {0} *",
    "Given": "const {0} *",
    "Written": "{0} *restrict ",
    "None": "void",
}


@dataclass(frozen=True)
class Names:
    """How names are spelled in C.

    Args:
        real: the type of numbers: "double" or "float".
        known: the functions of the C library; those of float have an f behind their names.
        prefix: put before the names of all other functions.
        constants: names that stand for numbers.
        tables: names of arrays of constants; those of float have an f behind them.
    """

    real: str
    known: Set[str]
    prefix: str
    constants: Mapping[str, float]
    tables: Set[str] = frozenset()

    @property
    def suffix(self) -> str:
        """Of functions and literals."""
        return "f" if self.real == "float" else ""

    def function(self, name: str) -> str:
        """The name of a function."""
        return f"{'' if name in self.known else self.prefix}{name}{self.suffix}"

    def literal(self, value: float) -> str:
        """A number."""
        text = f"{value!r}{self.suffix}"
        return text if value >= 0.0 else f"({text})"


def translated(functions: Iterable[ast.FunctionDef], names: Names) -> str:
    """C functions from Python functions; all are static. What returns a tuple has a pointer for each result.

    Raises:
        NotImplementedError: a function says what C is not told how to say.
    """
    return "\n\n".join(_Translator(names).function(function) for function in functions)


class _Translator:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.declared: set[str] = set()

    # ---- statements --------------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef) -> str:
        arguments = [f"{self._type(a.annotation)} {a.arg}".replace("* ", "*") for a in node.args.args]
        self.declared = {a.arg for a in node.args.args}
        several = [n.value.elts for n in ast.walk(node) if isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple)]
        arguments += [f"{self.names.real} *result{i}" for i in range(len(several[0]) if several else 0)]
        kind = "void" if several else self._type(node.returns)
        head = f"static inline {kind} {self.names.function(node.name)}({', '.join(arguments)})"
        about, body = ast.get_docstring(node), node.body
        if about is not None:
            first, body = f"/* {about.splitlines()[0]} */\n", body[1:]
        else:
            first = ""
        used = {name.id for statement in body for name in ast.walk(statement) if isinstance(name, ast.Name)}
        unused = [f"    (void){a.arg};" for a in node.args.args if a.arg not in used]  # as compilers are told so
        return f"{first}{head}\n{{\n" + "\n".join([*unused, *self._lines(body, "    ")]) + "\n}"

    def _type(self, annotation: ast.expr | None) -> str:
        return _TYPES["float" if annotation is None else ast.unparse(annotation)].format(self.names.real).rstrip()

    def _lines(self, body: Iterable[ast.stmt], indent: str) -> list[str]:
        return [line for statement in body for line in self._statement(statement, indent)]

    def _statement(self, node: ast.stmt, indent: str) -> list[str]:
        match node:
            case ast.Return(value=ast.Tuple(elts=results)):
                return [f"{indent}*result{i} = {self._text(result)};" for i, result in enumerate(results)]
            case ast.Return(value=ast.expr() as value):
                return [f"{indent}return {self._text(value)};"]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return [f"{indent}{self._declared(name, self.names.real)}{name} = {self._text(value)};"]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call(func=ast.Name(id=name), args=arguments)):
                found = [ast.unparse(target) for target in targets]
                new = [f"{indent}{self.names.real} {target};" for target in found if self._declared(target, "real")]
                listed = [*map(self._text, arguments), *(f"&{target}" for target in found)]
                return [*new, f"{indent}{self.names.function(name)}({', '.join(listed)});"]
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                return [f"{indent}{self._declared(name, self._type(annotation))}{name} = {self._text(value)};"]
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                return [f"{indent}{name} {_BINARY[type(op)]}= {self._text(value)};"]
            case ast.Assign(targets=[ast.Subscript() as place], value=value):
                return [f"{indent}{self._text(place)} = {self._text(value)};"]
            case ast.Expr(value=ast.Call() as call):
                return [f"{indent}{self._text(call)};"]
            case ast.While(test=test, body=body, orelse=[]):
                return [f"{indent}while ({self._text(test)}) {{", *self._block(body, indent), f"{indent}}}"]
            case ast.If(test=test, body=body, orelse=orelse):
                other = [f"{indent}}} else {{", *self._block(orelse, indent)] if orelse else []
                return [f"{indent}if ({self._text(test)}) {{", *self._block(body, indent), *other, f"{indent}}}"]
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=limits), body=body):
                return self._loop(name, limits, body, indent)
        raise NotImplementedError(ast.unparse(node))

    def _declared(self, name: str, kind: str) -> str:
        if name in self.declared:
            return ""
        self.declared.add(name)
        return f"{kind} "

    def _loop(self, name: str, limits: list[ast.expr], body: list[ast.stmt], indent: str) -> list[str]:
        texts = [self._text(limit) for limit in limits]
        start, stop = (texts[0], texts[1]) if len(texts) > 1 else ("0", texts[0])
        step = ast.literal_eval(limits[2]) if len(limits) > 2 else 1
        until = f"{name} {'<' if step > 0 else '>'} {stop}"
        lines = self._block(body, indent, name)
        return [f"{indent}for (long {name} = {start}; {until}; {name} += {step}) {{", *lines, f"{indent}}}"]

    def _block(self, body: Iterable[ast.stmt], indent: str, *names: str) -> list[str]:
        """Statements between braces, which what is declared there does not leave."""
        kept = set(self.declared)
        self.declared.update(names)
        lines = self._lines(body, indent + "    ")
        self.declared = kept
        return lines

    # ---- expressions -------------------------------------------------------------------------------------------

    def _text(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name) if name in self.names.tables:
                return f"{name}{self.names.suffix}"
            case ast.Name(id=name):
                return self.names.literal(self.names.constants[name]) if name in self.names.constants else name
            case ast.Constant(value=bool()):
                raise NotImplementedError(ast.unparse(node))
            case ast.Constant(value=int() as value):
                return str(value)
            case ast.Constant(value=float() as value):
                return self.names.literal(value)
            case ast.BinOp(left=left, op=op, right=right):
                return f"({self._text(left)} {_BINARY[type(op)]} {self._text(right)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(!{self._text(operand)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self._text(operand)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return f"({self._text(left)} {_COMPARED[type(op)]} {self._text(right)})"
            case ast.BoolOp(op=op, values=values):
                return "(" + (" && " if isinstance(op, ast.And) else " || ").join(map(self._text, values)) + ")"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self._text(test)} ? {self._text(body)} : {self._text(orelse)})"
            case ast.Subscript(value=value, slice=ast.Slice(lower=ast.expr() as start)):
                return f"({self._text(value)} + {self._text(start)})"
            case ast.Call(func=ast.Name(id="int"), args=[number]):
                return f"((long){self._text(number)})"
            case ast.Subscript(value=value, slice=place):
                return f"{self._text(value)}[{self._text(place)}]"
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return f"{self.names.function(name)}({', '.join(map(self._text, arguments))})"
        raise NotImplementedError(ast.unparse(node))
