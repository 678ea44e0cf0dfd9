"""The functions of the library that a module needs, as trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

Precision = Literal["double", "single"]
_FILES = ("choices", "angle_functions", "exponentials", "corners", "tables", "recursion", "hermite", "series_sums")


@dataclass(frozen=True)
class Library:
    """What the library defines for one type of floats: functions and constants, by name."""

    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, float]

    def program(self, roots: Iterable[str], functions: Iterable[ast.FunctionDef]) -> tuple[ast.FunctionDef, ...]:
        """All functions that are needed, each behind those that it calls.

        Args:
            roots: the names of functions that are called from outside.
            functions: those of the module.
        """
        trees = {**self.functions, **{tree.name: tree for tree in functions}}
        program: dict[str, ast.FunctionDef] = {}

        def add(name: str) -> None:
            if name in trees and name not in program:
                for callee in called(trees[name]):
                    add(callee)
                program[name] = trees[name]

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


def called(tree: ast.AST) -> Iterator[str]:
    """The names of the functions that a tree calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
