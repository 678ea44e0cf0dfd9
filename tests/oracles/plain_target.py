"""A throw-away target: scalar functions of plain Python, one entry at a time. Tests add it as a package."""

import math
from collections.abc import Sequence

import numpy as np
import sympy as sp

from symres.codegen.emission.emitter import Dialect, Emitter, NoSpelling, argument, variable
from symres.codegen.planning.module_plan import ModulePlan
from symres.codegen.planning.network_plan import DeepLayer, NetworkPlan
from symres.codegen.planning.plan import KERNELS, Component, Function
from symres.codegen.planning.straight_line import (
    Assignments,
    OfBothInputs,
    Test,
    floor,
    floor_squared,
    limits,
    origin,
    steps,
    value,
)
from symres.codegen.planning.target import ArrayFunction, Capabilities, Target
from symres.codegen.stable.primitives import (
    AngularSum,
    Atan2,
    AtLeast,
    AtMost,
    Chosen,
    NonzeroDivisor,
    UpperAngle,
    correlation,
    determinant,
)
from symres.codegen.wording import docstrings
from symres.codegen.wording.function_names import signature
from symres.core.symbols import K1, K2, C, K, Theta
from symres.functions.companions import Erfc, Expm1, Log1p

PLAIN = Dialect(
    name="plain Python",
    functions={
        sp.exp: "math.exp({0})",
        sp.log: "math.log({0})",
        sp.erf: "math.erf({0})",
        sp.erfc: "math.erfc({0})",
        Erfc: "math.erfc({0})",
        sp.asin: "math.asin({0})",
        sp.acos: "math.acos({0})",
        sp.Abs: "abs({0})",
        sp.Max: "max({0}, {1})",
        Expm1: "math.expm1({0})",
        Log1p: "math.log1p({0})",
        AngularSum: "({0})",
        Atan2: "math.atan2({0}, {1})",
        UpperAngle: "math.atan2({0} or float({1} == 0.0), {1})",
        NonzeroDivisor: "({0} or 1.0)",
        AtLeast: "max({0}, {1})",
        AtMost: "min({0}, {1})",
        Chosen: "({1} if {0} else {2})",
    },
    sqrt="math.sqrt({0})",
    root="math.sqrt({0})",
    radical="({0})**({1})",
    power="({0})**({1})",
    infinity="math.inf",
)
HEAD = '''import math
from fractions import Fraction


def _determinant(K1, K2, C):
    """K1*K2 - C**2, rounded once."""
    return max(float(Fraction(K1)*Fraction(K2) - Fraction(C)**2), 0.0)


def _correlation(K1, K2, C):
    """The correlation, 0 where a kernel vanishes, and the root of 1 minus its square."""
    size = math.sqrt(K1)*math.sqrt(K2)
    return (max(-1.0, min(C/size, 1.0)), min(math.sqrt(_determinant(K1, K2, C))/size, 1.0)) if size else (0.0, 1.0)
'''
OF_BOTH = {determinant: "_determinant(K1, K2, C)", correlation: "_correlation(K1, K2, C)"}
FLOORS = {floor: "1e-100", floor_squared: "1e-200"}


class PlainTarget(Target):
    """Scalar functions of plain Python."""

    name, title, libraries = "plain", "plain Python", ()
    capabilities = Capabilities(code="scalar")

    def unspelled(self, expr: sp.Expr) -> str:
        """The name of a function without a spelling."""
        return PLAIN.unspelled(expr)

    def require(self, function: Function) -> None:
        """Closed forms only."""
        self._function(function)
        for component in function.components:
            self._component(component)

    def module_text(self, plan: ModulePlan) -> str:
        """All functions."""
        functions = [self._public(f, plan) for f in plan.functions]
        return "\n\n".join([f'"""{plan.title}"""', HEAD, *functions, *map(self._component, plan.components)]) + "\n"

    def network_text(self, plan: NetworkPlan) -> str:
        """Layer by layer."""
        names = list(map(argument, plan.parameters))
        calls = [
            [f"first, second = {la.name}_one({given('K1', la)}), {la.name}_one({given('K2', la)})",
             "determinant = _determinant(K1, K2, C)",
             f"C, Theta = {la.name}_pair(K1, K2, C, Theta, determinant, first[1:], {given('second[1:]', la)})",
             "K1, K2 = first[0], second[0]"] * count
            for la, count in plan.runs
        ]  # fmt: skip
        body = [line for lines in calls for line in lines]
        dual = defined(f"dual_kernel({', '.join(['K1, K2, C', *names, 'Theta=0.0'])})", [*body, "return C, Theta"])
        layers = [text for layer in plan.layers for text in self._layer(layer)]
        return "\n\n".join([f'"""{plan.title}"""', HEAD, dual, *layers, *map(self._component, plan.called)]) + "\n"

    def run(self, component: Component) -> ArrayFunction:
        """Entry by entry; what has no number is nan."""
        space: dict[str, ArrayFunction] = {}
        exec(f"{HEAD}\n\n{self._component(component)}", space)

        def at(*numbers: float) -> float:
            try:
                return space[component.name](*map(float, numbers))
            except (ArithmeticError, ValueError):
                return math.nan

        return np.vectorize(at, otypes=[float])

    # ---- text --------------------------------------------------------------------------------------------------

    def _public(self, function: Function, plan: ModulePlan) -> str:
        quantity = function.quantity
        head = f"{quantity.name}({signature(quantity, [f.quantity for f in plan.functions])})"
        facts = "\n    ".join(docstrings.function_lines(function, self.capabilities.gradients))
        kernels = " and ".join(f"{argument(k)} >= 0.0" for k in function.arguments if k in KERNELS)
        given = ", ".join(map(argument, function.arguments))
        inner = defined(f"_{quantity.name}({', '.join(map(variable, function.arguments))})", self._function(function))
        call = f"return _{quantity.name}({given}) if {kernels} else math.nan"
        return "\n\n".join([defined(head, [f'"""{quantity.meaning}\n\n    {facts}\n    """', call]), inner])

    def _function(self, function: Function) -> list[str]:
        names = dict(function.names) | {determinant: "_determinant(K1, K2, C)"}
        return Emitter(PLAIN, names).function(function.lines)

    def _component(self, component: Component) -> str:
        code = component.code
        if not isinstance(code, sp.Expr) or component.fallback_integral is not None:
            raise NoSpelling.of(self.title, component.formula, "averages")
        names, lines = {s: variable(s) for s in component.symbols}, []
        for step in (*limits(component).before, *origin(component).before, *steps(component, code)):
            match step:
                case Assignments():
                    lines += emitted(names, step.results)
                case Test():
                    lines.append(f"{step.symbol} = {' and '.join(f'{s} <= {step.most!r}' for s in step.variables)}")
                case OfBothInputs():
                    lines.append(f"{', '.join(map(str, step.symbols))} = {OF_BOTH[step.symbols[0]]}")
                case _:
                    raise NoSpelling.of(self.title, component.formula, "sums")
        returned = limits(component).result.xreplace({value: origin(component).result})
        lines += emitted(names, [("return", returned)])
        about = "\n    ".join(docstrings.component_lines(component))
        return defined(
            f"{component.name}({', '.join(names[s] for s in component.symbols)})", [f'"""{about}\n    """', *lines]
        )

    def _layer(self, layer: DeepLayer) -> list[str]:
        own = [variable(p) for p in layer.parameters]
        first, second = layer.symbols
        names = {s: variable(s) for s in (K, K1, K2, C, Theta, determinant, *layer.parameters, *first, *second)}
        one = [("kernel", layer.kernels[0]), *((f"own{i}", e) for i, e in enumerate(layer.own))]
        kept = ", ".join(name for name, _ in one)
        both = [("following", layer.covariances[0]), ("tangent", layer.tangents[0])]
        unpacked = [f"{', '.join(map(str, symbols))}, = {side}" for symbols, side in
                    ((first, "first"), (second, "second")) if symbols]  # fmt: skip
        pair = ["K1, K2, C, Theta, determinant, first, second", *own]
        return [
            defined(f"{layer.name}_one({', '.join(['K', *own])})", [*emitted(names, one), f"return {kept},"]),
            defined(f"{layer.name}_pair({', '.join(pair)})",
                    [*unpacked, *emitted(names, both), "return following, tangent"]),
        ]  # fmt: skip


def given(first: str, layer: DeepLayer) -> str:
    """The arguments of a layer's function: one of its own, then its parameters."""
    return ", ".join([first, *map(argument, layer.parameters)])


def emitted(names: dict[sp.Symbol, str], results: Sequence[tuple[str, sp.Expr]]) -> list[str]:
    """Assignments."""
    return Emitter(PLAIN, {**FLOORS, **names}).function(results)


def defined(head: str, lines: Sequence[str]) -> str:
    """The text of a function."""
    return "\n".join([f"def {head}:", *(f"    {line}" for line in lines)])


TARGET = PlainTarget()
