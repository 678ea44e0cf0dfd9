"""The PyTorch code of components: values and, where autograd loses digits or meets infinities, their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import sympy as sp
from sympy.core.function import AppliedUndef

from ....numerics.special import S4, T4
from ...arrays.component_text import arguments, closed, defined, fitted, limited, named_determinant, with_origin
from ...averages import average_code
from ...emission.emitter import Dialect, Emitter, Source, is_constant, variable
from ...fits.chebyshev import Fit
from ...planning.plan import KERNELS, Component, Function
from ...stable.angles import AngleForm, rooted_form
from ...stable.correlation_form import determined, in_determinant_form, separated
from ...stable.primitives import TwoSigns, TwoTails, determinant, unit
from ...stable.rewrites import stabilise
from ...stable.rounding_error import doubt
from .dialect import TORCH


def component_source(component: Component) -> Source:
    """The function of a component, with derivatives of its own where they need care."""
    source = _unlimited_source(component)
    lines = limited(component, source.lines, TORCH)
    return replace(source, lines=_widened(component, lines) if _is_wide(component) else lines)


def _is_wide(component: Component) -> bool:
    """Whether a closed form needs float64: for its range, with floors and squares in denominators, or its digits."""
    code = component.code
    if not isinstance(code, sp.Expr):
        return False
    wide = bool(component.parameters) or component.floored  # derivatives in parameters have terms that cancel
    return wide or _is_divided(code) or code.has(TwoSigns, TwoTails, S4, T4)


def _widened(component: Component, lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that end in a return statement, made to compute in float64; the result is of the arguments' type."""
    listed = arguments(component)
    head = [f"kind = {variable(component.symbols[0])}.dtype"]
    head.append(f"{listed}{',' * (len(component.symbols) == 1)} = [v.to(torch.float64) for v in ({listed},)]")
    *before, last = lines
    return (*head, *before, f"return ({last.removeprefix('return ')}).to(kind)")


def _unlimited_source(component: Component) -> Source:
    if isinstance(component.code, Fit):
        return fitted(component, component.code, TORCH)
    if component.code is None:
        return _quadrature_source(component)
    if component.fallback_integral is not None:
        return _checked_source(component, component.fallback_integral)
    form = _form(component)
    if form is not None and form.vanishing:
        return _angle_source(component, form)
    if component.floored or _is_divided(component.code):
        return _floored_source(component, component.code)
    return Source(tuple(_body(component, component.code)))


def function_lines(function: Function) -> tuple[str, ...]:
    """The body of a public function, its arguments already tensors."""
    names = dict(function.names)
    kernels = [k for k in function.arguments if k in KERNELS]
    if function.quantity.directed:  # gradients of other entries are what they are
        first = [f"inside = {' & '.join(f'({k} > 0.0)' for k in kernels)}"]
        first += [f"{k} = torch.where({k} > 0.0, {k}, 1.0)" for k in kernels]
    else:
        first = [f"{k} = torch.where({k} >= 0.0, {k}, torch.nan)" for k in kernels]
    first += named_determinant(names, [e for _, e in function.lines])
    *before, last = first + lines_with_tensors(names, function.lines, variable(function.arguments[0]))
    if function.idle:
        last = f"return _shaped({', '.join([last.removeprefix('return '), *map(variable, function.idle)])})"
    if function.quantity.directed:
        last = f"return torch.where(inside, {last.removeprefix('return ')}, torch.nan)"
    return (*before, last)


def lines_with_tensors(names: Mapping[sp.Symbol, str], results: Sequence[tuple[str, sp.Expr]], like: str) -> list[str]:
    """Assignments that compute results; numbers that components are called with become tensors like the named one."""
    called = [(name, _in_tensors(e)) for name, e in results]
    if not any(e.has(unit) for _, e in called):
        return Emitter(TORCH, names).function(called)
    return [f"unit = torch.ones_like({like})", *Emitter(TORCH, {**names, unit: "unit"}).function(called)]


def _in_tensors(expr: sp.Expr) -> sp.Expr:
    """An expression whose calls of components have tensors as arguments, where those are numbers."""
    calls = {
        call: call.func(*(a * unit if is_constant(a) else a for a in call.args)) for call in expr.atoms(AppliedUndef)
    }
    return expr.xreplace(calls)


def _body(component: Component, code: sp.Expr, dialect: Dialect = TORCH) -> list[str]:
    return with_origin(component, closed(component, code, dialect), dialect)


def _angle_source(component: Component, form: AngleForm) -> Source:
    """Sqrt and atan2 have infinite derivatives at C**2 = K1*K2 that cancel: give the sum of both, cancelled."""
    guarded = replace(TORCH, quotient="_ratio({0}, {1})")  # 0/0 at vanishing kernels
    plain = replace(component, floored=False)
    slopes = {v: _body(plain, _slope(form, v), guarded) for v in component.symbols if v != determinant}
    return _with_slopes(component, component.code, slopes)


def _form(component: Component) -> AngleForm | None:
    if component.form is not None or not component.is_pair:
        return component.form
    return rooted_form(component.formula)


@lru_cache(maxsize=256)
def _slope(form: AngleForm, v: sp.Symbol) -> sp.Expr:
    return determined(separated(form.diff(v).stable()))


def _floored_source(component: Component, code: sp.Expr) -> Source:
    """What depends on x/determinant has derivatives by formulas: autograd would meet 0 times infinity, or a floor."""
    kept = replace(component, floored=True)
    slopes = {v: _body(kept, in_determinant_form(stabilise(component.formula.diff(v)))) for v in component.symbols}
    return _with_slopes(component, code, slopes)


def _is_divided(code: sp.Expr) -> bool:
    """Whether a formula divides by the determinant or by its root."""
    return any(power.base == determinant and power.exp.is_negative for power in code.atoms(sp.Pow))


def _with_slopes(component: Component, code: sp.Expr, slopes: Mapping[sp.Symbol, list[str]]) -> Source:
    """The value, and its derivative in each argument; a determinant that is given has no part of its own in them."""
    name, listed = component.name, arguments(component)
    functions = {"value": _body(component, code), **{f"d{variable(v)}": lines for v, lines in slopes.items()}}
    preamble = tuple(defined(f"{name}_{tag}({listed})", lines) for tag, lines in functions.items())
    called = "".join(f"{f'{name}_d{variable(v)}' if v in slopes else None}, " for v in component.symbols).strip()
    return Source((f"slopes = ({called})", f"return _sloped({name}_value, slopes, {listed})"), (), preamble)


def _quadrature_source(component: Component) -> Source:
    """Values and slopes are averages of the same kind; slopes of slopes are none."""
    name, listed = component.name, arguments(component)
    value = average_code.source(name, component.symbols, component.formula, TORCH)
    preamble, tables, calls = list(value.preamble), list(value.tables), []
    for i, (v, expr) in enumerate(average_code.slopes(component.formula, component.symbols).items()):
        slope = average_code.source(f"{name}_d{variable(v)}", component.symbols, expr, TORCH)
        preamble += slope.preamble
        tables += slope.tables
        calls.append(f"    {slope.lines[-1].removeprefix('return ')} if needed[{i}] else None,")
    about = f'"""The derivatives of {name} that are needed."""'
    preamble.append(defined(f"{name}_rule_slopes(needed, {listed})", [about, "return (", *calls, ")"]))
    (line,) = value.lines
    return Source((f"{line.removesuffix(')')}, slopes={name}_rule_slopes)",), tuple(tables), tuple(preamble))


def _checked_source(component: Component, fallback_integral: sp.Expr) -> Source:
    """A closed form, and its average and that of each slope where terms cancel."""
    name, listed = component.name, arguments(component)
    value = _unlimited_source(replace(component, name=f"{name}_closed", fallback_integral=None))
    average = average_code.source(f"{name}_open", component.symbols, fallback_integral, TORCH)
    error = _body(replace(component, origin=None), doubt(component.code))
    functions = {"closed": value.lines, "doubt": error, "open": average.lines}
    slopes, sources = average_code.slopes(fallback_integral, component.symbols), [value, average]
    for v in component.symbols:
        tag = f"open_d{variable(v)}"
        sources.append(average_code.source(f"{name}_{tag}", component.symbols, slopes[v], TORCH))
        functions[tag] = sources[-1].lines
    preamble = [text for source in sources for text in source.preamble]
    preamble += [defined(f"{name}_{tag}({listed})", lines) for tag, lines in functions.items()]
    tables = dict(table for source in sources for table in source.tables)
    called = ", ".join(f"{name}_open_d{variable(v)}" for v in component.symbols)
    comma = "," * (len(component.symbols) == 1)
    call = f"return _mended({name}_closed, {name}_doubt, {name}_open, ({called}{comma}), {listed})"
    return Source((call,), tuple(tables.items()), tuple(preamble))
