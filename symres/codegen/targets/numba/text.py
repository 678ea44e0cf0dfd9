"""The modules of functions and networks for Numba."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from ....core import files
from ....results.quantity import Quantity
from ...arrays.array_target import FEATURE_ROWS
from ...arrays.runtime_library import RuntimeLibrary
from ...emission.emitter import OUT, argument, variable
from ...planning.module_plan import ModulePlan
from ...planning.network_plan import NetworkPlan
from ...planning.plan import Component
from ...scalar import arrays
from ...scalar.descriptions import (
    SERIES,
    SEVERAL,
    documented,
    head_lines,
    meaning,
    network_functions,
    network_lines,
    parameter_lines,
    units_and_errors,
)
from ...scalar.functions import ScalarFunction, component_function, public_function
from ...scalar.library_source import called, library
from ...scalar.scalar_target import Parts, in_rows, is_public, parts_of_functions, parts_of_network
from ...scalar.spelling import standard_functions
from ...wording import docstrings
from ...wording.function_names import signature

HERE = Path(__file__).parent
INTRINSICS = RuntimeLibrary.read(HERE / "runtime" / "intrinsics.py")
INLINED = RuntimeLibrary.read(HERE / "runtime" / "intrinsics.py", Path(arrays.__file__), FEATURE_ROWS)
DOCSTRING = re.compile(r'^( +"""[^"\n]+)\n\n.*?"""', re.MULTILINE | re.DOTALL)  # the first sentence is enough there
TITLE, PREFIX = "Numba", "_"
BUILTIN = {"smaller": "min", "room": "np.empty"}  # what Numba has
RAISED = "without_values"  # of what lacks memory: there is an error in its place
MATH = sorted(standard_functions() - {"fma"})
ABOUT = (
    "Functions take the kernels, then the parameters that their value depends on. Arrays broadcast; everything is "
    "computed in float64, and returned in float32 if all inputs are. Functions are compiled at their first call, and "
    "loops over large arrays run in threads (numba.set_num_threads)."
)
CONVENTIONS = f"{docstrings.PARAMETRISATION} {docstrings.INPUTS}."


def module_text(plan: ModulePlan) -> str:
    """The module of some functions."""
    functions = [public_function(f) for f in plan.functions]
    quantities = [f.quantity for f in plan.functions]
    listed = [
        _function(
            s,
            signature(f.quantity, quantities, [f"{OUT}=None"]),
            meaning(f, "    "),
            documented(f, s.series, _arguments(f.quantity), 4),
        )
        for f, s in zip(plan.functions, functions, strict=True)
    ]
    about = head_lines([ABOUT, units_and_errors(plan.components, TITLE)], plan.missing, 0)
    return _text(plan.title, plan.command, about, listed, parts_of_functions(functions, plan.components))


def component_module(component: Component) -> str:
    """The module of a component alone."""
    function = component_function(component)
    listed = ", ".join(map(argument, (*function.inputs, *function.parameters)))
    public = _function(function, f"{listed}, *, {OUT}=None", component.name, [])
    parts = parts_of_functions([function], [component])
    return _text(component.name, "", [], [public], parts, threads=False)


def network_text(plan: NetworkPlan) -> str:
    """The module of a network."""
    parts, depth = parts_of_network(plan), plan.depth
    series = [SERIES] if parts.series else []
    about = head_lines([CONVENTIONS, *series, units_and_errors(plan.components, TITLE)], (), 0)
    explained = parameter_lines(plan, SEVERAL)
    names, kind = list(map(argument, plan.parameters)), "np.dtype(np.float64)"
    functions = network_functions(names, explained, depth, kind, plan.state)
    head = [*network_lines(plan), "", *about]
    return _text(plan.title, plan.command, head, functions, parts, depth=depth)


def _text(
    title: str,
    command: str,
    about: Sequence[str],
    functions: Sequence[Mapping[str, Any]],
    parts: Parts,
    threads: bool = True,
    depth: int = 0,
) -> str:
    tools, functions_of_arrays = library("double"), parts.functions("double")
    trees = tools.program([tree.name for tree in functions_of_arrays if is_public(tree.name)], functions_of_arrays)
    trees = tuple(tree for tree in trees if tree.name not in (*BUILTIN, RAISED))
    constants = {**tools.constants, "INFINITY": "inf", "NAN": "nan"}
    # formulas stand before what they call, which Python looks up later, and loops at the end
    ordered = sorted(reversed(trees), key=lambda tree: is_public(tree.name))
    of_python = {name for tree in trees if _is_python(tree) for name in called(tree)}
    renamed = (ast.fix_missing_locations(_Renamed(constants).visit(copy.deepcopy(tree))) for tree in ordered)
    code = [_decorated(t, of_python) + _in_doubles(ast.unparse(r)) for t, r in zip(ordered, renamed, strict=True)]
    read = {node.id for text in code for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    needed = INLINED.needed(*code, *(line for f in functions for line in f["body"]))
    return files.render(
        "module.py.j2",
        {
            "title": docstrings.quoted(title),
            "command": docstrings.quoted(command),
            "about": about,
            "threads": threads,
            "decorators": {line for text in code for line in text.splitlines()[:1]},
            "depth": depth,
            "math": [name for name in (*MATH, "inf", "nan") if name in read],
            "functions": functions,
            "tables": [
                {"name": name, "lines": in_rows(list(map(repr, numbers)))}
                for name, numbers in parts.constants.items()
                if name in read
            ],
            "has_intrinsics": not INTRINSICS.texts.keys().isdisjoint(needed),
            "code": [*code, *(DOCSTRING.sub(r'\1"""', INLINED.texts[name]) for name in needed)],
        },
        HERE / "templates",
    )


def _in_doubles(text: str) -> str:
    """A function that squares a narrow C as a double, in which the square is finite; kernels are doubles already.

    C itself stays narrow: what rounding may add to it depends on its type.
    """
    return re.sub(r"\bC \* C\b", "1.0 * C * C", text)


class _Renamed(ast.NodeTransformer):
    """A scalar function in Numba's words: callees have a prefix, but for those of ``math``, constants their values."""

    def __init__(self, constants: Mapping[str, object]) -> None:
        self.constants = constants

    def _named(self, name: str) -> str:
        return name if name in (*MATH, "range", "int") else f"{PREFIX}{name}"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Its own name too; of its docstring the first line."""
        node.name, node.returns = self._named(node.name), None
        for parameter in node.args.args:
            parameter.annotation = None
        about = ast.get_docstring(node)
        if about is not None:
            node.body[0] = ast.Expr(ast.Constant(about.splitlines()[0]))
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """A plain assignment."""
        assert node.value is not None
        return ast.copy_location(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Calls whose result nobody takes."""
        return None if RAISED in called(node) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """What is called; arguments may have the same name."""
        assert isinstance(node.func, ast.Name)
        arguments = [self.visit(a) for a in node.args]
        match node.func.id:
            case name if name in BUILTIN:
                return ast.Call(ast.Name(BUILTIN[name]), arguments, [])
            case "in_threads":
                return ast.Call(ast.Name("prange"), arguments[:1], [])
            case "present":
                return ast.Compare(ast.Attribute(arguments[0], "size"), [ast.Gt()], [ast.Constant(0)])
        return ast.Call(ast.Name(self._named(node.func.id)), arguments, node.keywords)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Constants become their values."""
        value = self.constants.get(node.id)
        return node if value is None else ast.parse(str(value), mode="eval").body


def _is_python(tree: ast.FunctionDef) -> bool:
    """Whether a function computes no numbers in loops: it calls compiled ones, each of which is compiled for itself."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    numbers = (n for loop in loops for n in ast.walk(loop) if isinstance(n, ast.Subscript | ast.AugAssign))
    fills = any(isinstance(getattr(n, "ctx", ast.Store()), ast.Store) for n in numbers)
    return not fills and (is_public(tree.name) or "room" in called(tree))


def _decorated(tree: ast.FunctionDef, of_python: Set[str]) -> str:
    """The decorator of a scalar function, of one that fills arrays, of loops in threads, and of what Python calls."""
    if _is_python(tree):
        return ""
    if "in_threads" in called(tree):
        return "@_loop\n"
    if is_public(tree.name) or tree.name in of_python:
        return "@_whole\n"
    kinds = {ast.unparse(a.annotation) for a in tree.args.args if a.annotation is not None}
    return "@_plain\n" if "Written" in kinds and "Fixed" not in kinds else "@_scalar\n"


def _arguments(quantity: Quantity) -> list[str]:
    """The arguments of a function, and its result."""
    return [
        "Args:",
        *(f"    {line}" for line in docstrings.argument_lines(quantity, "array_like")),
        f"    {OUT}: array of the broadcast shape that receives the result.",
        "",
        "Returns:",
        f"    array of the broadcast shape (a number if all arguments are numbers), or ``{OUT}``.",
    ]


def _function(function: ScalarFunction, head: str, about: str, lines: Sequence[str]) -> dict[str, Any]:
    """A public function: its arguments, what is said of it, and its call of the loops."""

    def listed(names: Sequence[str]) -> str:
        """A tuple."""
        return f"({', '.join(names)}{',' if len(names) == 1 else ''})"

    matrix = f"_{function.name}_matrix" if function.levels is not None else "None"
    given = f"{listed(list(map(variable, function.inputs)))}, {listed(list(map(argument, function.parameters)))}"
    body = f"return evaluated(_{function.name}_entries, {matrix}, {given}, {OUT})"
    return {"name": function.name, "signature": head, "meaning": about, "lines": lines, "body": [body]}
