"""A network as one function: kernel and tangent kernel of two inputs behind all its layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.integrals.quadrature import gauss_legendre

from ...core import files
from ...core.errors import DeclarationError
from ...core.symbols import K1, K2, C, K, Theta, place
from ...results.quantity import Quantity
from ...results.subjects import DerivedNetwork
from ..emission.emitter import Emitter, Source, argument, variable
from ..planning.language import Language
from ..planning.plan import Component, Function
from ..stable.primitives import complement, correlation, determinant
from ..targets.torch.dialect import lines_with_tensors
from ..wording import docstrings
from .network_maps import DeepLayer, deep_layer, maps_of, require_layers, takes_determinant

NETWORK_FUNCTIONS = ("dual_kernel", "dual_kernel_matrix")
CONVENTIONS = (
    "The tangent kernel is that of the NTK parametrisation: weights sqrt(C_W/fan_in)*w and biases sqrt(C_b)*b, with "
    "learning rate 1 for every w and b of all layers. C_W is fan_in times the variance of a weight, C_b the variance "
    "of a bias. Inputs have kernels x.x'/n0 and the tangent kernel 0; a read-in is the layer Dense(z).",
    "Kernels, covariances and C_b are in units of a squared preactivation, all else is a pure number. Everything is "
    "computed in float64.",
)
_TAKEN = {"every_layer", "parameters", "X1", "X2", "near", "np", "torch", "kind", "first", "second", "found", "exact",
          "same", "equal", "i", "j"}  # fmt: skip
_ARGUMENTS = (
    (K1, "kernels of the first inputs, typically of shape (N, 1); K1 >= 0, nan else"),
    (K2, "kernels of the second inputs, typically of shape (1, M); K2 >= 0, nan else"),
    (C, "covariances of the inputs, of shape (N, M); C**2 <= K1*K2; in averages an excess counts as equality"),
)


def _nodes() -> list[tuple[float, float, float]]:
    """Place and weight of the rule of Gauss and Legendre with five nodes on [0, 1], and the weight in a lower rule.

    That has the ends and the middle, and is right for parabolas: on [-1, 1] weights 1/(3a**2) at -a and a.
    """
    places, weights = gauss_legendre(5, 17)
    edge = 1 / (6 * places[-1] ** 2)
    lower = (edge, 0, 1 - 2 * edge, 0, edge)
    return [(float((1 + x) / 2), float(w / 2), float(v)) for x, w, v in zip(places, weights, lower, strict=True)]


def network_text(
    network: DerivedNetwork,
    language: Language,
    plan: Callable[[Quantity], Function],
    sources: Mapping[str, Source],
    heads: tuple[str, str],
) -> tuple[str, tuple[str, ...]]:
    """The module of a network, and what its user should be warned of.

    Args:
        network: the network; it becomes one function.
        language: the target.
        plan: makes a map a function of components, and their code.
        sources: where it puts that.
        heads: the title and the command that makes the text again.

    Raises:
        DeclarationError: there is no function of two inputs for such a network.
        NoClosedForm: a map has no accurate code.
    """
    require_layers(network.layers)
    target = language.library
    distinct = list(dict.fromkeys(network.layers))
    layers, warnings = [], []
    for number, theory in enumerate(distinct, 1):
        quantities = maps_of(theory)
        functions = [plan(quantity) for quantity in quantities]
        warnings += [warning for function in functions for warning in docstrings.warnings(function)]
        layers.append(deep_layer(f"_layer_{number}", quantities, functions, _inlined(target)))
    runs = [(theory, len(list(equal))) for theory, equal in groupby(network.layers)]
    words = [f"{count} x {theory.layer.name}" for theory, count in runs]
    printed = _Printed(language, layers, sources)
    parameters = sorted({p for layer in layers for p in layer.parameters}, key=place)
    names = list(map(argument, parameters))
    kind = "array_like" if target == "numpy" else "tensor or number"
    known = docstrings.directed if printed.is_directed else str
    arguments = [line for s, text in _ARGUMENTS for line in docstrings.wrapped(f"{s}: {known(text)}; {kind}.", 8, 4)]
    own = [line for p in parameters for line in _parameter_lines(p, kind)]
    tangent = f"Theta: tangent kernel of the inputs: 0 where no trained layer comes before; {kind}."
    _require_names(names)
    values = {
        "title": docstrings.quoted(heads[0]),
        "command": docstrings.quoted(heads[1]),
        "listed": [line for text in words for line in docstrings.wrapped(text, 4, 4)],
        "conventions": [line for text in (*CONVENTIONS, *printed.measured) for line in docstrings.wrapped(text, 0)],
        "signature": "".join(f"{name}, " for name in names),
        "names": ", ".join(names),
        "keywords": ", ".join(f"{name}={name}" for name in names),
        "arguments": [*arguments, *own, *docstrings.wrapped(tangent, 8, 4)],
        "named": [line for p in parameters for line in _parameter_lines(p, "number")],
        "facts": _facts(printed, list(dict.fromkeys(warnings))),
        "nodes": _nodes(),
        "block": 4194304 if printed.is_integrated else 16384,
        "why": "share averages" if printed.is_integrated else "stay in the cache",
        "sharp": printed.is_sharp,
        "determined": printed.is_determined,
        "directed": printed.is_directed,
        **printed.code([(layers[distinct.index(theory)], count) for theory, count in runs]),
    }
    return files.render(f"network.{target}.py.j2", values), tuple(dict.fromkeys(warnings))


def _inlined(target: str) -> Callable[[Component], sp.Expr | None]:
    """What stands in a layer for a component of two inputs.

    Its code, for NumPy, so that kernel and tangent kernel share what they have in common. PyTorch needs its
    derivatives, and has a call, with the determinant where that is known better than K1, K2 and C tell it.
    """

    def code(component: Component) -> sp.Expr | None:
        found = component.code
        if (
            target == "numpy"
            and component.is_pair
            and isinstance(found, sp.Expr)
            and component.fallback_integral is None
        ):
            plain = component.origin is None and not component.floored and component.max_kernel == float("inf")
            if plain and not found.has(correlation, complement):
                return found
        return component.call(*component.symbols, determinant) if takes_determinant(component) else None

    return code


def _require_names(names: Sequence[str]) -> None:
    """Refuse parameters that are called like something that the functions need.

    Raises:
        DeclarationError: there is one.
    """
    for name in names:
        if name in _TAKEN:
            raise DeclarationError(f"code for a network with the parameter {name}", "the name is taken", "rename it")


def _parameter_lines(parameter: sp.Symbol, kind: str) -> list[str]:
    meaning = docstrings.ARGUMENTS.get(parameter, docstrings.OTHER)
    return docstrings.wrapped(f"{argument(parameter)}: {meaning}; {kind}, or a list of one for each layer.", 8, 4)


def _facts(printed: _Printed, warnings: Sequence[str]) -> list[str]:
    """Errors of the whole recursion."""
    sentences = [
        "Error: the sum of those of the maps, layer by layer, times the susceptibilities of the layers behind: where "
        "chi_perp > 1 it grows with depth, as any error of the inputs does. Equal inputs, C = K1 = K2, keep C at the "
        "kernel of one of them to the last bit."
    ]
    if printed.is_sharp:
        sentences.append(
            "Next to C = sqrt(K1*K2) the distance from there is carried, not C: the tangent kernel of nearly parallel "
            "inputs has all digits that K1, K2 and C tell of it."
        )
    if printed.is_integrated or (printed.is_sharp and any(layer.parallel is None for layer in printed.layers)):
        sentences.append(
            "Behind layers that are not piecewise linear C itself is what is known of nearly parallel inputs: where "
            "slopes jump there or later, 1e-8 of their tangent kernel may be lost."
        )
    sentences.append("Kernels below 1e-150 count as 0; products of kernels above 1e70 may overflow, to inf or nan.")
    sentences += [f"Warning: {warning}" for warning in warnings]
    return [line for text in sentences for line in docstrings.wrapped(text, 4, 4)]


class _Printed:
    """The code of all layers in a language."""

    def __init__(self, language: Language, layers: Sequence[DeepLayer], sources: Mapping[str, Source]) -> None:
        self.target, self.layers = language.library, layers
        self.language = language
        self._library = "np" if self.target == "numpy" else "torch"
        self.is_sharp = any(layer.is_sharp for layer in layers)
        self.is_directed = any(layer.is_directed for layer in layers)
        self.is_determined = any(e.has(determinant) for la in layers for e in (la.covariance, la.tangent))
        expressions = [e for la in layers for e in (la.kernel, *la.own, la.covariance, la.tangent)]
        used = {call.func.__name__ for e in expressions for call in e.atoms(AppliedUndef)}
        known = {c.name: c for la in layers for c in la.components}
        self.components = list(known.values())
        self.is_integrated = any(c.is_pair and c.code is None for c in self.components)
        self.called = [c for c in self.components if c.name in used]
        self.sources = {c.name: self._source(c, sources) for c in self.called}

    @property
    def measured(self) -> tuple[str, ...]:
        """The sentence that tells on which code errors were measured, where that may be another than the module's."""
        if self.target == "numpy":
            return ()
        code = docstrings.measured_code(self.components, self.language.name)
        return (f"Errors are those of float64, measured on {code}, against ball arithmetic.",)

    def _source(self, component: Component, sources: Mapping[str, Source]) -> Source:
        if takes_determinant(component):
            return self.language.component_source(replace(component, symbols=(*component.symbols, determinant)))
        return sources[component.name]

    def code(self, runs: Sequence[tuple[DeepLayer, int]]) -> dict[str, Any]:
        """What the template shows of it."""
        functions = [f for layer in self.layers for f in self._functions(layer)]
        lines = [line for f in functions for line in f["lines"]]
        for source in self.sources.values():
            lines += [*source.lines, *source.preamble]
        always = ["_parts _chunk _valid _determinant"] if self.target == "numpy" else ["_tensors _Determinant"]
        helpers = [
            self.language.dialect.helpers[name][0].strip("\n")
            for name in self.language.dialect.needed([*lines, *always])
        ]
        text = "\n".join([*lines, *helpers])
        tables = dict(table for source in self.sources.values() for table in source.tables)
        return {
            "layers": functions,
            "network": [f"*[{self._record(layer)}]*{count}," for layer, count in runs],
            "components": [self._component(c) for c in self.called],
            "helpers": helpers,
            "tables": sorted(tables.items()),
            "special": "special." in text and self.target == "numpy",
            "math": "math." in text,
            "functools": "functools." in text,
        }

    def _record(self, layer: DeepLayer) -> str:
        parts = [f"{layer.name}_one", f"{layer.name}_pair"]
        if self.is_sharp:
            parts += [f"{layer.name}_slope", f"{layer.name}_parallel" if layer.parallel is not None else "None"]
        if self.is_directed and self.target == "torch":
            parts.append(str(layer.is_directed))
        names = ", ".join(f'"{argument(p)}"' for p in layer.parameters)
        parts.append(f"({names}{',' * (len(layer.parameters) == 1)})")
        return f"({', '.join(parts)})"

    def _component(self, component: Component) -> dict[str, Any]:
        source = self.sources[component.name]
        symbols = (*component.symbols, determinant) if takes_determinant(component) else component.symbols
        return {
            "name": component.name,
            "arguments": ", ".join(map(variable, symbols)),
            "doc": docstrings.component_lines(component),
            "preamble": source.preamble,
            "lines": source.lines,
        }

    # ---- the functions of a layer ------------------------------------------------------------------------------

    def _functions(self, layer: DeepLayer) -> list[dict[str, Any]]:
        own = ", ".join(map(variable, layer.parameters))
        first, second = layer.symbols
        names = {s: variable(s) for s in (K, K1, K2, C, Theta, determinant, *layer.parameters, *first, *second)}
        unpacked = [f"{', '.join(map(str, symbols))}, = {side}" for symbols, side in
                    ((first, "first"), (second, "second")) if symbols]  # fmt: skip

        def function(tag: str, arguments: str, doc: list[str], lines: list[str]) -> dict[str, Any]:
            head = f"{layer.name}_{tag}({arguments}{', ' * bool(own)}{own})"
            text = [f'"""{doc[0]}"""'] if len(doc) == 1 else [f'"""{doc[0]}', *doc[1:], '"""']
            return {"head": head, "doc": text, "lines": lines}

        kernel_map, covariance_map, ntk_map = layer.quantities
        one = self._lines(names, [("kernel", layer.kernel), *((f"own{i}", e) for i, e in enumerate(layer.own))], "K")
        vanishing = layer.is_directed and self.target == "numpy"
        if vanishing:  # the map goes on to 0, networks do not
            one = [_positive("K", "K"), *one, _positive("kernel", "K")]
        elif self.is_directed and self.target == "numpy" and not layer.kernel.has(K):  # what is lost stays lost
            one.append("kernel = np.where(K >= 0.0, kernel, np.nan)")
        kept = ", ".join(["kernel", *(f"own{i}" for i in range(len(layer.own)))])
        if self.target == "torch" and not layer.kernel.has(K):
            one.append("kernel = _shaped(kernel, K)")
        found = [function("one", "K", self._doc([("K'", kernel_map)]), [*one, f"return {kept},"])]
        results = [("following", layer.covariance), ("tangent", layer.tangent)]
        if layer.is_steep:
            results[1:] = [("fixed", layer.fixed), ("slope", layer.slope)]
        both = self._lines(names, results, "C")
        if layer.is_steep:  # 0 times infinity
            both.append(f"tangent = fixed + {self._library}.where(Theta == 0.0, 0.0, Theta*slope)")
        doc = self._doc([("C'", covariance_map), ("Theta'", ntk_map)]) + self._errors(layer)
        pair = "K1, K2, C, Theta, determinant, first, second"
        if vanishing:
            both = [*(_positive(kernel, kernel) for kernel in ("K1", "K2")), *both]
        found.append(function("pair", pair, doc, [*unpacked, *both, "return following, tangent"]))
        if not self.is_sharp:
            return found
        inner = [*unpacked, *self._lines(names, [("return", layer.slope)], "C")]
        found.append(function("slope", "K1, K2, C, determinant, first, second", ["dC'/dC."], inner))
        if layer.parallel is not None:
            lines = self._lines(names, [("return", layer.parallel)], "K1")
            found.append(function("parallel", "K1, K2", ["K1'*K2' - C'**2 at C = sqrt(K1*K2)."], lines))
        return found

    def _lines(self, names: Mapping[sp.Symbol, str], results: list[tuple[str, sp.Expr]], like: str) -> list[str]:
        if self.target == "numpy":
            return Emitter(self.language.dialect, names).function(results)
        return lines_with_tensors(names, results, like)

    @staticmethod
    def _doc(maps: Sequence[tuple[str, Quantity]]) -> list[str]:
        return [line for head, q in maps for line in docstrings.wrapped(f"{head} = {docstrings.shown(q)}", 4, 4)]

    @staticmethod
    def _errors(layer: DeepLayer) -> list[str]:
        """Of what stands in the layer itself; other components tell theirs."""
        pairs = [c for c in layer.components if c.is_pair and isinstance(c.code, sp.Expr)]
        if not pairs:
            return []
        lines = [line for c in pairs for line in docstrings.wrapped(f"{c.formula}: {docstrings.error_text(c)}", 4, 4)]
        return ["", *lines]


def _positive(name: str, kernel: str) -> str:
    """The line that makes a value nan where a kernel is 0: a normaliser would divide 0 by 0."""
    return f"{name} = np.where({kernel} > 0.0, {name}, np.nan)"
