"""Pair averages without a closed form in scalar code: sums over Hermite coefficients of the functions averaged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import sympy as sp
from sympy.core.function import AppliedUndef

from ...core.symbols import K1, K2, C, z
from ..averages.average_code import averages
from ..averages.integrands import PiecewiseIntegrand
from ..averages.tail_growth import largest_exponent
from ..emission.emitter import Emitter, NoSpelling, variable
from ..planning.plan import Component
from ..stable.primitives import GeneratedSymbol
from ..stable.rewrites import stabilise
from .spelling import SCALAR


@dataclass(frozen=True)
class AveragedFunction:
    """A smooth function of z, expanded in Hermite polynomials for each kernel.

    Args:
        name: of the function.
        formula: what it computes of z and parameters.
    """

    name: str
    formula: sp.Expr

    def source(self, parameters: Iterable[sp.Symbol]) -> str:
        """The function NAME(z, parameters)."""
        stable = stabilise(self.formula)
        capped = f"exp(minimum({{0}}, {largest_exponent(stable)}.0))"
        inside = replace(SCALAR, functions={**SCALAR.functions, sp.exp: capped})
        names = {z: "z", **{p: variable(p) for p in parameters}}
        body = Emitter(inside, names).function([("return", stable)])
        return "\n".join([f"def {self.name}({', '.join(names.values())}):", *(f"    {line}" for line in body)])


@dataclass(frozen=True)
class SmoothAverage:
    """An average <f(z1) g(z2)>, computed as a series in the correlation.

    Args:
        symbol: stands for its value.
        first: f.
        second: g.
        largest: the kernel beyond which it is nan.
    """

    symbol: sp.Symbol
    first: AveragedFunction
    second: AveragedFunction
    largest: float


def require_series(component: Component) -> None:
    """Make sure that a component without code can be computed as series.

    Raises:
        NoSpelling: it cannot.
    """
    _products(component)


def is_series(component: Component) -> bool:
    """Whether a component has no code, and two inputs."""
    return component.code is None and component.is_pair and component.fallback_integral is None


def expanded(name: str, value: sp.Expr, components: Iterable[Component]) -> tuple[sp.Expr, tuple[SmoothAverage, ...]]:
    """A formula with symbols of series in the place of the calls of averages.

    Args:
        name: of the function; begins the names of the functions that are averaged.
        value: contains calls of components.
        components: those that it calls.

    Raises:
        NoSpelling: an average is none of smooth functions.
    """
    factors: dict[sp.Expr, AveragedFunction] = {}
    series: list[SmoothAverage] = []
    for component in filter(is_series, components):
        found = _products(component)
        for call in sorted((c for c in value.atoms(AppliedUndef) if c.func.__name__ == component.name), key=str):
            factor = call.args[0] / K1  # of all variances, where parameters are taken out of the average
            if factor.has(K1, K2, C) or call.args[:3] != (factor * K1, factor * K2, factor * C):
                raise NoSpelling.of(SCALAR.name, component.formula, "quadrature at run time")
            given = {z: sp.sqrt(factor) * z, **dict(zip(component.symbols[3:], call.args[3:], strict=True))}
            largest = component.guards.largest if factor == 1 else math.inf  # the bound at run time ends it then
            terms = []
            for coefficient, pair in found:
                both = []
                for integrand in pair:
                    formula = integrand.parts[0].xreplace(given)
                    both.append(factors.setdefault(formula, AveragedFunction(f"{name}_factor{len(factors)}", formula)))
                symbol = GeneratedSymbol(f"sum{len(series)}", real=True)
                series.append(SmoothAverage(symbol, both[0], both[1], largest))
                terms.append(coefficient.xreplace(given) * symbol)
            value = value.xreplace({call: sp.Add(*terms)})
    return value, tuple(series)


def _products(component: Component) -> list[tuple[sp.Expr, tuple[PiecewiseIntegrand, ...]]]:
    """Coefficients, and products of a function of each input."""
    nodes, rest = averages(component.formula), sp.expand(component.formula)
    found: list[tuple[sp.Expr, tuple[PiecewiseIntegrand, ...]]] = []
    for node in nodes:
        outer = rest.coeff(node)
        rest = sp.expand(rest - outer * node)
        for coefficient, pair in node.terms:
            if any(h.breaks for h in pair):
                why = "the function has kinks, and its averages are integrated at run time: use the target numpy"
                raise NoSpelling.of(SCALAR.name, component.formula, why)
            unspelled = "".join(SCALAR.unspelled(stabilise(h.parts[0])) for h in pair)
            if unspelled:
                raise NoSpelling.of(SCALAR.name, component.formula, unspelled)
            if len(pair) != 2:
                raise NoSpelling.of(SCALAR.name, component.formula, "quadrature at run time")
            found.append((outer * coefficient, pair))
    if rest != 0 or component.guards.floor is not None or component.guards.limit is not None:
        raise NoSpelling.of(SCALAR.name, component.formula, "quadrature at run time")
    return found
