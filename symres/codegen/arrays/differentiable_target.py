"""What the targets have in common whose results are differentiable: components have derivatives of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from ..emission.emitter import argument, variable
from ..planning.network_plan import DeepLayer, takes_determinant
from ..planning.plan import Component, Function
from ..stable.primitives import determinant
from .array_code import KERNEL_NAMES, Definition
from .array_target import ArrayTarget
from .differentiable import function_lines, lines_with_arrays


class DifferentiableTarget(ArrayTarget):
    """A target whose library differentiates what it computes."""

    def inlined(self, component: Component) -> sp.Expr | None:
        """What stands in a layer of a network: always a call, as components have derivatives of their own."""
        return component.call(*component.symbols, determinant) if takes_determinant(component) else None

    def function_definitions(self, function: Function) -> tuple[Sequence[str], Sequence[Definition]]:
        """The body of a public function, and the function of arrays behind it."""
        given, name = ", ".join(map(argument, function.arguments)), f"_{function.quantity.name}"
        comma = "," * (len(function.arguments) == 1)
        listed = ", ".join(map(variable, function.arguments))
        inner = Definition(f"{name}({listed})", function_lines(function, self.dialect))
        return [f"{given}{comma} = _of_one_type({given})", f"return {name}({given})"], [inner]

    def lines(self, names: Mapping[sp.Symbol, str], results: Sequence[tuple[str, sp.Expr]], like: str) -> list[str]:
        """Assignments that compute results."""
        return lines_with_arrays(names, results, like, self.dialect)

    def of_one_input(self, layer: DeepLayer, lines: list[str]) -> list[str]:
        """The body of a layer's function of one input; a constant gets its shape."""
        named = [name for name, e in zip(KERNEL_NAMES, layer.kernels, strict=False) if not e.has(*layer.state.one)]
        return [*lines, *(f"{name} = _shaped({name}, K)" for name in named)]
