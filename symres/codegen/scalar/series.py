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
BLOCK = (
    "factor_block(number: int, nodes: int, step: float, roots: Given, p: Given, even: Written, odd: Written) -> None"
)
KERNEL = "factor_kernel(number: int, K: float, p: Given)"
SUM = "place_of_sum(number: int, K1: float, K2: float, C: float, p: Given)"


@dataclass(frozen=True)
class ExpandedFunction:
    """A function that is expanded in Hermite polynomials, at the kernels of inputs. The parameters are numbers p.

    Args:
        source: the function of z and parameters.
        block: lines that write its sums and differences at opposite nodes for a block of inputs, those of ``BLOCK``.
        kernel: lines that return the variance of its argument for an input, nan where there are no numbers.
    """

    source: str
    block: list[str]
    kernel: list[str]


@dataclass(frozen=True)
class Sum:
    """The average of a product of two functions.

    Args:
        symbol: stands for it where pairs are computed.
        first: the number of the function of the first input.
        second: that of the second input.
        place: lines that return the covariance of the arguments.
    """

    symbol: sp.Symbol
    first: int
    second: int
    place: list[str]


@dataclass(frozen=True)
class Series:
    """What a function takes from series in the correlation: the functions that are expanded, and the sums."""

    factors: tuple[ExpandedFunction, ...]
    sums: tuple[Sum, ...]

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """What stands for the sums."""
        return tuple(s.symbol for s in self.sums)


def hooks(series: Sequence[Series]) -> list[str]:
    """The functions at the end of ``library/machine.py``, and those that they call."""
    factors, sums = [f for one in series for f in one.factors], [s for one in series for s in one.sums]
    hooked = (BLOCK, [f.block for f in factors]), (KERNEL, [f.kernel for f in factors]), (SUM, [s.place for s in sums])
    sources = [*(f.source for f in factors), *(defined(head, _chosen(bodies)) for head, bodies in hooked if bodies)]
    return [f"@inlined\n{source}" for source in sources]  # those that are one expression


def _chosen(bodies: Sequence[list[str]]) -> list[str]:
    """The lines that the number says."""
    if len(bodies) == 1:
        return bodies[0]
    heads = [f"{'elif' if k else 'if'} number == {k}:" for k in range(len(bodies) - 1)]
    return [
        line
        for head, body in zip([*heads, "else:"], bodies, strict=True)
        for line in (head, *(f"    {text}" for text in body))
    ]


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
    by_name = {c.name: c for c in components if is_series(c)}
    collected = _Collected(name, tuple(parameters))
    calls = {call for _, e in results for call in e.atoms(AppliedUndef) if call.func.__name__ in by_name}
    values = {
        call: collected.value(by_name[call.func.__name__], call) for call in sorted(calls, key=sp.default_sort_key)
    }
    if not values:
        return list(results), None
    return [(n, e.xreplace(values)) for n, e in results], collected.series()


class _Collected:
    """The functions and sums that expressions need; equal ones once."""

    def __init__(self, name: str, parameters: tuple[sp.Symbol, ...]) -> None:
        self.name, self.parameters = name, parameters
        self.factors: dict[tuple[sp.Expr, sp.Expr, float], ExpandedFunction] = {}
        self.sums: dict[tuple[int, int, sp.Expr], Sum] = {}

    def series(self) -> Series:
        """What was collected."""
        return Series(tuple(self.factors.values()), tuple(self.sums.values()))

    def value(self, component: Component, call: AppliedUndef) -> sp.Expr:
        """The value of a call, in sums."""
        arguments = dict(zip(component.symbols, call.args, strict=True))
        values = {}
        for node in averages(component.formula):
            first, c, second = (e.xreplace(arguments) for e in node.covariance)
            total = sp.Integer(0)
            for coefficient, (f, g) in node.terms:
                one, two = (
                    self._factor(f, first, K1, arguments, component),
                    self._factor(g, second, K2, arguments, component),
                )
                total += coefficient * self._sum(one, two, c, component)
            values[node] = total
        return component.formula.xreplace(values).xreplace(arguments)

    def _factor(
        self,
        f: PiecewiseIntegrand,
        kernel: sp.Expr,
        side: sp.Symbol,
        arguments: Mapping[sp.Symbol, sp.Expr],
        component: Component,
    ) -> int:
        function = stabilise(f.parts[0].xreplace({s: e for s, e in arguments.items() if s not in (K1, K2, C)}))
        variance = kernel.xreplace({side: K})
        unspelled = SCALAR.unspelled(function) or SCALAR.unspelled(variance)
        if unspelled:
            raise NoSpelling.of(SCALAR.name, component.formula, unspelled)
        if not {z, *self.parameters} >= function.free_symbols or not {K, *self.parameters} >= variance.free_symbols:
            raise refused(component.formula, PLACE)
        key = (function, variance, component.guards.largest)
        if key not in self.factors:
            self.factors[key] = self._written(f"{self.name}_factor{len(self.factors)}", *key)
        return list(self.factors).index(key)

    def _written(self, name: str, function: sp.Expr, kernel: sp.Expr, largest: float) -> ExpandedFunction:
        used = [p for p in self.parameters if p in function.free_symbols]
        listed = "".join(f", {variable(p)}" for p in used)
        block = [
            *self._unpacked(function),
            "for q in range(nodes):",
            "    x = step*q",
            "    above: Written = even[64*q:64*q + 64]",
            "    below: Written = odd[64*q:64*q + 64]",
            "    for j in range(64):",
            "        u = roots[j]*x",
            f"        right = {name}(u{listed})",
            f"        left = {name}(-u{listed})",
            "        above[j] = right + left",
            "        below[j] = right - left",
        ]
        if math.isinf(largest):
            place = self._lines([("return", kernel)], K)
        else:
            place = [*self._lines([("value", kernel)], K), f"return value if value <= {largest!r} else NAN"]
        return ExpandedFunction(function_text(name, function, used, SCALAR), block, place)

    def _lines(self, results: Sequence[Assignment], *symbols: sp.Symbol) -> list[str]:
        """Lines that compute results from symbols and parameters."""
        names = {s: variable(s) for s in (*symbols, *self.parameters)}
        return [*self._unpacked(*(expr for _, expr in results)), *lines(names, results)]

    def _unpacked(self, *expressions: sp.Expr) -> list[str]:
        """The parameters that expressions contain, by their names."""
        used = set().union(*(e.free_symbols for e in expressions))
        return [f"{variable(s)} = p[{k}]" for k, s in enumerate(self.parameters) if s in used]

    def _sum(self, first: int, second: int, c: sp.Expr, component: Component) -> sp.Symbol:
        if not {K1, K2, C, *self.parameters} >= c.free_symbols:
            raise refused(component.formula, PLACE)
        key = (first, second, c)
        if key not in self.sums:
            symbol = GeneratedSymbol(f"sum{len(self.sums)}", real=True)
            self.sums[key] = Sum(symbol, first, second, self._lines([("return", c)], K1, K2, C))
        return self.sums[key].symbol
