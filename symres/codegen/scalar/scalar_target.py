"""Targets whose code computes one entry at a time, inside of loops that compilers make vector code of."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from ..planning.network_plan import NETWORK_FUNCTIONS, TOKEN_FUNCTIONS, NetworkPlan
from ..planning.plan import Component, Function
from ..planning.target import ArrayFunction, Target
from .functions import ScalarFunction, Text, component_texts, plain_codes, public_function
from .library_source import Precision
from .loops import begins, function_loops, network_loops, tables_of
from .networks import ScalarLayer, scalar_layers
from .series import Series, hooks
from .spelling import SCALAR


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
        plain = plain_codes([component]).get(component.name)
        return None if plain is None else plain[1]

    def run(self, component: Component) -> ArrayFunction:
        """The compiled function of a component, of NumPy arrays."""
        function = self.compiled(component)
        return lambda *arguments: np.asarray(function(*arguments))

    @abstractmethod
    def compiled(self, component: Component) -> Callable[..., Any]:
        """The same, whose values of numbers are numbers."""


@dataclass(frozen=True)
class Parts:
    """What a module consists of, before any language.

    Args:
        items: its functions of arrays, or the layers of its network.
        components: the texts of the components that they call.
        loops: precision -> the functions of arrays, with their loops.
        tables: further tables of constants, by name.
    """

    items: Sequence[ScalarFunction | ScalarLayer]
    components: Mapping[str, Text]
    loops: Callable[[Precision], str]
    tables: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def series(self) -> list[Series]:
        """What is computed as series."""
        return [item.series for item in self.items if item.series is not None]

    @property
    def constants(self) -> dict[str, tuple[float, ...]]:
        """The tables that the code reads, by name."""
        tables = [table for text in self.components.values() for table in text.tables]
        return {**dict(sorted(tables, key=lambda table: not table[0].endswith("_EDGES"))), **self.tables}

    def functions(self, precision: Precision) -> list[ast.FunctionDef]:
        """The functions of the module, as trees, for arguments of a precision."""
        sources = [*(t.source for t in self.components.values()), *(s for item in self.items for s in item.sources)]
        return definitions([*sources, *hooks(self.series), self.loops(precision)])


def is_public(name: str) -> bool:
    """Whether a function is one of those that a module offers."""
    return name in (*NETWORK_FUNCTIONS, *TOKEN_FUNCTIONS) or name.endswith(("_entries", "_matrix"))


def parts_of_functions(functions: Sequence[ScalarFunction], components: Iterable[Component]) -> Parts:
    """The parts of a module of functions."""
    numbers = begins(functions)

    def loops(precision: Precision) -> str:
        return "\n\n".join(function_loops(f, numbers[f.name], precision) for f in functions)

    return Parts(functions, component_texts(components), loops)


def parts_of_network(plan: NetworkPlan) -> Parts:
    """The parts of the module of a network."""
    layers = scalar_layers(plan)
    return Parts(layers, component_texts(plan.called), partial(network_loops, plan, layers), tables_of(plan, layers))


def definitions(sources: Iterable[str]) -> list[ast.FunctionDef]:
    """The functions of sources, as trees."""
    return [tree for source in sources for tree in ast.parse(source).body if isinstance(tree, ast.FunctionDef)]


def in_rows(texts: Sequence[str]) -> list[str]:
    """Numbers, four a line."""
    return [", ".join(texts[i : i + 4]) + "," for i in range(0, len(texts), 4)]
