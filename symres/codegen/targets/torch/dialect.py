"""The PyTorch dialect: how operations are spelled, and the sources of components and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike
from sympy.core.function import AppliedUndef

from ....core.symbols import K
from ....numerics.special import S4, T4
from ...averages import average_code
from ...emission.emitter import Dialect, Emitter, Source, is_constant, rows, variable
from ...fits.chebyshev import SHARE, Fit
from ...planning.component_lines import defined, floored, limited, named_determinant, with_origin
from ...planning.language import Floats, Language
from ...planning.plan import KERNELS, Component, Function
from ...runtime import sign_averages
from ...runtime.numpy_helpers import SCALED_TAIL, TWO_PRODUCT
from ...runtime.quadrature_nodes import with_digest
from ...runtime.torch_helpers import (
    CORRELATION,
    DAWSON,
    DETERMINANT,
    ERFCX,
    EXPCOSH,
    EXPCOSHM1,
    EXPSINH,
    MENDED,
    PIECEWISE,
    RADICAL,
    RATIO,
    ROOT,
    SEPARATION,
    SHAPED,
    TENSORS,
    own_gradient,
)
from ...stable.angles import AngleForm, rooted_form
from ...stable.correlation_form import determined, in_determinant_form, separated
from ...stable.primitives import (
    AbsNode,
    Atan2,
    Dawson,
    Distance,
    Erfc,
    Erfcx,
    ExpCosh,
    ExpCoshm1,
    Expm1,
    ExpSinh,
    Log1p,
    NonzeroDivisor,
    ScaledTail,
    Separation,
    Sigmoid,
    Softplus,
    TwoSigns,
    TwoTails,
    UpperAngle,
    complement,
    correlation,
    determinant,
    unit,
)
from ...stable.rewrites import stabilise
from ...stable.rounding_error import doubt

if TYPE_CHECKING:
    import torch

TORCH = Dialect(
    name="PyTorch",
    functions={
        sp.exp: "torch.exp({0})",
        sp.log: "torch.log({0})",
        sp.sin: "torch.sin({0})",
        sp.cos: "torch.cos({0})",
        sp.tan: "torch.tan({0})",
        sp.sinh: "torch.sinh({0})",
        sp.cosh: "torch.cosh({0})",
        sp.tanh: "torch.tanh({0})",
        sp.asin: "torch.asin({0})",
        sp.acos: "torch.acos({0})",
        sp.atan: "torch.atan({0})",
        sp.atan2: "torch.atan2({0}, {1})",
        sp.asinh: "torch.asinh({0})",
        sp.erf: "torch.erf({0})",
        sp.erfc: "torch.erfc({0})",
        sp.Abs: "torch.abs({0})",
        AbsNode: "torch.abs({0})",
        Distance: "torch.clamp(({0} - {2}) + ({1} - {2}), min=0.0)",
        Separation: "_separation({0}, {1}, {2})",
        NonzeroDivisor: "({0} + ({0} == 0.0))",
        sp.sign: "torch.sign({0})",
        # clamp takes numbers as bounds, maximum takes none; numbers come first in order
        sp.Max: "torch.clamp({1}, min={0})",
        sp.Min: "torch.clamp({1}, max={0})",
        Atan2: "torch.atan2({0}, {1})",
        UpperAngle: "torch.atan2({0} + ({1} == 0.0), {1})",
        Expm1: "torch.expm1({0})",
        Log1p: "torch.log1p({0})",
        Dawson: "_Dawson.apply({0})",
        Erfc: "torch.erfc({0})",
        Erfcx: "_Erfcx.apply({0})",
        ScaledTail: "_scaled_tail({0}, {1}, {2})",
        ExpSinh: "_ExpSinh.apply({0}, {1})",
        ExpCosh: "_ExpCosh.apply({0}, {1})",
        ExpCoshm1: "_ExpCoshm1.apply({0}, {1})",
        Sigmoid: "torch.sigmoid({0})",
        Softplus: "torch.nn.functional.softplus({0}, threshold=40.0)",
        TwoSigns: "_two_signs(*_alike({0}, {1}, {2}, {3}))",
        TwoTails: "_two_tails(*_alike({0}, {1}, {2}, {3}))",
        S4: "_four_signs(*_alike({0}, {1}, {2}, {3}, {4}, {5}))",
        T4: "_equal_signs({0})",
    },
    sqrt="torch.sqrt({0})",
    root="_root({0})",
    radical="_radical({0}, {1})",
    power="torch.pow({0}, {1})",
    infinity="math.inf",
    helpers={
        "_two_product": (TWO_PRODUCT, ()),
        "_Determinant": (DETERMINANT, ("_two_product",)),
        "_root": (ROOT, ()),
        "_radical": (RADICAL, ()),
        "_correlation": (CORRELATION, ("_Determinant", "_root")),
        "_separation": (SEPARATION, ("_Determinant", "_root")),
        "_Erfcx": (ERFCX, ()),
        "_scaled_tail": (average_code.for_torch(SCALED_TAIL.replace("special.erfcx(", "_Erfcx.apply(")), ("_Erfcx",)),
        "_ratio": (RATIO, ()),
        "_ExpSinh": (EXPSINH, ("_ExpCosh",)),
        "_ExpCosh": (EXPCOSH, ("_ExpSinh",)),
        "_ExpCoshm1": (EXPCOSHM1, ("_ExpSinh",)),
        "_Dawson": (DAWSON, ()),
        "_mended": (MENDED, ()),
        "_piecewise": (PIECEWISE, ()),
        "_tensors": (TENSORS, ()),
        **average_code.TORCH_HELPERS,
        **sign_averages.helpers(average_code.legendre, average_code.for_torch, torch=True),
        "_shaped": (SHAPED, ()),
    },
)


# ---- sources -----------------------------------------------------------------------------------------------------
def component_source(component: Component) -> Source:
    """The function of a component, or the autograd function where its derivatives need care."""
    source = _unlimited_source(component)
    lines = limited(component, source.lines, "torch")
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
    listed = ", ".join(map(variable, component.symbols))
    head = [f"kind = {variable(component.symbols[0])}.dtype"]
    head.append(f"{listed}{',' * (len(component.symbols) == 1)} = [v.to(torch.float64) for v in ({listed},)]")
    *before, last = lines
    return (*head, *before, f"return ({last.removeprefix('return ')}).to(kind)")


def _unlimited_source(component: Component) -> Source:
    if isinstance(component.code, Fit):
        return _fit_source(component, component.code)
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


def function_source(function: Function) -> tuple[str, ...]:
    """The body of a public function, its arguments already tensors."""
    names = dict(function.names)
    kernels = [k for k in function.arguments if k in KERNELS]
    if function.quantity.directed:  # gradients of other entries are what they are
        first = [f"inside = {' & '.join(f'({k} > 0.0)' for k in kernels)}"]
        first += [f"{k} = torch.where({k} > 0.0, {k}, 1.0)" for k in kernels]
    else:
        first = [f"{k} = torch.where({k} >= 0.0, {k}, torch.nan)" for k in kernels]
    first += named_determinant(names, [e for _, e in function.lines], "_Determinant.apply")
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
    names = {s: variable(s) for s in component.symbols}
    lines = named_determinant(names, [code], "_Determinant.apply")
    lines = floored(component, lines, "torch.clamp({0}, min={1})") if component.floored else lines
    if code.has(correlation, complement):
        lines.append("correlation, complement = _correlation(K1, K2, C)")
        names |= {correlation: "correlation", complement: "complement"}
    lines += Emitter(dialect, names).function([("value", code)])
    return with_origin(component, lines, "torch")


def _fit_source(component: Component, fit: Fit) -> Source:
    tag = component.name.upper()
    lines = [f"K = torch.clamp(K, min={fit.shape.floor!r})"] if fit.shape.floor else []
    lines += Emitter(TORCH, {K: "K", SHARE: str(SHARE)}).function(fit.shape.steps)
    value = f"scale*_piecewise(u, {tag}_EDGES, {tag}_TABLE)"
    if fit.sign:  # where rounding exceeds the value
        value = f"torch.clamp({value}, {'min' if fit.sign > 0 else 'max'}=0.0)"
    lines = with_origin(component, [*lines, f"value = {value}"], "torch")
    tables = (
        (f"{tag}_EDGES", rows([fit.edges])[0]),
        (f"{tag}_TABLE", "[\n" + "".join(f"    {row},\n" for row in rows(fit.table)) + "]"),
    )
    return Source(tuple(lines), tables)


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
    """The value and the lines of its derivatives."""
    listed = ", ".join(map(variable, component.symbols))
    functions, calls = [], {}
    for v, lines in slopes.items():
        calls[v] = f"{component.name}_d{variable(v)}({listed})"
        functions.append("\n".join([f"def {calls[v]}:", *(f"    {line}" for line in lines)]))
    return _autograd(component, _body(component, code), calls, functions)


def _quadrature_source(component: Component) -> Source:
    """Values and slopes are averages of the same kind; slopes of slopes are none."""
    value = average_code.source(component.name, component.symbols, component.formula, TORCH)
    listed = ", ".join(map(variable, component.symbols))
    preamble, tables, calls = list(value.preamble), list(value.tables), []
    for i, (v, expr) in enumerate(average_code.slopes(component.formula, component.symbols).items()):
        slope = average_code.source(f"{component.name}_d{variable(v)}", component.symbols, expr, TORCH)
        preamble += slope.preamble
        tables += slope.tables
        calls.append(f"    {slope.lines[-1].removeprefix('return ')} if needed[{i}] else None,")
    about = f'"""The derivatives of {component.name} that are needed."""'
    preamble.append(defined(f"{component.name}_rule_slopes(needed, {listed})", [about, "return (", *calls, ")"]))
    return Source(value.lines, tuple(tables), tuple(preamble))


def _checked_source(component: Component, fallback_integral: sp.Expr) -> Source:
    """A closed form, and its average and that of each slope where terms cancel."""
    name, listed = component.name, ", ".join(map(variable, component.symbols))
    closed = _unlimited_source(replace(component, name=f"{name}_closed", fallback_integral=None))
    average = average_code.source(f"{name}_open", component.symbols, fallback_integral, TORCH)
    error = _body(replace(component, origin=None), doubt(component.code))
    functions = {"closed": closed.lines, "doubt": error, "open": average.lines}
    slopes, sources = average_code.slopes(fallback_integral, component.symbols), [closed, average]
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


def _autograd(
    component: Component, value: list[str], calls: Mapping[sp.Symbol, str], functions: Sequence[str]
) -> Source:
    """An autograd.Function with given code for the value and calls for the derivative in each argument."""
    listed = ", ".join(map(variable, component.symbols))
    comma = "," if len(component.symbols) == 1 else ""
    about = f"{component.name} with its own derivatives in {', '.join(map(str, calls))}."
    slopes = (
        f"gradient*{calls[s]} if ctx.needs_input_grad[{i}] else None," if s in calls else "None,"
        for i, s in enumerate(component.symbols)  # a determinant that is given has no part of its own in slopes
    )
    backward = [f"{listed}{comma} = ctx.saved_tensors", "return (", *(f"    {slope}" for slope in slopes), ")"]
    text = _function(_class(component.name), about, component.symbols, value, backward)
    call = f"return {_class(component.name)}.apply({listed})"
    return Source((f"{listed}{comma} = torch.broadcast_tensors({listed})", call), (), (*functions, text))


def _function(
    name: str, about: str, symbols: Sequence[sp.Symbol], value: Sequence[str], backward: Sequence[str]
) -> str:
    arguments = ", ".join(map(variable, symbols))
    return own_gradient(name, about, arguments, value, backward, pointwise=False).strip()


def _class(name: str) -> str:
    return "_" + name.title().replace("_", "")


# ---- measuring ---------------------------------------------------------------------------------------------------
def standalone(component: Component) -> str:
    """A module with one component alone, for measuring its error."""
    source = component_source(component)
    function = defined(f"{component.name}({', '.join(map(variable, component.symbols))})", source.lines)
    helpers = [TORCH.helpers[name][0] for name in TORCH.needed([*source.lines, *source.preamble])]
    tables = [f"{name} = {value}" for name, value in source.tables]
    imports = ["import functools", "import math", "import torch"]
    return with_digest("\n".join([*imports, *helpers, *tables, *source.preamble, function, ""]))


def call_with_tensors(function: Callable[..., torch.Tensor], *arguments: ArrayLike) -> Floats:
    """The value of a function of tensors at NumPy arrays, without a gradient."""
    import torch  # where it is installed

    with torch.no_grad():
        value = function(*(torch.as_tensor(np.asarray(a, dtype=np.float64)) for a in arguments))
        return np.asarray(torch.as_tensor(value))


TORCH_LANGUAGE = Language(
    "torch", TORCH, component_source, function_source, standalone, ("_tensors(",), call_with_tensors
)
