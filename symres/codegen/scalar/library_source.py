"""The functions of the library that a module needs, as trees."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

Precision = Literal["double", "single"]
_FILES = (
    *("choices", "angle_functions", "exponentials", "corners", "tables", "recursion", "hermite", "series_sums"),
    "overlap_loops",
)


@dataclass(frozen=True)
class Library:
    """What the library defines for one type of floats: functions and constants, by name."""

    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, float]

    def program(self, roots: Iterable[str], functions: Iterable[ast.FunctionDef]) -> tuple[ast.FunctionDef, ...]:
        """All functions that are needed, each behind those that it calls, with expressions in the place of marked ones.

        Args:
            roots: the names of functions that are called from outside.
            functions: those of the module.
        """
        trees = {**self.functions, **{tree.name: tree for tree in functions}}
        program: dict[str, ast.FunctionDef] = {}
        expressions: dict[str, ast.FunctionDef] = {}

        def add(name: str) -> None:
            if name not in trees or name in program or name in expressions:
                return
            for callee in called(trees[name]):
                add(callee)
            tree = _WrittenOut(expressions).visit(copy.deepcopy(trees[name]))
            is_expression = name not in roots and _is_expression(tree)
            tree.decorator_list = []
            (expressions if is_expression else program)[name] = tree

        roots = tuple(roots)
        for root in roots:
            add(root)
        return tuple(program.values())


@cache
def library(precision: Precision = "double") -> Library:
    """The library for float64 or float32."""
    functions: dict[str, ast.FunctionDef] = {}
    constants: dict[str, float] = {}
    folder = resources.files(__package__) / "library"
    for file in (f"{precision}_precision", *_FILES):
        for node in ast.parse((folder / f"{file}.py").read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                constants[node.targets[0].id] = ast.literal_eval(node.value)
    return Library(functions, constants)


def _is_expression(tree: ast.FunctionDef) -> bool:
    """Whether what a function returns stands wherever it is called: it is marked, and there is nothing else in it."""
    return bool(tree.decorator_list) and all(isinstance(node, ast.Return | ast.Expr) for node in tree.body)


class _WrittenOut(ast.NodeTransformer):
    """Calls become the expressions that functions return, with arguments in the place of names."""

    def __init__(self, functions: Mapping[str, ast.FunctionDef]) -> None:
        self.functions = functions

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The expression; whoever marks a function passes what costs nothing for arguments that it has twice."""
        self.generic_visit(node)
        tree = self.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if tree is None:
            return node
        returned = tree.body[-1]
        assert isinstance(returned, ast.Return) and returned.value is not None
        arguments = dict(zip((a.arg for a in tree.args.args), node.args, strict=True))
        return _Filled(arguments).visit(copy.deepcopy(returned.value))


class _Filled(ast.NodeTransformer):
    def __init__(self, arguments: Mapping[str, ast.expr]) -> None:
        self.arguments = arguments

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.arguments.get(node.id, node))


def called(tree: ast.AST) -> Iterator[str]:
    """The names of the functions that a tree calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
