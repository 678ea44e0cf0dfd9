"""The functions of a module as scalar code: components, public functions, and the levels of those of two inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy as sp

from ...core.symbols import K1, K2, C, K, Theta
from ...functions.records.softmax_family import SoftmaxOverlap
from ..emission.emitter import NoSpelling, defined, variable
from ..fits.chebyshev import Fit
from ..planning.network_plan import inlined, written_out
from ..planning.plan import KERNELS, Component, Function
from ..planning.straight_line import (
    Assignments,
    OfBothInputs,
    Test,
    limits,
    origin,
    polynomial,
    steps,
    value,
)
from ..price.fixed_sum import NODES, PLAIN, node, nodes_and_weights, table_name
from ..price.written_code import WrittenSum
from ..stable.angles import half_angles
from ..stable.primitives import Clipped, Possible, determinant
from .levels import Assignment, Levels, economical, levelled
from .series import PLACE, Series, is_series, refused, with_sums
from .spelling import IN_SUMS, SCALAR, lines

TRIPLE = (K1, K2, C)


@dataclass(frozen=True)
class Text:
    """A scalar function.

    Args:
        source: its text in Python.
        tables: the constants that it reads, by name: edges of a piecewise polynomial, coefficients row by row.
    """

    source: str
    tables: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class ScalarFunction:
    """A function of arrays, one entry at a time.

    Args:
        name: its name.
        inputs: the arguments that are arrays: kernels, covariances, tangent kernels.
        parameters: the arguments that are numbers.
        valid: the function that makes kernels nan where there is no value.
        sources: of scalar functions: NAME_entry; of two inputs also NAME_pair(K1, first, K2, second, C, sums,
            parameters).
        levels: what NAME_pair takes of each input alone; None if there is one input.
        series: what NAME_pair takes as sums; there is no NAME_entry then. None if it takes none.
        steepest: the largest power of kernels that is computed, if it is no float where the value is; or 0; infinite
            where everything is computed in double.
    """

    name: str
    inputs: tuple[sp.Symbol, ...]
    parameters: tuple[sp.Symbol, ...]
    valid: str
    sources: tuple[str, ...]
    levels: Levels | None = None
    series: Series | None = None
    steepest: float = 0.0

    @property
    def varying(self) -> tuple[sp.Symbol, ...]:
        """Of two inputs, the arguments that differ from pair to pair."""
        return self.inputs[2:]

    def of_input(self, side: str, kernel: str, result: str = "{0}") -> list[str]:
        """The assignments of what an input has of its own.

        Args:
            side: "first" or "second".
            kernel: the text of its kernel.
            result: what is assigned to, of ``{0}``, a name.
        """
        assignments = () if self.levels is None else getattr(self.levels, side)
        if not assignments:
            return []
        names = {K1: kernel, K2: kernel, **{s: variable(s) for s in self.parameters}}
        return lines(names, [(result.format(s), e) for s, e in assignments])

    def pair(
        self,
        kernels: Sequence[str],
        first: str = "{0}",
        second: str = "{0}",
        varying: str = "{0}",
        sums: str = "{0}",
    ) -> str:
        """The call of NAME_pair.

        Args:
            kernels: those of the two inputs.
            first: how ``{0}``, what the first input has of its own, is read.
            second: the same of the second input.
            varying: the same of what differs from pair to pair.
            sums: the same of the sums.
        """
        assert self.levels is not None
        arguments = [kernels[0], *(first.format(s) for s, _ in self.levels.first), kernels[1]]
        arguments += [second.format(s) for s, _ in self.levels.second]
        arguments += [varying.format(variable(s)) for s in self.varying]
        arguments += [sums.format(s) for s in (() if self.series is None else self.series.symbols)]
        return f"{self.name}_pair({', '.join([*arguments, *map(variable, self.parameters)])})"


# ---- components --------------------------------------------------------------------------------------------------
def component_text(component: Component) -> Text:
    """The function of a component.

    Raises:
        NoSpelling: it is computed in a way that scalar code has no words for.
    """
    code, tables = component.code, {}
    if component.fallback_integral is not None or code is None:
        raise refused(component.formula, "it is integrated at run time, which compiled code does not")
    names = {s: variable(s) for s in component.symbols}
    if isinstance(code, Fit):
        tag, pieces = f"{component.name.upper()}_TABLE", len(code.edges) - 1
        names[polynomial] = f"piecewise(u, {tag}_EDGES, {pieces}, {tag}, {len(code.table)})"
        tables = {f"{tag}_EDGES": code.edges, tag: tuple(c for row in code.table for c in row)}
    else:
        code = scalar_code(component, code)
        if unspelled := SCALAR.unspelled(code):
            raise NoSpelling.of(SCALAR.name, component.formula, unspelled)
    far, near = limits(component), origin(component)
    returned = far.result.xreplace({value: near.result})
    if returned == value:
        program = steps(component, code, "return")
    else:
        program = (*far.before, *near.before, *steps(component, code), Assignments((("return", returned),)))
    body = []
    for step in program:
        match step:
            case Assignments():
                body += lines(names, step.results)
            case Test():
                tests = " and ".join(f"{s} <= {step.most!r}" for s in step.variables)
                body.append(f"{step.symbol} = 1.0 if {tests} else 0.0")
            case OfBothInputs():
                used = [s for s in step.symbols if s == determinant or (isinstance(code, sp.Expr) and code.has(s))]
                body += [f"{s} = {s}(K1, K2, C)" for s in used]
                names |= {s: s.name for s in used}
            case WrittenSum():
                body += _summed(step, names)
                tables |= _rule_tables(step)
    listed = ", ".join(map(variable, component.symbols))
    return Text(defined(f"{component.name}({listed})", body), tuple(tables.items()))


def _summed(total: WrittenSum, names: Mapping[sp.Symbol, str]) -> list[str]:
    """Lines that compute a sum, in a loop over its nodes: the plain rule stands before the other one in the tables."""
    tag, (first, second, ease) = total.name.removeprefix("total"), total.ends
    (nodes, places), (weights, _) = _rule_tables(total)
    plain = NODES[PLAIN]
    inside = lines({**total.names(names), node: "p"}, [(f"term{tag}", total.term)], f"u{tag}_", IN_SUMS)
    return [
        *lines(names, total.outside, f"s{tag}_"),
        f"start{tag}: int = 0 if {ease} >= 1.0 else {plain}",
        f"stop{tag}: int = {plain} if {ease} >= 1.0 else {len(places)}",
        f"{total.name} = 0.0",
        f"for i in range(start{tag}, stop{tag}):",
        f"    p = {first} + ({second} - {first})*{nodes}[i]",
        *(f"    {line}" for line in inside),
        f"    {total.name} = {total.name} + {weights}[i]*term{tag}",
        f"{total.name} = ({second} - {first})*{total.name}",
    ]


def _rule_tables(total: WrittenSum) -> list[tuple[str, tuple[float, ...]]]:
    """The tables with the nodes and with the weights of the plain rule and of that of a sum."""
    columns = zip(*(*nodes_and_weights(PLAIN), *nodes_and_weights(total.rule)), strict=True)
    names = (f"{table_name(total.rule)}_{kind}" for kind in ("NODES", "WEIGHTS"))
    return list(zip(names, columns, strict=True))


def component_texts(components: Iterable[Component]) -> dict[str, Text]:
    """The functions of components, by name; those that are series stand where they are called.

    Raises:
        NoSpelling: one is computed in a way that scalar code has no words for.
    """
    return {c.name: component_text(c) for c in components if not is_series(c)}


def scalar_code(component: Component, code: sp.Expr) -> sp.Expr:
    """A closed form as scalar code computes it: angles by their halves."""
    halved = None if component.form is None else half_angles(component.form)
    return code if halved is None else halved


def plain_codes(components: Iterable[Component]) -> dict[str, tuple[tuple[sp.Symbol, ...], sp.Expr]]:
    """The code of those components of two inputs that may stand in a formula as they are."""
    codes = ((c, c.code) for c in components if c.is_plain)
    return {c.name: (c.symbols, scalar_code(c, code)) for c, code in codes if isinstance(code, sp.Expr)}


# ---- functions of arrays -----------------------------------------------------------------------------------------
def public_function(function: Function) -> ScalarFunction:
    """A public function as scalar code."""
    quantity = function.quantity
    valid = "directed" if quantity.directed else "valid"
    lines_of = function.arguments, function.lines, function.names, function.components
    return _function(quantity.name, *lines_of, valid, function.amplifies)


def component_function(component: Component) -> ScalarFunction:
    """A component as a function of arrays, computed as it is where it stands in others."""
    result = (("return", component.call(*component.symbols)),)
    names = tuple((s, variable(s)) for s in component.symbols)
    return _function(f"{component.name.strip('_')}_alone", component.symbols, result, names, [component], "valid")


def _function(
    name: str,
    arguments: Sequence[sp.Symbol],
    results: Sequence[Assignment],
    names: Sequence[tuple[sp.Symbol, str]],
    components: Sequence[Component],
    valid: str,
    amplifies: bool = False,
) -> ScalarFunction:
    inputs = tuple(s for s in arguments if s in (K, *TRIPLE, Theta))
    parameters = tuple(s for s in arguments if s not in inputs)
    spelled = dict(names)
    steepest = max((c.steepest for c in components), default=0.0)
    if any(e.has(SoftmaxOverlap) for e in (*(e for _, e in results), *(c.formula for c in components))):
        steepest = math.inf
    listed = ", ".join(spelled[s] for s in arguments)
    kernels = [f"{spelled[s]} = {valid}({spelled[s]})" for s in inputs if s in (K, K1, K2)]
    if not set(TRIPLE) <= set(inputs):
        for c in filter(is_series, components):
            raise refused(c.formula, PLACE)
        if C in inputs:  # all inputs have one kernel
            *before, (last, value) = results
            results = [*before, (last, Possible(sp.sqrt(K), sp.sqrt(K), C, value))]
        body = [*kernels, *lines(spelled, results)]
        used = set().union(*(e.free_symbols for _, e in results))
        for kernel in (spelled[s] for s in inputs if s in KERNELS and s not in used):  # the value does not tell
            body[-1] = f"{body[-1]} if {kernel} == {kernel} else NAN"
        entry = defined(f"{name}_entry({listed})", body)
        return ScalarFunction(name, inputs, parameters, valid, (entry,), steepest=steepest)
    whole = inlined(written_out(results, names), plain_codes(components))
    results, series = with_sums(name, [("return", whole)], components, parameters)
    *before, (last, value) = results
    roots = sp.sqrt(K1), sp.sqrt(K2)
    value = value.xreplace({C: Clipped(K1, K2, *roots, C)}) if amplifies else value
    results = [*before, (last, Possible(*roots, C, value))]
    levels = levelled(results, () if series is None else series.symbols)
    function = ScalarFunction(name, inputs, parameters, valid, (), levels, series, steepest)
    own_of_inputs = [s for s, _ in (*levels.first, *levels.second)]
    spelled = {s: variable(s) for s in (*inputs, *parameters)}
    spelled |= {s: str(s) for s in (*own_of_inputs, *(series.symbols if series else ()))}
    call = function.pair(("K1", "K2"))
    sources = [defined(call, lines(spelled, economical(levels.pair)))]
    if series is None:
        alone = [*function.of_input("first", "K1"), *function.of_input("second", "K2")]
        sources.append(defined(f"{name}_entry({listed})", [*kernels, *alone, f"return {call}"]))
    return replace(function, sources=tuple(sources))
