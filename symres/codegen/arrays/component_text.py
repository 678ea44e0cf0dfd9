"""Lines of code that components have in every array library: closed forms, fits, and what guards them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import sympy as sp

from ..emission.emitter import Dialect, Emitter, Source, rows, variable
from ..fits.chebyshev import SHARE, Fit
from ..planning.plan import Component, Function
from ..price.fixed_sum import PLAIN, node, nodes_and_weights, rules_of, table_name
from ..price.written_code import WrittenCode, WrittenSum
from ..stable.kernel_powers import INVERSES, REDUCED, Reduced, reduced
from ..stable.primitives import complement, correlation, determinant


def arguments(component: Component) -> str:
    """The arguments of a component, as they are listed."""
    return ", ".join(map(variable, component.symbols))


def closed(component: Component, code: sp.Expr, dialect: Dialect, result: str = "value") -> list[str]:
    """Lines that compute an expression in the component's arguments, and return it or give it a name."""
    names = {s: variable(s) for s in component.symbols}
    written = WrittenCode.of(code)
    may_leave_range = dialect.reduced and component.guards.floor is None and not written.shared
    if may_leave_range and (in_range := reduced(code)).leaves_range:
        return _in_range(component, in_range, dialect, result)
    lines = _floored(component, named_determinant(names, written.formulas), dialect)
    if code.has(correlation, complement):
        lines.append("correlation, complement = _correlation(K1, K2, C)")
        names |= {correlation: "correlation", complement: "complement"}
    lines += Emitter(dialect, {**names, **written.shared_names}).function(written.shared)
    names |= written.shared_names
    for symbol, total in written.sums.items():
        lines += _summed(total, names, dialect)
        names[symbol] = total.name
    return [*lines, *Emitter(dialect, names).function([(result, written.value)])]


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


def _in_range(component: Component, found: Reduced, dialect: Dialect, result: str) -> list[str]:
    """Lines that compute a formula with kernels of order 1: squares of others leave the range of narrow types."""
    kernels, homogeneous = enumerate(component.kernels, 1), found.is_homogeneous
    lines = [f"k{i}, q{i} = {dialect.reduced}({k}, {homogeneous})" for i, k in kernels]
    names = {s: variable(s) for s in (*component.symbols, *REDUCED.values(), *INVERSES)}
    if component.is_pair:
        lines.append("c = C*q1*q2")
        if determinant in names:
            lines.append("determinant = determinant*q1*q1*q2*q2")
        elif found.value.has(determinant):
            names[determinant] = "determinant"
            lines.append("determinant = _determinant(k1, k2, c)")
        if found.value.has(correlation, complement):
            lines.append("correlation, complement = _correlation(k1, k2, c)")
            names |= {correlation: "correlation", complement: "complement"}
    return [*lines, *Emitter(dialect, names).function([(result, found.whole)])]


def fitted(component: Component, fit: Fit, dialect: Dialect, array: Callable[[str], str] = str) -> Source:
    """The code of a fit.

    Args:
        component: the function.
        fit: the fit.
        dialect: of the library.
        array: how a table of numbers is spelled.
    """
    tag, sign = component.name.upper(), component.guards.sign
    lines = _floored(component, [], dialect)
    lines += Emitter(dialect, {s: variable(s) for s in component.symbols} | {SHARE: str(SHARE)}).function(
        fit.shape.steps
    )
    value = f"scale*_piecewise(u, {tag}_EDGES, {tag}_TABLE)"
    if sign:  # where rounding exceeds the value
        value = (dialect.at_least if sign > 0 else dialect.at_most).format(value, 0.0)
    table = "[\n" + "".join(f"    {row},\n" for row in rows(fit.table)) + "]"
    tables = ((f"{tag}_EDGES", array(rows([fit.edges])[0])), (f"{tag}_TABLE", array(table)))
    return Source(tuple(with_origin(component, [*lines, f"value = {value}"], dialect)), tables)


def _floored(component: Component, lines: list[str], dialect: Dialect) -> list[str]:
    """Kernels and, if it is computed, the determinant, kept above 0."""
    floor = component.guards.floor
    if floor is None:
        return lines
    kernels = [f"{kernel} = {dialect.at_least.format(kernel, floor)}" for kernel in component.kernels]
    last = [f"determinant = {dialect.at_least.format('determinant', floor**2)}"] if lines else []
    return [*kernels, *lines, *last]


def with_origin(component: Component, lines: Sequence[str], dialect: Dialect) -> list[str]:
    """Lines that end in an assignment to ``value``, made to return it, and the limit at K = 0 where they have none."""
    limit, where = component.guards.limit, f"{dialect.library}.where"
    if limit is None:
        *before, last = lines
        return [*before, f"return {last.removeprefix('value = ')}"]
    sign = "-" if limit < 0 else ""
    spelled = repr(limit) if math.isfinite(limit) else f"{sign}{dialect.infinity}"
    masked = [f"vanishes = K <= {component.guards.start!r}", f"K = {where}(vanishes, 1.0, K)"]
    return [*masked, *lines, f"return {where}(vanishes, {spelled}, value)"]


def limited(component: Component, lines: tuple[str, ...], dialect: Dialect) -> tuple[str, ...]:
    """Lines that end in a return statement, made to return nan beyond the kernel where numbers end."""
    if math.isinf(component.guards.largest):
        return lines
    largest, library = repr(component.guards.largest), dialect.library
    head = [f"inside = {' & '.join(f'({k} <= {largest})' for k in component.kernels)}"]
    head += [f"{k} = {library}.clip({k}, None, {largest})" for k in component.kernels]
    if component.is_pair:
        head.append(f"C = {library}.clip(C, -{largest}, {largest})")
    *before, last = lines
    return (*head, *before, f"return {library}.where(inside, {last.removeprefix('return ')}, {dialect.nan})")


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


def named_determinant(names: dict[sp.Symbol, str], formulas: Sequence[sp.Expr]) -> list[str]:
    """The line that computes the determinant, and its name among the others, where a formula contains it."""
    if determinant in names or not any(formula.has(determinant) for formula in formulas):
        return []
    names[determinant] = "determinant"
    return ["determinant = _determinant(K1, K2, C)"]
