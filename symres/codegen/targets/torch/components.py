"""The PyTorch code of components: closed forms, fits and averages, with derivatives of their own where needed."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import sympy as sp

from ...arrays import differentiable
from ...arrays.array_functions import array_functions
from ...arrays.component_text import arguments
from ...arrays.smooth_functions import smooth_pairs, sum_source
from ...averages import average_code
from ...emission.emitter import Dialect, Source, defined, variable
from ...planning.plan import Component
from ...stable.primitives import AtLeast, AtMost, Distance
from ...stable.rounding_error import doubt

TORCH = Dialect(
    name="PyTorch",
    functions={
        **array_functions("torch", "torch", "torch"),
        AtLeast: "torch.clamp({0}, min={1})",
        AtMost: "torch.clamp({0}, max={1})",
        Distance: "torch.clamp(({0} - {2}) + ({1} - {2}), min=0.0)",
    },
    sqrt="torch.sqrt({0})",
    root="_root({0})",
    radical="_radical({0}, {1})",
    power="torch.pow({0}, {1})",
    infinity="math.inf",
    library="torch",
)


@lru_cache(maxsize=512)
def component_source(component: Component) -> Source:
    """The function of a component."""
    conversions = "{0}.to(torch.float64)", "{0}.to(kind)"
    wide = differentiable.is_wide(component) or bool(component.steepest)
    return differentiable.component_source(component, TORCH, _quadrature_source, conversions, wide)


def _quadrature_source(component: Component) -> Source:
    """Values and slopes are averages of the same kind; slopes of slopes are none."""
    if isinstance(component.code, sp.Expr) and component.fallback_integral is not None:
        return _checked_source(component, component.code, component.fallback_integral)
    pairs = smooth_pairs(component)
    if pairs:
        source = sum_source(component, pairs, TORCH, '"{name}"')
        functions = [f for pair in pairs for f in (pair.first, pair.second)]
        closer = average_code.closer_text(component.name, functions, component.symbols, TORCH)
        return replace(source, preamble=(*source.preamble, closer)) if closer else source
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


def _checked_source(component: Component, code: sp.Expr, fallback_integral: sp.Expr) -> Source:
    """A closed form, and its average and that of each slope where terms cancel."""
    name, listed = component.name, arguments(component)
    plain = replace(component, name=f"{name}_closed", fallback_integral=None)
    value = differentiable.closed_source(plain, TORCH)
    average = average_code.source(f"{name}_open", component.symbols, fallback_integral, TORCH)
    error = differentiable.body(component.guarded(limit=None), doubt(code), TORCH)
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
