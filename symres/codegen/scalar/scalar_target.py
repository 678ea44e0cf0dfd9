"""Targets whose code computes one entry at a time, inside of loops that compilers make vector code of."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from ..planning.module_plan import ModulePlan
from ..planning.plan import Component, Function
from ..planning.target import ArrayFunction, Target
from .functions import ScalarFunction, Text, component_texts, plain_codes, public_function
from .spelling import SCALAR

HERE = Path(__file__).parent


class ScalarTarget(Target):
    """What the targets in scalar code share: which formulas they have words for."""

    ends = "series in the correlation would need more than 4096 terms for nearly parallel inputs"

    dialect = SCALAR

    def require(self, function: Function) -> None:
        """Make sure that a function and its components can be written.

        Raises:
            NoSpelling: they cannot.
        """
        public_function(function)
        component_texts(function.components)

    def inlined(self, component: Component) -> sp.Expr | None:
        """What stands in a layer of a network for a component of two inputs; None for a call of its function."""
        found = plain_codes([component]).get(component.name)
        return None if found is None else found[1]

    def run(self, component: Component) -> ArrayFunction:
        """The compiled function of a component, of NumPy arrays."""
        function = self.compiled(component)
        return lambda *arguments: np.asarray(function(*arguments))

    @abstractmethod
    def compiled(self, component: Component) -> Callable[..., Any]:
        """The same, whose values of numbers are numbers."""


def parts_of(plan: ModulePlan) -> tuple[list[ScalarFunction], dict[str, Text]]:
    """The functions of a module, and the texts of the components that they call."""
    return [public_function(f) for f in plan.functions], component_texts(plan.components)


def definitions(sources: Iterable[str]) -> list[ast.FunctionDef]:
    """The functions of sources, as trees."""
    return [tree for source in sources for tree in ast.parse(source).body if isinstance(tree, ast.FunctionDef)]


def tables_of(components: Mapping[str, Text]) -> dict[str, tuple[float, ...]]:
    """The constants that components read, by name."""
    tables = [table for text in components.values() for table in text.tables]
    return dict(sorted(tables, key=lambda table: not table[0].endswith("_EDGES")))


def in_rows(texts: Sequence[str]) -> list[str]:
    """Numbers, four a line."""
    return [", ".join(texts[i : i + 4]) + "," for i in range(0, len(texts), 4)]
