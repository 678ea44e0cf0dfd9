"""A network as one function: the maps of its layers as code; the recursion through them is in the run-time library."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy as sp

from ...core.errors import DeclarationError
from ...notation import shortened
from ...results.quantity import Quantity
from ..emission.emitter import argument, variable
from ..planning.network_plan import INPUTS, PAIR, DeepLayer, NetworkPlan, takes_determinant
from ..planning.plan import Component
from ..stable.primitives import determinant
from ..wording import docstrings
from .array_code import KERNEL_NAMES, ArrayCode, Definition

CONVENTIONS = (
    f"{docstrings.PARAMETRISATION} C_W is fan_in times the variance of a weight, C_b the variance of a bias. "
    f"{docstrings.INPUTS}; a read-in is the layer Dense(z).",
    f"{docstrings.UNITS} Everything is computed in float64.",
)
_TAKEN = {"every_layer", "X1", "X2"}
_FOLLOWING, _TANGENTS = ("following", "following_apart"), ("tangent", "tangent_apart")
_OR_SEVERAL = "or a list of one for each layer"
_ENTRIES = 16384  # that pass all layers at a time: as many as stay in the cache
_SHARING = 4194304  # where entries share averages


class NetworkText:
    """The code of all layers in the language of a target.

    Raises:
        DeclarationError: a parameter is called like something that the functions need.
    """

    def __init__(self, target: ArrayCode, plan: NetworkPlan) -> None:
        self.target, self.plan = target, plan
        components = map(_determined, plan.called) if plan.state is INPUTS else plan.called
        self.sources = {component: target.source(component) for component in components}  # of those that layers call
        taken = _TAKEN.union(*target.imports, ("tokens", *plan.state.names.values()) if plan.state.changes else ())
        for name in map(argument, plan.parameters):
            if name in taken:
                raise DeclarationError(
                    f"code for a network with the parameter {name}", "the code needs this name", "rename it"
                )

    def head(self) -> dict[str, Any]:
        """What the docstring of the module says."""
        plan = self.plan
        listed = [line for layer, count in plan.runs for line in docstrings.wrapped(f"{count} x {layer.label}", 4, 4)]
        conventions = (*CONVENTIONS, *self.target.network_notes(plan))
        lines = [line for text in conventions for line in docstrings.wrapped(text, 0)]
        about = ["The layers, from input to output:", "", *(f"    {line}" for line in listed), "", *lines]
        return {"title": plan.title, "command": plan.command, "about": about, "missing": []}

    def values(self) -> dict[str, Any]:
        """What the template shows."""
        plan, words = self.plan, self.target.words
        names = list(map(argument, plan.parameters))
        known = docstrings.directed if plan.is_directed else str
        own, numbers = (
            [line for p in plan.parameters for line in docstrings.parameter_lines(p, f"{kind}, {_OR_SEVERAL}")]
            for kind in (words.argument, "number")
        )

        def described(symbols: Sequence[sp.Symbol]) -> list[str]:
            texts = docstrings.network_arguments(plan.state)
            return [
                line for s in symbols for line in docstrings.wrapped(f"{s}: {known(texts[s])}; {words.argument}.", 8, 4)
            ]

        state = plan.state
        return {
            "words": words,
            "state": state.parts,
            "signature": "".join(f"{name}, " for name in names),
            "names": ", ".join(names),
            "given": f"{{{', '.join(f'{name!r}: {name}' for name in names)}}}".replace("'", '"'),
            "arguments": [*described((*state.first, *state.second, *state.both)), *own, *described(state.tangents)],
            "alone": [*described(state.one if state.changes else ()), *own],
            "named": numbers,
            "results": docstrings.wrapped(
                f"({', '.join(map(str, (*state.both, *state.tangents)))}): "
                f"{docstrings.network_results(words.results, state)}",
                8,
            ),
            "facts": self._facts(),
            "layers": [definition for layer in plan.layers for definition in self._definitions(layer)],
        }

    def tables(self) -> tuple[tuple[str, str], ...]:
        """The records that layer_recursion.py goes through, by name."""
        plan = self.plan
        layers = "".join(f"    *[{self._record(layer)}] * {count},\n" for layer, count in plan.runs)
        needs = {
            "sharp": plan.is_sharp,
            "determined": plan.is_sharp or plan.is_determined,
            "directed": plan.is_directed,
            "entries": _SHARING if plan.is_integrated else _ENTRIES,
        }
        fields = "".join(f", {need}={value}" for need, value in needs.items())
        return ("_LAYERS", f"[\n{layers}]"), ("_NETWORK", f"_Network(_LAYERS{fields})")

    def _facts(self) -> list[str]:
        """Errors of the whole recursion."""
        plan = self.plan
        sentences = [
            "Error: the sum of the errors of all layers, each times the susceptibilities of the layers after it: where "
            "chi_perp > 1 it grows with depth, as any error of the inputs does. Equal inputs, C = K1 = K2, keep C "
            "equal to their kernel to the last bit."
        ]
        if plan.is_sharp:
            sentences.append(
                "Near C = sqrt(K1*K2) the code works with the distance from it: the tangent kernel of nearly parallel "
                "inputs has all digits that K1, K2 and C determine. Where a bias dwarfs the kernel K before it, which "
                "makes inputs parallel, 1e-15*sqrt(C_b/K) of it may be lost."
            )
        if plan.is_integrated or (plan.is_sharp and any(layer.parallel is None for layer in plan.layers)):
            sentences.append(
                "After layers that are not piecewise linear the code works with C: where slopes jump there or in a "
                "later layer, 1e-8 of the tangent kernel of nearly parallel inputs may be lost."
            )
        sentences.append("Kernels below 1e-150 count as 0; products of kernels above 1e70 may overflow, to inf or nan.")
        sentences += [f"Warning: {text}" for text in docstrings.network_warnings(plan)]
        return [line for text in sentences for line in docstrings.wrapped(text, 4, 4)]

    def _record(self, layer: DeepLayer) -> str:
        """A layer as arrays/runtime/layer_recursion.py describes it."""
        name, parallel = layer.name, self.plan.is_sharp and layer.parallel is not None
        names = "".join(f'"{argument(p)}", ' for p in layer.parameters).strip()
        parts = {
            "one": f"{name}_one",
            "pair": f"{name}_pair",
            "slope": f"{name}_slope" if self.plan.is_sharp else "None",
            "parallel": f"{name}_parallel" if parallel else "None",
            **({"moved": f"{name}_moved"} if layer.changes else {}),
            "directed": str(layer.is_directed),
            "parameters": f"({names})",
        }
        fields = textwrap.fill(", ".join(f"{field}={value}" for field, value in parts.items()), docstrings.LINE - 8)
        return f"_Layer(\n{textwrap.indent(fields, ' ' * 8)}\n    )"

    # ---- the functions of a layer ------------------------------------------------------------------------------

    def _definitions(self, layer: DeepLayer) -> list[Definition]:
        target, plan, state = self.target, self.plan, self.plan.state
        own = ", ".join(map(variable, layer.parameters))
        first, second = layer.symbols
        names = state.names | {s: variable(s) for s in (determinant, *layer.parameters, *first, *second)}
        unpacked = [f"{', '.join(map(str, symbols))}, = {side}" for symbols, side in
                    ((first, "first"), (second, "second")) if symbols]  # fmt: skip

        def definition(tag: str, symbols: Sequence[object], doc: list[str], lines: list[str]) -> Definition:
            arguments = ", ".join(map(str, symbols))
            return Definition(f"{layer.name}_{tag}({arguments}{', ' * bool(own)}{own})", lines, doc)

        quantities = iter(layer.quantities)
        one, two, tangents, moved = ([next(quantities) for _ in group] for group in state.maps)
        results = [*zip(KERNEL_NAMES, layer.kernels, strict=False), *((f"own{i}", e) for i, e in enumerate(layer.own))]
        kept = ", ".join(name for name, _ in results)
        lines = target.of_one_input(layer, target.lines(names, results, "K"))
        definitions = [definition("one", state.one, _doc(one), [*lines, f"return {kept},"])]
        results = [*zip(_FOLLOWING, layer.covariances, strict=False), *zip(_TANGENTS, layer.tangents, strict=False)]
        following = ", ".join(name for name, _ in results)
        if layer.is_steep:
            results[1:] = [("fixed", layer.fixed), ("slope", layer.slope)]
        both = target.lines(names, results, "C")
        if layer.is_steep:  # 0 times infinity
            both.append(f"tangent = fixed + {target.dialect.library}.where(Theta == 0.0, 0.0, Theta*slope)")
        doc = _doc([*two, *tangents]) + _errors(layer)
        pair = (*state.of_pairs, determinant, "first", "second")
        definitions.append(definition("pair", pair, doc, [*unpacked, *both, f"return {following}"]))
        if layer.changes:
            results = [*zip(_TANGENTS, layer.changes, strict=False)]
            lines = target.lines(names, results, "K")
            arguments = (*state.one, *state.changes)
            definitions.append(definition("moved", arguments, _doc(moved), [*lines, f"return {', '.join(_TANGENTS)}"]))
        if not plan.is_sharp:
            return definitions
        inner = [*unpacked, *target.lines(names, [("return", layer.slope)], "C")]
        pair = (*PAIR, determinant, "first", "second")
        definitions.append(definition("slope", pair, ["dC'/dC."], inner))
        if layer.parallel is not None:
            lines = target.lines(names, [("return", layer.parallel)], "K1")
            definitions.append(definition("parallel", PAIR[:2], ["K1'*K2' - C'**2 at C = sqrt(K1*K2)."], lines))
        return definitions


def _determined(component: Component) -> Component:
    """A component that is given the determinant, where it takes one."""
    if not takes_determinant(component):
        return component
    return replace(component, symbols=(*component.symbols, determinant))


def _doc(maps: Sequence[Quantity]) -> list[str]:
    heads = docstrings.SIGNS
    return [line for q in maps for line in docstrings.wrapped(f"{heads[q.name]} = {shortened(q.defined)}", 4, 4)]


def _errors(layer: DeepLayer) -> list[str]:
    """Of what stands in the layer itself; other components tell theirs."""
    pairs = [c for c in layer.components if c.is_pair and isinstance(c.code, sp.Expr)]
    if not pairs:
        return []
    lines = [line for c in pairs for line in docstrings.wrapped(f"{c.formula}: {docstrings.error_text(c)}", 4, 4)]
    return ["", *lines]
