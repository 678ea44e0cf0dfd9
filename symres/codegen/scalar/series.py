"""Averages of two variables without a closed form: which functions they expand in Hermite polynomials, and what is
summed for each pair. The sums themselves are computed in chunks of a row, by the functions of the library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.core.function import AppliedUndef

from ...core.symbols import K1, K2, C, K, z
from ..averages.average_code import averages, function_text
from ..averages.integrands import PiecewiseIntegrand
from ..emission.emitter import NoSpelling, defined, variable
from ..planning.plan import Component
from ..stable.primitives import GeneratedSymbol
from ..stable.rewrites import stabilise
from .levels import Assignment
from .spelling import SCALAR, lines

KINKS = (
    "averages of two variables of this function, which has kinks, are not fixed sums: they are integrated at run time, "
    "which compiled code does not"
)
PLACE = "its averages are not taken at the kernels and the covariance of two inputs"
READ, WRITTEN = "Given", "Written"


@dataclass(frozen=True)
class ExpandedFunction:
    """A function that is expanded in Hermite polynomials, at the kernels of inputs.

    Args:
        name: begins the names of its functions.
        sources: NAME(z, ...), the function; NAME_block(nodes, step, roots, p, even, odd), its sums and differences at
            opposite nodes for a block of inputs; NAME_kernel(K, p), the variance of its argument for an input of kernel
            K, nan where there are no numbers. The parameters are the numbers p.
    """

    name: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Sum:
    """The average of a product of two functions.

    Args:
        symbol: stands for it where pairs are computed.
        first: the number of the function of the first input.
        second: that of the second input.
        place: the name of a function.
        source: PLACE(K1, K2, C, p), the covariance of the arguments.
    """

    symbol: sp.Symbol
    first: int
    second: int
    place: str
    source: str


@dataclass(frozen=True)
class Series:
    """What a function takes from series in the correlation: the functions that are expanded, and the sums."""

    factors: tuple[ExpandedFunction, ...]
    sums: tuple[Sum, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """The functions that it calls."""
        return (*(s for f in self.factors for s in f.sources), *(s.source for s in self.sums))

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """What stands for the sums."""
        return tuple(s.symbol for s in self.sums)


def refused(formula: sp.Expr, found: str) -> NoSpelling:
    """The error for an average that other targets compute."""
    return NoSpelling(f"compiled code for {str(formula)[:80]}", found, 'use target="numpy" or target="torch"')


def is_series(component: Component) -> bool:
    """Whether a component is computed as a series.

    Raises:
        NoSpelling: it would be, but for kinks of its functions.
    """
    if not component.is_pair or component.code is not None or component.fallback_integral is not None:
        return False
    if any(f.breaks for node in averages(component.formula) for _, factors in node.terms for f in factors):
        raise refused(component.formula, KINKS)
    return True


def with_sums(
    name: str, results: Sequence[Assignment], components: Iterable[Component], parameters: Sequence[sp.Symbol]
) -> tuple[list[Assignment], Series | None]:
    """Expressions with sums in the place of the components that are computed as series; None if there are none.

    Args:
        name: begins the names of the functions that the sums call.
        results: expressions that call components.
        components: those that they may call.
        parameters: the arguments that are numbers.

    Raises:
        NoSpelling: the averages are no functions of two inputs, or contain what scalar code has no words for.
    """
    known = {c.name: c for c in components if is_series(c)}
    found = _Found(name, tuple(parameters))
    calls = {call for _, e in results for call in e.atoms(AppliedUndef) if call.func.__name__ in known}
    values = {call: found.value(known[call.func.__name__], call) for call in sorted(calls, key=sp.default_sort_key)}
    if not values:
        return list(results), None
    return [(n, e.xreplace(values)) for n, e in results], found.series()


class _Found:
    """The functions and sums that expressions need; equal ones once."""

    def __init__(self, name: str, parameters: tuple[sp.Symbol, ...]) -> None:
        self.name, self.parameters = name, parameters
        self.factors: dict[tuple[sp.Expr, sp.Expr, float], ExpandedFunction] = {}
        self.sums: dict[tuple[int, int, sp.Expr], Sum] = {}

    def series(self) -> Series:
        """What was found."""
        return Series(tuple(self.factors.values()), tuple(self.sums.values()))

    def value(self, component: Component, call: AppliedUndef) -> sp.Expr:
        """The value of a call, in sums."""
        given = dict(zip(component.symbols, call.args, strict=True))
        values = {}
        for node in averages(component.formula):
            first, c, second = (e.xreplace(given) for e in node.covariance)
            total = sp.Integer(0)
            for coefficient, (f, g) in node.terms:
                one, two = self._factor(f, first, K1, given, component), self._factor(g, second, K2, given, component)
                total += coefficient * self._sum(one, two, c, component)
            values[node] = total
        return component.formula.xreplace(values).xreplace(given)

    def _factor(
        self,
        f: PiecewiseIntegrand,
        kernel: sp.Expr,
        side: sp.Symbol,
        given: Mapping[sp.Symbol, sp.Expr],
        component: Component,
    ) -> int:
        function = stabilise(f.parts[0].xreplace({s: e for s, e in given.items() if s not in (K1, K2, C)}))
        own = kernel.xreplace({side: K})
        unspelled = SCALAR.unspelled(function) or SCALAR.unspelled(own)
        if unspelled:
            raise NoSpelling.of(SCALAR.name, component.formula, unspelled)
        if not {z, *self.parameters} >= function.free_symbols or not {K, *self.parameters} >= own.free_symbols:
            raise refused(component.formula, PLACE)
        key = (function, own, component.guards.largest)
        if key not in self.factors:
            self.factors[key] = self._written(f"{self.name}_factor{len(self.factors)}", *key)
        return list(self.factors).index(key)

    def _written(self, name: str, function: sp.Expr, kernel: sp.Expr, largest: float) -> ExpandedFunction:
        names = {s: variable(s) for s in self.parameters}
        own = [p for p in self.parameters if p in function.free_symbols]
        listed = "".join(f", {names[p]}" for p in own)
        block = [
            *self._unpacked(function),
            "for q in range(nodes):",
            "    x = step*q",
            f"    above: {WRITTEN} = even[64*q:64*q + 64]",
            f"    below: {WRITTEN} = odd[64*q:64*q + 64]",
            "    for j in range(64):",
            "        u = roots[j]*x",
            f"        right = {name}(u{listed})",
            f"        left = {name}(-u{listed})",
            "        above[j] = right + left",
            "        below[j] = right - left",
        ]
        place = [*self._unpacked(kernel), *lines({K: "K", **names}, [("value", kernel)])]
        ended = "value" if math.isinf(largest) else f"value if value <= {largest!r} else NAN"
        head = f"nodes: int, step: float, roots: {READ}, p: {READ}, even: {WRITTEN}, odd: {WRITTEN}"
        return ExpandedFunction(
            name,
            (
                function_text(name, function, own, SCALAR),
                defined(f"{name}_block({head}) -> None", block),
                defined(f"{name}_kernel(K: float, p: {READ})", [*place, f"return {ended}"]),
            ),
        )

    def _unpacked(self, expr: sp.Expr) -> list[str]:
        """The parameters that an expression contains, by their names."""
        return [f"{variable(s)} = p[{k}]" for k, s in enumerate(self.parameters) if s in expr.free_symbols]

    def _sum(self, first: int, second: int, c: sp.Expr, component: Component) -> sp.Symbol:
        if not {K1, K2, C, *self.parameters} >= c.free_symbols:
            raise refused(component.formula, PLACE)
        key = (first, second, c)
        if key not in self.sums:
            number = len(self.sums)
            names = {s: variable(s) for s in (K1, K2, C, *self.parameters)}
            place = f"{self.name}_place{number}"
            body = [*self._unpacked(c), *lines(names, [("return", c)])]
            source = defined(f"{place}(K1: float, K2: float, C: float, p: {READ})", body)
            self.sums[key] = Sum(GeneratedSymbol(f"sum{number}", real=True), first, second, place, source)
        return self.sums[key].symbol
