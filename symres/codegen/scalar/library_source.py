"""The functions of the library that a text calls, as trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

Precision = Literal["double", "single"]
_FILES = (
    "choices.py",
    "angle_functions.py",
    "exponentials.py",
    "corners.py",
    "tables.py",
    "recursion.py",
    "hermite.py",
    "series_sums.py",
)


@dataclass(frozen=True)
class Library:
    """What the library defines for one type of floats.

    Args:
        functions: by name, dependencies first.
        constants: by name.
    """

    functions: dict[str, ast.FunctionDef]
    constants: dict[str, float]

    def needed(self, trees: Iterable[ast.AST], *names: str) -> tuple[ast.FunctionDef, ...]:
        """The functions that trees call, those of some names, and what these call, in the order of the library."""
        found: set[str] = set()
        stack = [*names, *(name for tree in trees for name in called(tree))]
        while stack:
            name = stack.pop()
            if name in self.functions and name not in found:
                found.add(name)
                stack.extend(called(self.functions[name]))
        return tuple(tree for name, tree in self.functions.items() if name in found)


@cache
def library(precision: Precision = "double") -> Library:
    """The library for float64 or float32."""
    functions: dict[str, ast.FunctionDef] = {}
    constants: dict[str, float] = {}
    for file in (f"{precision}_precision.py", *_FILES):
        for node in ast.parse((resources.files(__package__) / "library" / file).read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                constants[node.targets[0].id] = float(ast.literal_eval(node.value))
    return Library(functions, constants)


def called(tree: ast.AST) -> Iterator[str]:
    """The names of the functions that a tree calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
