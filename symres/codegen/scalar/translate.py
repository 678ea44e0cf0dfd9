"""Scalar Python as C: the restricted language of the run-time library, and of the functions that are generated.

Functions of numbers, whole numbers and arrays: assignments, arithmetic, comparisons, conditions, branches and
loops. Parts of arrays are pointers; whole numbers are divided where they are not negative. Each local name is declared
where it first stands. What is fused stays fused, and nothing else is: the text says ``fma`` where it means it.

Four functions of ``library/machine.py`` stand for more than a call. ``in_threads(count, worthwhile)`` is a loop of
OpenMP. ``room(count)`` is an array: on the stack where its size is a constant and small, otherwise what ``symres_room``
allocates for the rest of the block, which does not run where memory lacks; then ``failed``, where the function has it,
becomes 1. ``present(array)`` is false of ``absent()``, which is NULL.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/", ast.Mod: "%"}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_CHOICE, _LOGIC, _COMPARISON, _SUM, _PRODUCT, _SIGN, _PLACE = range(1, 8)  # how strongly operators bind in C
_TYPES = {
    "float": "{0}",
    "int": "ptrdiff_t",
    "Fixed": "const ptrdiff_t",  # a constant wherever the function is called: it becomes part of its callers
    "bool": "int",
    "Sequence[float]": "const {0} *",
    "Given": "const {0} *",
    "Written": "{0} *restrict ",
    "Passed": "{1} *restrict ",
    "None": "void",
}
_ON_STACK = 65536  # numbers: half a megabyte, of the eight that a thread usually has
DOUBLE = "_double_"  # begins the names of functions of double that functions of float call, and of no quantity


@dataclass(frozen=True)
class Names:
    """How names are spelled in C.

    Args:
        real: the type of numbers: "double" or "float".
        outer: the type of the arguments of public functions.
        known: the functions of the C library; those of float have an f behind their names.
        prefix: put before the names of all other functions.
        constants: names that stand for numbers.
        tables: names of arrays of constants; those of float have an f behind them.
        public: functions that other sources call -> their names there, without what all of them begin with.
        whole: functions of whole numbers alone, which functions of float share with those of double.
    """

    real: str
    outer: str
    known: Set[str]
    prefix: str
    constants: Mapping[str, float]
    tables: Set[str] = frozenset()
    public: Mapping[str, str] = field(default_factory=dict)
    whole: Set[str] = frozenset()

    @property
    def suffix(self) -> str:
        """Of functions and literals."""
        return "f" if self.real == "float" else ""

    def function(self, name: str) -> str:
        """The name of a function."""
        suffix = "" if name.startswith(DOUBLE) or name in self.whole else self.suffix
        outer = "f" if self.outer == "float" and not name.startswith(DOUBLE) else ""
        name = name.removeprefix(DOUBLE)
        if name in self.public:
            return f"SYMRES_NAME({self.public[name]}{outer})"
        return f"{'' if name in self.known else self.prefix}{name}{suffix}"

    def literal(self, value: float) -> str:
        """A number."""
        text = repr(value) if isinstance(value, int) else f"{value!r}{self.suffix}"
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
        self.sizes: set[str] = set()  # arguments of public functions, which have no sign

    # ---- statements --------------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef) -> str:
        is_public = node.name in self.names.public
        arguments = [self._argument(a, is_public) for a in node.args.args]
        self.declared = {a.arg for a in node.args.args}
        whole = (a.arg for a in node.args.args if a.annotation is not None and ast.unparse(a.annotation) == "int")
        self.sizes = set(whole if is_public else ())
        several = [n.value.elts for n in ast.walk(node) if isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple)]
        arguments += [f"{self.names.real} *result{i}" for i in range(len(several[0]) if several else 0)]
        kind = "void" if several else self._type(node.returns)
        kind = kind.replace("ptrdiff_t", "int") if is_public else f"static inline {kind}"
        head = f"{kind} {self.names.function(node.name)}({', '.join(arguments)})"
        about, body = ast.get_docstring(node), node.body
        if about is not None:
            first, body = f"/* {about.splitlines()[0]} */\n", body[1:]
        else:
            first = ""
        used = {name.id for statement in body for name in ast.walk(statement) if isinstance(name, ast.Name)}
        unused = ", ".join(f"(void){a.arg}" for a in node.args.args if a.arg not in used)  # as compilers are told so
        lines = [*([f"    {unused};"] if unused else []), *self._lines(body, "    ")]
        return "\n".join([f"{first}{head} {{", *lines, "}"])

    def _argument(self, argument: ast.arg, is_public: bool) -> str:
        """The declaration of an argument; to public functions arrays may be passed that overlap."""
        kind = self._type(argument.annotation)
        if is_public:
            kind = self._type(argument.annotation, self.names.outer)
            kind = kind.replace("ptrdiff_t", "size_t").replace(" *restrict", " *")
        return f"{kind} {argument.arg}".replace("* ", "*")

    def _type(self, annotation: ast.expr | None, real: str = "") -> str:
        kind = _TYPES["float" if annotation is None else ast.unparse(annotation)]
        return kind.format(real or self.names.real, self.names.outer).rstrip()

    def _lines(self, body: Sequence[ast.stmt], indent: str) -> list[str]:
        lines = []
        for number, statement in enumerate(body):
            match statement:
                case ast.AnnAssign(
                    target=ast.Name(id=name), annotation=kind, value=ast.Call(func=ast.Name(id="room"), args=[count])
                ):
                    real = self._type(kind).split()[0]
                    self.declared.add(name)
                    if self._is_small(count):
                        lines.append(f"{indent}{real} {name}[{self._text(count)}];")
                    else:
                        return [*lines, *self._allocated(name, real, self._text(count), body[number + 1 :], indent)]
                case _:
                    lines += self._statement(statement, indent)
        return lines

    def _is_small(self, count: ast.expr) -> bool:
        """Whether an array has a constant size that the stack has room for."""
        whole = {name: value for name, value in self.names.constants.items() if isinstance(value, int)}
        used = {node.id for node in ast.walk(count) if isinstance(node, ast.Name)}
        is_constant = used <= whole.keys() and not any(isinstance(node, ast.Call) for node in ast.walk(count))
        return is_constant and eval(ast.unparse(count), {}, whole) <= _ON_STACK

    def _allocated(self, name: str, real: str, count: str, body: Sequence[ast.stmt], indent: str) -> list[str]:
        """A block with an allocated array; what is returned at its end is told without it."""
        ends = bool(body) and isinstance(body[-1], ast.Return)
        inner, last = (body[:-1], body[-1:]) if ends else (body, [])
        lines = [
            f"{indent}{real} *const {name} = symres_room((size_t)({count}), sizeof({real}));",
            f"{indent}if ({name}) {{",
            *self._block(inner, indent),
        ]
        if "failed" in self.declared:
            lines += [f"{indent}}} else {{", f"{indent}    failed = 1;"]
        return [*lines, f"{indent}}}", f"{indent}symres_free({name});", *self._lines(last, indent)]

    def _statement(self, node: ast.stmt, indent: str) -> list[str]:
        match node:
            case ast.Return(value=ast.Tuple(elts=results)):
                return [f"{indent}*result{i} = {self._text(result)};" for i, result in enumerate(results)]
            case ast.Return(value=ast.expr() as value):
                return [f"{indent}return {self._text(value)};"]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return [f"{indent}{self._declared(name, self.names.real)}{name} = {self._text(value)};"]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call(func=ast.Name(id=name), args=arguments)):
                assigned = [target.id for target in targets if isinstance(target, ast.Name)]
                new = ", ".join(target for target in assigned if self._declared(target, "real"))
                listed = [*map(self._text, arguments), *(f"&{self._text(target)}" for target in targets)]
                declared = [f"{indent}{self.names.real} {new};"] if new else []
                return [*declared, f"{indent}{self.names.function(name)}({', '.join(listed)});"]
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                return [f"{indent}{self._declared(name, self._type(annotation))}{name} = {self._text(value)};"]
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                return [f"{indent}{name} {_BINARY[type(op)]}= {self._text(value)};"]
            case ast.Assign(targets=[ast.Subscript() as place], value=value):
                return [f"{indent}{self._text(place)} = {self._text(value)};"]
            case ast.Expr(value=ast.Call() as call):
                return [f"{indent}{self._text(call)};"]
            case ast.While(test=test, body=body, orelse=[]):
                return self._braced(f"{indent}while ({self._text(test)})", body, indent)
            case ast.If(test=test, body=body, orelse=[]):
                return self._braced(f"{indent}if ({self._text(test)})", body, indent)
            case ast.If(test=test, body=body, orelse=orelse):
                lines = [f"{indent}if ({self._text(test)}) {{", *self._block(body, indent)]
                if len(orelse) == 1 and isinstance(orelse[0], ast.If) and orelse[0].orelse:
                    head, *rest = self._statement(orelse[0], indent)
                    return [*lines, f"{indent}}} else {head.strip()}", *rest]
                return [*lines, f"{indent}}} else {{", *self._block(orelse, indent), f"{indent}}}"]
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="in_threads"), args=[count, test]), body=body
            ):
                choice = f"schedule(dynamic){self._reduction(node)} if ({self._text(test)})"
                pragma = f"SYMRES_PRAGMA(omp parallel for {choice})"
                return [pragma, *self._loop(name, [count], body, indent)]
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=limits), body=body):
                return self._loop(name, limits, body, indent)
        raise NotImplementedError(ast.unparse(node))

    def _reduction(self, loop: ast.For) -> str:
        """The clause for numbers to which all threads add; none of them may assign what is declared before the loop."""
        added = [node.target for node in ast.walk(loop) if isinstance(node, ast.AugAssign)]
        names = (node for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        if any(node.id in self.declared and node not in added for node in names):
            raise NotImplementedError(ast.unparse(loop))
        sums = {node.id for node in added if isinstance(node, ast.Name)} & self.declared
        return f" reduction(+:{', '.join(sorted(sums))})" if sums else ""

    def _declared(self, name: str, kind: str) -> str:
        if name in self.declared:
            return ""
        self.declared.add(name)
        return f"{kind} "

    def _loop(self, name: str, limits: Sequence[ast.expr], body: Sequence[ast.stmt], indent: str) -> list[str]:
        texts = [self._text(limit, _COMPARISON + 1) for limit in limits]
        start, stop = (texts[0], texts[1]) if len(texts) > 1 else ("0", texts[0])
        step = texts[2] if len(texts) > 2 else "1"
        until = f"{name} {'>' if step.startswith('-') else '<'} {stop}"
        change = f"++{name}" if step == "1" else f"{name} += {step}"
        head = f"{indent}for (ptrdiff_t {name} = {start}; {until}; {change})"
        return self._braced(head, body, indent, name)

    def _braced(self, head: str, body: Sequence[ast.stmt], indent: str, *names: str) -> list[str]:
        """What repeats or decides, with braces around more than one statement."""
        lines = self._block(body, indent, *names)
        match body:
            case [ast.For(iter=ast.Call(func=ast.Name(id="range")))]:
                return [head, *lines]
        return [head, *lines] if len(lines) == 1 else [f"{head} {{", *lines, f"{indent}}}"]

    def _block(self, body: Sequence[ast.stmt], indent: str, *names: str) -> list[str]:
        """Statements between braces, which what is declared there does not leave."""
        kept = set(self.declared)
        self.declared.update(names)
        lines = self._lines(body, indent + "    ")
        self.declared = kept
        return lines

    # ---- expressions -------------------------------------------------------------------------------------------

    def _text(self, node: ast.expr, binding: int = 0) -> str:
        """An expression, in brackets where what stands around it binds more strongly."""
        text, strength = self._spelled(node)
        return f"({text})" if strength < binding else text

    def _spelled(self, node: ast.expr) -> tuple[str, int]:
        """The text of an expression, and how strongly its operator binds."""
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                strength = _SUM if isinstance(op, ast.Add | ast.Sub) else _PRODUCT
                return f"{self._text(left, strength)} {_BINARY[type(op)]} {self._text(right, strength + 1)}", strength
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"-{self._text(operand, _PLACE)}", _SIGN
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = self._text(left, _COMPARISON + 1), self._text(right, _COMPARISON + 1)
                return f" {_COMPARED[type(op)]} ".join(sides), _COMPARISON
            case ast.BoolOp(op=op, values=values):
                word = " && " if isinstance(op, ast.And) else " || "
                return word.join(self._text(value, _LOGIC + 1) for value in values), _LOGIC
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = self._text(test, _CHOICE + 1), self._text(body, _CHOICE + 1), self._text(orelse, _CHOICE + 1)
                return "{} ? {} : {}".format(*parts), _CHOICE
            case ast.Subscript(value=value, slice=ast.Slice(lower=ast.expr() as start)):
                return f"{self._text(value, _SUM)} + {self._text(start, _SUM + 1)}", _SUM
            case ast.Call(func=ast.Name(id="int"), args=[number]):
                return f"(ptrdiff_t){self._text(number, _PLACE)}", _SIGN
            case ast.Call(func=ast.Name(id="present"), args=[array]):
                return f"{self._text(array)} != NULL", _COMPARISON
            case ast.Call(func=ast.Name(id="absent")):
                return "NULL", _PLACE
            case ast.Call(func=ast.Name(id="precision")):
                return f"{'FLT' if self.names.suffix else 'DBL'}_EPSILON", _PLACE
            case ast.Name(id=name) if name in self.sizes:
                return f"(ptrdiff_t){name}", _SIGN
        return self._atom(node), _PLACE

    def _atom(self, node: ast.expr) -> str:
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
            case ast.Subscript(value=value, slice=place):
                return f"{self._text(value, _PLACE)}[{self._text(place)}]"
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return f"{self.names.function(name)}({', '.join(map(self._text, arguments))})"
        raise NotImplementedError(ast.unparse(node))
