"""What differs from one array library of Python to another: the code of components, functions and layers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from ..emission.emitter import Source
from ..planning.network_plan import DeepLayer, NetworkPlan
from ..planning.plan import Component, Function
from ..planning.target import Target
from .runtime_library import RuntimeLibrary


@dataclass(frozen=True)
class Wording:
    """What docstrings call things.

    Args:
        argument: what functions take.
        array: what they return.
        numbers: what is said of arguments that are all numbers, in brackets; empty if that is nothing.
        result: what a function of a module returns, as a sentence.
        results: what that of a network returns.
        curve: what a function of a weight returns, as a sentence.
        features: matrices whose rows are inputs.
        matrices: kernels of such rows.
        precision: of a function of a weight, as a sentence.
        head: sentences at the head of a module; ``{code}`` is the code on which errors were measured.
        averages: how averages of two variables are computed, as sentences, if not as series with quadrature of entries
            for which these are too long.
    """

    argument: str
    array: str
    numbers: str
    result: str
    results: str
    curve: str
    features: str
    matrices: str
    precision: str
    head: tuple[str, ...]
    averages: str = ""


@dataclass(frozen=True)
class Definition:
    """A function of a module.

    Args:
        head: its name and arguments.
        lines: its body.
        doc: lines of its docstring.
    """

    head: str
    lines: Sequence[str]
    doc: Sequence[str] = ()


KERNEL_NAMES = ("kernel", "covariance")  # of the next numbers of one input


class ArrayCode(Target):
    """A target whose functions take arrays that broadcast.

    Attributes:
        runtime: the functions that modules contain where they need them.
        imports: the lines that begin a module, in groups, by the names that they define.
        words: what docstrings call things.
    """

    runtime: RuntimeLibrary
    imports: Sequence[Mapping[str, str]]
    words: Wording

    @abstractmethod
    def source(self, component: Component) -> Source:
        """The code of a component."""

    @abstractmethod
    def function_definitions(self, function: Function) -> tuple[Sequence[str], Sequence[Definition]]:
        """The body of a public function, and the private functions behind it."""

    @abstractmethod
    def lines(self, names: Mapping[sp.Symbol, str], results: Sequence[tuple[str, sp.Expr]], like: str) -> list[str]:
        """Assignments that compute results from the variables of symbols; one of these has the type of all."""

    def component_definitions(self, component: Component, source: Source) -> list[Definition]:
        """The functions of a component beside its own."""
        return []

    def measured_definitions(self, component: Component, source: Source) -> list[Definition]:
        """Functions that stand behind a component's own, or in its place, while its errors are measured."""
        return []

    def function_notes(self, function: Function) -> tuple[str, ...]:
        """What is said of the results of a function alone, as sentences."""
        return ()

    # ---- layers of networks ------------------------------------------------------------------------------------

    def of_one_input(self, layer: DeepLayer, lines: list[str]) -> list[str]:
        """The body of a layer's function of one input, whose results are ``KERNEL_NAMES``, with what guards it."""
        return lines

    def network_notes(self, plan: NetworkPlan) -> tuple[str, ...]:
        """What is said of all results of a network, as sentences."""
        return ()
