"""Lines of code that components have in every array library: closed forms, fits, and what guards them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import sympy as sp

from ...core.symbols import K1, K2, C, K
from ..emission.emitter import Dialect, Emitter, Source, rows, variable
from ..fits.chebyshev import Fit
from ..planning.guards import FLOOR
from ..planning.plan import Component, Function
from ..planning.straight_line import (
    Assignments,
    Guard,
    OfBothInputs,
    Step,
    Test,
    floor,
    floor_squared,
    origin,
    polynomial,
    steps,
    value,
)
from ..price.fixed_sum import PLAIN, node, nodes_and_weights, rules_of, table_name
from ..price.written_code import WrittenSum
from ..stable.kernel_powers import Reduced, reduced
from ..stable.primitives import complement, correlation, determinant

_NAMES = {**{s: s.name for s in (K, K1, K2, C)}, floor: repr(FLOOR), floor_squared: repr(FLOOR**2)}


def arguments(component: Component) -> str:
    """The arguments of a component, as they are listed."""
    return ", ".join(map(variable, component.symbols))


def printed(names: Mapping[sp.Symbol, str], program: Iterable[Step], dialect: Dialect) -> list[str]:
    """The lines of straight-line steps.

    Args:
        names: the variables of parameters, and of other symbols that are not called as they are in formulas.
        program: the steps.
        dialect: of the library.
    """
    names, lines = {**_NAMES, **names}, []
    for step in program:
        match step:
            case Assignments():
                lines += Emitter(dialect, names).function(step.results)
            case Test():
                tests = [f"{names.get(s, s.name)} <= {step.most!r}" for s in step.variables]
                lines.append(f"{step.symbol} = {tests[0] if len(tests) == 1 else ' & '.join(f'({t})' for t in tests)}")
            case OfBothInputs():
                lines.append(f"{', '.join(s.name for s in step.symbols)} = {_OF_BOTH[step.symbols[0]]}")
            case WrittenSum():
                lines += _summed(step, names, dialect)
    return lines


_OF_BOTH = {determinant: "_determinant(K1, K2, C)", correlation: "_correlation(K1, K2, C)"}


def closed(component: Component, code: sp.Expr, dialect: Dialect, result: str = "return") -> list[str]:
    """Lines that compute an expression in the component's arguments, and return it or give it a name."""
    if dialect.reduced and component.guards.floor is None and not component.has_sum:
        in_range = reduced(code)
        if in_range.leaves_range:
            return _in_range(component, in_range, dialect, result)
    return printed({s: variable(s) for s in component.symbols}, steps(component, code, result), dialect)


def body(component: Component, code: sp.Expr, dialect: Dialect) -> list[str]:
    """Lines that compute a closed form and return it, or its limit at K = 0."""
    return around(origin(component), closed(component, code, dialect), dialect)


def around(guard: Guard, lines: Sequence[str], dialect: Dialect) -> list[str]:
    """Lines that end in a return statement, guarded."""
    *inner, last = lines
    names = {value: last.removeprefix("return ")}
    returned = [last] if guard.result == value else Emitter(dialect, names).function([("return", guard.result)])
    return [*printed({}, guard.before, dialect), *inner, *returned]


def _summed(total: WrittenSum, names: Mapping[sp.Symbol, str], dialect: Dialect) -> list[str]:
    """Lines that compute a sum: what does not depend on the node, a function of it, the call that sums its values."""
    tag, variables = total.name.removeprefix("total"), total.names(names)
    listed, rule = ", ".join(variables.values()), table_name(total.rule)
    inside = Emitter(dialect, {**variables, node: "p"}).function([("return", total.term)])
    first, second, ease = total.ends
    integral = f"_fixed_sum(term{tag}, ({table_name(PLAIN)}, {rule}), {first}, {second}, {ease}, *parts{tag})"
    if total.is_never_easy:
        integral = f"_with_nodes(term{tag}, {rule}, {first}, {second}, *parts{tag})"
    return [
        *Emitter(dialect, names).function(total.outside, f"s{tag}_"),
        f"def term{tag}(p, {listed}):",
        *(f"    {line}" for line in inside),
        f"parts{tag} = {listed}{',' * (len(variables) == 1)}",
        f"{total.name} = {integral}",
    ]


def sum_tables(code: sp.Expr) -> tuple[tuple[str, str], ...]:
    """The rules that sums in an expression read, as tables."""
    return tuple((table_name(rule), _pairs_text(nodes_and_weights(rule))) for rule in rules_of(code))


def _pairs_text(pairs: Sequence[tuple[float, float]]) -> str:
    """Pairs of numbers, two a line."""
    texts = [f"({place!r}, {weight!r})" for place, weight in pairs]
    lines = [f"    {', '.join(texts[i : i + 2])}," for i in range(0, len(texts), 2)]
    return "\n".join(["[", *lines, "]"])


def _in_range(component: Component, formula: Reduced, dialect: Dialect, result: str) -> list[str]:
    """Lines that compute a formula with kernels of order 1: squares of others leave the range of narrow types."""
    kernels, homogeneous = enumerate(component.kernels, 1), formula.is_homogeneous
    lines = [f"k{i}, q{i} = {dialect.reduced}({k}, {homogeneous})" for i, k in kernels]
    if component.is_pair:
        lines.append("c = C*q1*q2")
        if determinant in component.symbols:
            lines.append("determinant = determinant*q1*q1*q2*q2")
        elif formula.value.has(determinant):
            lines.append("determinant = _determinant(k1, k2, c)")
        if formula.value.has(correlation, complement):
            lines.append("correlation, complement = _correlation(k1, k2, c)")
    names = {s: variable(s) for s in component.symbols}
    return [*lines, *Emitter(dialect, names).function([(result, formula.whole)])]


def fitted(component: Component, fit: Fit, dialect: Dialect, array: Callable[[str], str] = str) -> Source:
    """The code of a fit.

    Args:
        component: the function.
        fit: the fit.
        dialect: of the library.
        array: how a table of numbers is spelled.
    """
    tag = component.name.upper()
    names = {K: variable(K), polynomial: f"_piecewise(u, {tag}_EDGES, {tag}_TABLE)"}
    lines = around(origin(component), printed(names, steps(component, fit, "return"), dialect), dialect)
    table = "[\n" + "".join(f"    {row},\n" for row in rows(fit.table)) + "]"
    return Source(tuple(lines), ((f"{tag}_EDGES", array(rows([fit.edges])[0])), (f"{tag}_TABLE", array(table))))


def guarded(function: Function, lines: Sequence[str], dialect: Dialect) -> tuple[str, ...]:
    """Lines of a public function that end in a return statement, made to return nan for impossible arguments.

    Kernels below 0 are nan already: that is lost only where the value does not depend on them.
    """
    if function.both_kernels is None and not function.idle_kernels:
        return tuple(lines)
    test, first = " & ".join(f"({k} >= 0.0)" for k in map(variable, function.idle_kernels)), []
    if function.both_kernels is not None:
        test = f"_possible({', '.join(map(variable, function.both_kernels))}, C)"
    if function.amplifies:
        test, first = "possible", [f"possible = {test}", "C = _clipped(K1, K2, C)"]
    *before, last = lines
    return (*first, *before, f"return {dialect.library}.where({test}, {last.removeprefix('return ')}, {dialect.nan})")
