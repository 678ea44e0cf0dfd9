"""Code whose results are differentiable: derivatives by formulas where those that a library finds are not finite.

Libraries differentiate what they compute. A closed form with angles has parts whose derivatives are infinite at
``C**2 = K1*K2`` and cancel there; a floor has none. Such functions are written with derivatives of their own:
``_sloped(value, slopes, arguments)`` of the run-time library takes a function and its derivative in each argument.
Slopes are code as well, which the library differentiates in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import sympy as sp
from sympy.core.function import AppliedUndef

from ...core.symbols import K1, K2
from ...functions.records.gaussian_signs import S4, T4
from ..averages.singular_slopes import NEAREST
from ..emission.emitter import Dialect, Emitter, Source, defined, is_constant, variable
from ..fits.chebyshev import Fit
from ..planning.guards import FLOOR
from ..planning.plan import KERNELS, Component, Function
from ..planning.slope_rules import NEARLY_PARALLEL, SlopeRule, angle_form_of, divides_by_determinant, slope_rule
from ..planning.straight_line import limits, steps_of_function
from ..price.fixed_sum import FixedSum
from ..price.slopes import slopes as price_slopes
from ..stable.angles import AngleForm
from ..stable.correlation_form import determined, in_determinant_form, separated
from ..stable.primitives import TwoSigns, TwoTails, determinant, unit
from ..stable.rewrites import stabilise
from ..stable.tail_slopes import tail_slope
from .component_text import arguments, around, body, fitted, guarded, printed, sum_tables


def closed_source(component: Component, dialect: Dialect) -> Source:
    """The code of a component's closed form, with derivatives of its own where they need care.

    Args:
        component: what is computed.
        dialect: of the library; quotients that may be 0/0 are spelled ``_ratio``.
    """
    rule = slope_rule(component)
    if rule in _SLOPED:
        return _SLOPED[rule](component, dialect)
    *before, last = body(component, component.code, dialect)
    if rule is SlopeRule.MISSING_NEARBY:
        last = f"return _without_near_slopes({last.removeprefix('return ')}, K1, K2, C, {NEARLY_PARALLEL!r})"
    return Source((*before, last))


def component_source(
    component: Component,
    dialect: Dialect,
    integrated: Callable[[Component], Source],
    conversions: tuple[str, str],
    wide: bool,
) -> Source:
    """The function of a component.

    Args:
        component: what is computed.
        dialect: of the library.
        integrated: the code of what has no closed form, or where its terms cancel.
        conversions: as ``widened`` takes them.
        wide: whether it is to be computed in float64.
    """
    code = component.code
    if isinstance(code, Fit):
        source = fitted(component, code, dialect)
    elif code is None or component.fallback_integral is not None:
        source = integrated(component)
    else:
        source = closed_source(component, dialect)
    lines = tuple(around(limits(component), source.lines, dialect))
    return replace(source, lines=widened(component, lines, *conversions) if wide else lines)


def is_wide(component: Component) -> bool:
    """Whether a closed form needs float64: for its range, with floors and squares in denominators, or its digits."""
    code = component.code
    if not isinstance(code, sp.Expr):
        return False
    wide = (
        bool(component.parameters) or component.guards.floor is not None or code.has(FixedSum)
    )  # derivatives in parameters have terms that cancel
    return wide or divides_by_determinant(code) or code.has(TwoSigns, TwoTails, S4, T4)


def widened(component: Component, lines: Sequence[str], wide: str, narrow: str) -> tuple[str, ...]:
    """Lines that end in a return statement, made to compute in float64; the result is of the arguments' type.

    Args:
        component: what is computed.
        lines: its body.
        wide: how an array ``{0}`` is converted to the widest type.
        narrow: how ``{0}`` is converted to the type ``kind``.
    """
    listed = arguments(component)
    head = [f"kind = {variable(component.symbols[0])}.dtype"]
    comma = "," * (len(component.symbols) == 1)
    head.append(f"{listed}{comma} = [{wide.format('v')} for v in ({listed},)]")
    *before, last = lines
    return (*head, *before, f"return {narrow.format('(' + last.removeprefix('return ') + ')')}")


def _angle_source(component: Component, dialect: Dialect) -> Source:
    """Sqrt and atan2 have infinite derivatives at C**2 = K1*K2 that cancel: give the sum of both, cancelled."""
    form = angle_form_of(component)
    guarded = replace(dialect, quotient="_ratio({0}, {1})")  # 0/0 at vanishing kernels
    plain = component.guarded(floor=None)
    slopes = {v: body(plain, _slope(form, v), guarded) for v in component.symbols if v != determinant}
    return _with_slopes(component, slopes, dialect)


@lru_cache(maxsize=256)
def _slope(form: AngleForm, v: sp.Symbol) -> sp.Expr:
    return determined(separated(form.diff(v).stable()))


def _floored_source(component: Component, dialect: Dialect) -> Source:
    """What depends on x/determinant has derivatives by formulas: others would be 0 times infinity, or meet a floor."""
    kept = component.guarded(floor=FLOOR)
    codes = {v: _cut_off(in_determinant_form(stabilise(component.formula.diff(v)))) for v in component.symbols}
    return _with_slopes(component, {v: body(kept, slope, dialect) for v, slope in codes.items()}, dialect)


def _cut_off(slope: sp.Expr) -> sp.Expr:
    """A slope whose density of two jumps, which diverges towards parallel inputs, grows no further next to them."""
    if isinstance(slope, sp.Add | sp.Mul):
        return slope.func(*map(_cut_off, slope.args))
    base, power = slope.as_base_exp()
    if base == determinant and power.is_negative:
        return sp.Max(determinant, NEAREST * K1 * K2) ** power
    return slope


def _tailed_source(component: Component, dialect: Dialect) -> Source:
    """Roots of the determinant have infinite derivatives for parallel inputs: give those in which they cancel."""
    guarded = replace(dialect, quotient="_ratio({0}, {1})")  # 0/0 at vanishing kernels
    symbols = [v for v in component.symbols if v != determinant]
    slopes = {v: _cut_off(in_determinant_form(stabilise(tail_slope(component.formula, v)))) for v in symbols}
    kept = component.guarded(floor=FLOOR) if any(map(divides_by_determinant, slopes.values())) else component
    bodies = {v: body(kept, slope, guarded) for v, slope in slopes.items()}
    return _with_slopes(component, bodies, dialect)


def _summed_source(component: Component, dialect: Dialect) -> Source:
    """The limits of a sum have infinite derivatives where inputs are parallel: slopes are averages of their own."""
    slopes = price_slopes(component.formula, component.symbols)
    if slopes is None:  # libraries differentiate the sum, whose derivatives are not finite for parallel inputs alone
        return Source(tuple(body(component, component.code, dialect)), sum_tables(component.code))
    bodies = {v: body(component, slope, dialect) for v, slope in slopes.items()}
    tables = sum_tables(sp.Add(component.code, *slopes.values()))
    return replace(_with_slopes(component, bodies, dialect), tables=tables)


def _with_slopes(component: Component, slopes: Mapping[sp.Symbol, list[str]], dialect: Dialect) -> Source:
    """The value, and its derivative in each argument; a determinant that is given has no part of its own in them."""
    name, listed = component.name, arguments(component)
    functions = {"value": body(component, component.code, dialect)}
    functions |= {f"d{variable(v)}": lines for v, lines in slopes.items()}
    preamble = tuple(defined(f"{name}_{tag}({listed})", lines) for tag, lines in functions.items())
    called = "".join(f"{f'{name}_d{variable(v)}' if v in slopes else None}, " for v in component.symbols).strip()
    return Source((f"slopes = ({called})", f"return _sloped({name}_value, slopes, {listed})"), (), preamble)


_SLOPED = {
    SlopeRule.SUM: _summed_source,
    SlopeRule.ANGLE: _angle_source,
    SlopeRule.TAIL: _tailed_source,
    SlopeRule.FLOORED: _floored_source,
}


# ---- public functions --------------------------------------------------------------------------------------------
def function_lines(function: Function, dialect: Dialect) -> tuple[str, ...]:
    """The body of a public function, its arguments already arrays of one type."""
    names, library = dict(function.names), dialect.library
    kernels = [k for k in function.arguments if k in KERNELS]
    if function.quantity.directed:  # gradients of other entries are what they are
        first = [f"inside = {' & '.join(f'({k} > 0.0)' for k in kernels)}"]
        first += [f"{k} = {library}.where({k} > 0.0, {k}, 1.0)" for k in kernels]
    else:
        first = [f"{k} = {library}.where({k} >= 0.0, {k}, {library}.nan)" for k in kernels]
    *helped, _ = steps_of_function(function)
    first += printed(names, helped, dialect)
    *before, last = first + lines_with_arrays(names, function.lines, variable(function.arguments[0]), dialect)
    if function.idle:
        last = f"return _shaped({', '.join([last.removeprefix('return '), *map(variable, function.idle)])})"
    *before, last = guarded(function, [*before, last], dialect)
    if function.quantity.directed:
        last = f"return {library}.where(inside, {last.removeprefix('return ')}, {library}.nan)"
    return (*before, last)


def lines_with_arrays(
    names: Mapping[sp.Symbol, str], results: Sequence[tuple[str, sp.Expr]], like: str, dialect: Dialect
) -> list[str]:
    """Assignments that compute results; numbers that components are called with become arrays like the named one."""
    called = [(name, _with_units(e)) for name, e in results]
    if not any(e.has(unit) for _, e in called):
        return Emitter(dialect, names).function(called)
    head = f"unit = {dialect.library}.ones_like({like})"
    return [head, *Emitter(dialect, names).function(called)]


def _with_units(expr: sp.Expr) -> sp.Expr:
    """An expression whose calls of components have arrays as arguments, where those are numbers."""
    calls = {
        call: call.func(*(a * unit if is_constant(a) else a for a in call.args)) for call in expr.atoms(AppliedUndef)
    }
    return expr.xreplace(calls)
