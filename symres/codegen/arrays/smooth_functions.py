"""Averages of two smooth functions: which components are such, and the text of the functions and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

import sympy as sp

from ...core.symbols import K1, K2, C, z
from ..averages.average_code import averages, capped
from ..averages.integrands import PiecewiseIntegrand
from ..emission.emitter import Dialect, Emitter, Source, defined, variable
from ..planning.plan import Component
from ..stable.rewrites import stabilise
from .component_text import arguments
from .product_sums import ClosedFunctions, closed_functions


@dataclass(frozen=True)
class SmoothPair:
    """<f(z1) g(z2)> of smooth functions of the two inputs themselves.

    Args:
        factor: what stands before it in a component.
        first: f.
        second: g.
    """

    factor: sp.Expr
    first: PiecewiseIntegrand
    second: PiecewiseIntegrand


def smooth_pairs(component: Component) -> tuple[SmoothPair, ...]:
    """The averages whose sum a component is; none if it has a closed form or a function has kinks."""
    if component.code is not None or not component.is_pair:
        return ()
    pairs, remainder = [], component.formula
    for node in averages(component.formula):
        outer = component.formula.coeff(node)
        remainder -= outer * node
        if node.covariance != (K1, C, K2) or outer.free_symbols & {K1, K2, C} or averages(outer):
            return ()
        for coefficient, (f, g) in node.terms:
            if coefficient.free_symbols & {K1, K2, C} or any(len(h.parts) > 1 for h in (f, g)):
                return ()
            pairs.append(SmoothPair(outer * coefficient, f, g))
    return tuple(pairs) if sp.expand(remainder) == 0 else ()


def sum_source(component: Component, pairs: Sequence[SmoothPair], dialect: Dialect, key: str) -> Source:
    """A sum of averages, beside the functions that all derivatives of what is averaged are made of.

    Args:
        component: the sum.
        pairs: its averages.
        dialect: of the library.
        key: what run-time functions find those by: ``{factors}`` is the name of a function that computes them at z,
            ``{slopes}`` that of a table of their derivatives.
    """
    name, parameters = component.name, component.parameters
    letters: dict[sp.Expr, str] = {}
    for f in (f for pair in pairs for f in (pair.first, pair.second)):
        letters.setdefault(f.parts[0], ascii_uppercase[len(letters)])
    closed = closed_functions(letters, (z, *parameters))
    key = key.format(name=name, factors=f"{name}_factors", slopes=f"{name.upper()}_SLOPES")
    lines, total, names = [], sp.Integer(0), {p: variable(p) for p in parameters}
    for number, pair in enumerate(pairs, 1):
        one, two = (letters[f.parts[0]] for f in (pair.first, pair.second))
        lines.append(f's{number} = _smooth_average({key}, "{one}", "{two}", {arguments(component)})')
        names[symbol := sp.Dummy(f"s{number}")] = f"s{number}"
        total += pair.factor * symbol
    lines += Emitter(dialect, names).function([("return", total)])
    return Source(tuple(lines), (_slopes_text(name, closed),), (_factors_text(name, closed, parameters, dialect),))


def _factors_text(name: str, closed: ClosedFunctions, parameters: Sequence[sp.Symbol], dialect: Dialect) -> str:
    """The function that computes all factors at z."""
    stable = [stabilise(f) for f in closed.functions]
    names = {z: "z", **{p: variable(p) for p in parameters}}
    results = {f"f{n}": f for n, f in enumerate(stable, 1)}
    about = '"""Functions whose derivatives are sums of products of them."""'
    lines = Emitter(capped(dialect, stable), names).function(list(results.items()))
    return defined(f"{name}_factors({', '.join(names.values())})", [about, *lines, f"return {', '.join(results)},"])


def _slopes_text(name: str, closed: ClosedFunctions) -> tuple[str, str]:
    """The table of derivatives: for each variable, of each factor, {powers of all: coefficient}."""
    rows = ["".join(f"    {slope},\n" for slope in row) for row in closed.slopes]
    return f"{name.upper()}_SLOPES", "[" + "".join(f"[\n{row}], " for row in rows).removesuffix(", ") + "]"
