"""The functions of the library and of the drivers that a module needs, as trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
        drivers: functions of ``drivers``, likewise; they call functions of the library and of the module.
    """

    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, float]
    drivers: Mapping[str, ast.FunctionDef] = field(default_factory=dict)

    def program(
        self, roots: Iterable[str], own: Iterable[ast.FunctionDef], series: Iterable[ast.FunctionDef] = ()
    ) -> tuple[ast.FunctionDef, ...]:
        """All functions that some need, in an order in which none is called before it is defined.

        Args:
            roots: the names of these functions.
            own: the functions of the module.
            series: those of its functions that drivers call.
        """
        everything = (*self.functions.values(), *series, *self.drivers.values(), *own)
        trees = {tree.name: tree for tree in everything}
        reached: set[str] = set()
        stack = list(roots)
        while stack:
            name = stack.pop()
            if name in trees and name not in reached:
                reached.add(name)
                stack.extend(called(trees[name]))
        return tuple(tree for name, tree in trees.items() if name in reached)


@cache
def library(precision: Precision = "double") -> Library:
    """The library for float64 or float32."""
    functions: dict[str, ast.FunctionDef] = {}
    constants: dict[str, float] = {}
    for file in (f"{precision}_precision.py", *_FILES):
        for node in _tree("library", file).body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                constants[node.targets[0].id] = ast.literal_eval(node.value)
    drivers = [node for node in _tree("drivers", "expansions.py").body if isinstance(node, ast.FunctionDef)]
    return Library(functions, constants, {node.name: node for node in drivers})


def _tree(folder: str, file: str) -> ast.Module:
    return ast.parse((resources.files(__package__) / folder / file).read_text("utf-8"))


def called(tree: ast.AST) -> Iterator[str]:
    """The names of the functions that a tree calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
