"""The NumPy dialect: how operations are spelled, and the sources of components and functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import sympy as sp

from ....core.symbols import K1, K2, C, Theta
from ....numerics.special import S4, T4
from ...averages import average_code
from ...emission.emitter import OUT, Dialect, Emitter, Source, Tile, argument, literal, rows, variable
from ...fits.chebyshev import SHARE, Fit
from ...planning.component_lines import defined, floored, limited, named_determinant, with_origin
from ...planning.language import Language
from ...planning.plan import KERNELS, Component, Function
from ...runtime import sign_averages
from ...runtime.numpy_helpers import (
    ALIGNED,
    BLOCKS,
    BROADCAST,
    CHUNK,
    CORRELATION,
    DETERMINANT,
    DIRECTED,
    EXPCOSH,
    EXPCOSHM1,
    EXPSINH,
    KERNEL,
    MEND,
    MENDED,
    PARTS,
    PIECEWISE,
    SCALED_TAIL,
    SEPARATION,
    SIGMOID,
    TILES,
    TWO_PRODUCT,
    TWO_SQUARE,
)
from ...stable.angles import AngleForm
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
)
from ...stable.rounding_error import doubt
from .fast_paths import fast_paths, with_determinant
from .tiles import FastPath, Tiler

MATRICES = (C, Theta)  # the arguments that differ from entry to entry
SCRATCH = 131072  # numbers in the scratch arrays of a tile together: as many as stay in the cache

NUMPY = Dialect(
    name="NumPy",
    functions={
        sp.exp: "np.exp({0})",
        sp.log: "np.log({0})",
        sp.sin: "np.sin({0})",
        sp.cos: "np.cos({0})",
        sp.tan: "np.tan({0})",
        sp.sinh: "np.sinh({0})",
        sp.cosh: "np.cosh({0})",
        sp.tanh: "np.tanh({0})",
        sp.asin: "np.arcsin({0})",
        sp.acos: "np.arccos({0})",
        sp.atan: "np.arctan({0})",
        sp.atan2: "np.arctan2({0}, {1})",
        sp.asinh: "np.arcsinh({0})",
        sp.erf: "special.erf({0})",
        sp.erfc: "special.erfc({0})",
        sp.Abs: "np.abs({0})",
        AbsNode: "np.abs({0})",
        Distance: "np.maximum(({0} - {2}) + ({1} - {2}), 0.0)",
        Separation: "_separation({0}, {1}, {2})",
        NonzeroDivisor: "({0} + ({0} == 0.0))",
        sp.sign: "np.sign({0})",
        sp.Heaviside: "np.heaviside({0}, {1})",
        sp.Max: "np.maximum({0}, {1})",
        sp.Min: "np.minimum({0}, {1})",
        Atan2: "np.arctan2({0}, {1})",
        UpperAngle: "np.arctan2({0} + ({1} == 0.0), {1})",
        Expm1: "np.expm1({0})",
        Log1p: "np.log1p({0})",
        Dawson: "special.dawsn({0})",
        Erfc: "special.erfc({0})",
        Erfcx: "special.erfcx({0})",
        ScaledTail: "_scaled_tail({0}, {1}, {2})",
        ExpSinh: "_expsinh({0}, {1})",
        ExpCosh: "_expcosh({0}, {1})",
        ExpCoshm1: "_expcoshm1({0}, {1})",
        Sigmoid: "_sigmoid({0})",
        Softplus: "np.logaddexp(0.0, {0})",
        TwoSigns: "_two_signs({0}, {1}, {2}, {3})",
        TwoTails: "_two_tails({0}, {1}, {2}, {3})",
        S4: "_four_signs({0}, {1}, {2}, {3}, {4}, {5})",
        T4: "_equal_signs({0})",
    },
    sqrt="np.sqrt({0})",
    root="np.sqrt({0})",
    radical="np.power({0}, {1})",
    power="np.power({0}, {1})",
    infinity="np.inf",
    helpers={
        "_two_product": (TWO_PRODUCT, ()),
        "_two_square": (TWO_SQUARE, ()),
        "_determinant": (DETERMINANT, ("_two_product", "_two_square")),
        "_correlation": (CORRELATION, ("_determinant",)),
        "_separation": (SEPARATION, ("_determinant",)),
        "_scaled_tail": (SCALED_TAIL, ()),
        "_expsinh": (EXPSINH, ()),
        "_expcosh": (EXPCOSH, ()),
        "_expcoshm1": (EXPCOSHM1, ()),
        "_sigmoid": (SIGMOID, ()),
        "_piecewise": (PIECEWISE, ()),
        "_mended": (MENDED, ()),
        "_valid": (KERNEL, ()),
        "_directed": (DIRECTED, ()),
        "_blocks": (BLOCKS, ()),
        "_parts": (PARTS, ()),
        "_chunk": (CHUNK, ()),
        "_mend": (MEND, ()),
        "_aligned": (ALIGNED, ()),
        "_broadcast": (BROADCAST, ()),
        "_tiles": (TILES, ("_broadcast", "_aligned", "_parts", "_chunk", "_mend")),
        **average_code.NUMPY_HELPERS,
        **sign_averages.helpers(average_code.legendre, str, torch=False),
    },
)


# ---- sources -----------------------------------------------------------------------------------------------------
def component_source(component: Component) -> Source:
    """The function of a component, its tile function, and the tables that it reads."""
    source = _unlimited_source(component)
    return replace(source, lines=limited(component, source.lines, "np"), tile=component_tile(component))


def component_tile(component: Component) -> Tile | None:
    """The tile function of a closed form of two inputs, the least costly one; None for what is no such thing."""
    code = component.code
    if not component.is_pair or not isinstance(code, sp.Expr) or component.origin is not None:
        return None
    if (
        component.floored or component.fallback_integral is not None or code.has(TwoSigns, TwoTails, S4, T4)
    ):  # of their own parts
        return None
    return None if math.isfinite(component.max_kernel) else _cheapest(component.form, code, component.symbols)


@lru_cache(maxsize=256)
def _cheapest(form: AngleForm | None, code: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> Tile:
    names = {s: variable(s) for s in symbols}
    tiles = [Tiler(NUMPY, names, (K1, K2), MATRICES).tile(path, leave=True) for path in fast_paths(form, code)]
    return min(tiles, key=lambda tile: (tile.cost, tile.arrays))


def function_tile(function: Function) -> Tile | None:
    """The tile function behind a public one; None if one of its components has none, or there are not two inputs."""
    tiles = {c.name: component_tile(c) for c in function.components}
    arguments = function.arguments
    known = {name: tile for name, tile in tiles.items() if tile is not None}
    pairs = {c.name for c in function.components if c.is_pair}
    if not {K1, K2, C} <= set(arguments) or pairs - set(known):
        return None
    symbols = {name: symbol for symbol, name in function.names}
    *steps, (_, value) = function.lines
    path = with_determinant(FastPath(value, {symbols[name]: e for name, e in steps}))
    return Tiler(NUMPY, {s: variable(s) for s in arguments}, (K1, K2), MATRICES, known).tile(path)


def _unlimited_source(component: Component) -> Source:
    names = {s: variable(s) for s in component.symbols}
    if component.code is None:
        return average_code.source(component.name, component.symbols, component.formula, NUMPY)
    if isinstance(component.code, Fit):
        tag = component.name.upper()
        shape = component.code.shape
        lines = [f"K = np.maximum(K, {shape.floor!r})"] if shape.floor else []
        lines += Emitter(NUMPY, names | {SHARE: str(SHARE)}).function(shape.steps)
        value = f"scale*_piecewise(u, {tag}_EDGES, {tag}_TABLE)"
        if component.code.sign:  # where rounding exceeds the value
            value = f"np.{'maximum' if component.code.sign > 0 else 'minimum'}({value}, 0.0)"
        lines = with_origin(component, [*lines, f"value = {value}"], "np")
        tables = (
            (f"{tag}_EDGES", f"np.array({rows([component.code.edges])[0]})"),
            (f"{tag}_TABLE", "np.array([\n" + "".join(f"    {row},\n" for row in rows(component.code.table)) + "])"),
        )
        return Source(tuple(lines), tables)
    if component.fallback_integral is None:
        return Source(tuple(with_origin(component, _closed(component, component.code, "value"), "np")))
    listed = ", ".join(names.values())
    other = average_code.source(f"{component.name}_open", component.symbols, component.fallback_integral, NUMPY)
    functions = {
        "closed": _closed(component, component.code, "return"),
        "doubt": _closed(component, doubt(component.code), "return"),
        "open": other.lines,
    }
    preamble = [defined(f"{component.name}_{tag}({listed})", lines) for tag, lines in functions.items()]
    called = ", ".join(f"{component.name}_{tag}" for tag in functions)
    lines = with_origin(component, [f"value = _mended({called}, {listed})"], "np")
    return Source(tuple(lines), other.tables, (*other.preamble, *preamble))


def _closed(component: Component, code: sp.Expr, result: str) -> list[str]:
    """Lines that compute an expression in the component's arguments."""
    names = {s: variable(s) for s in component.symbols}
    lines = named_determinant(names, [code], "_determinant")
    lines = floored(component, lines, "np.maximum({0}, {1})") if component.floored else lines
    if code.has(correlation, complement):
        lines.append("correlation, complement = _correlation(K1, K2, C)")
        names |= {correlation: "correlation", complement: "complement"}
    return [*lines, *Emitter(NUMPY, names).function([(result, code)])]


def function_source(function: Function) -> tuple[str, ...]:
    """The body of the blockwise function behind a public one."""
    names = dict(function.names)
    first = named_determinant(names, [e for _, e in function.lines], "_determinant")
    return (*first, *Emitter(NUMPY, names).function(function.lines))


def call(function: Function, tile: Tile | None) -> str:
    """What a public function returns: tiles where there is a tile function, else blocks of one line of entries."""
    name = f"_{function.quantity.name}"
    valid = "_directed" if function.quantity.directed else "_valid"
    listed = [f"{valid}({argument(s)})" if s in KERNELS else argument(s) for s in function.arguments]
    arguments = f"({', '.join(listed)}{',' * (len(listed) == 1)})"
    if tile is not None:
        places = _matrices(function.arguments)
        return f"_tiles({name}_tile, {name}_axes, {name}, {arguments}, {places}, {OUT}, {tile.arrays})"
    whole = any(c.is_pair and (c.code is None or c.fallback_integral is not None) for c in function.components)
    return f"_blocks({name}, {arguments}, {OUT}, {'_WHOLE' if whole else '_CACHED'})"


def _matrices(arguments: Sequence[sp.Symbol]) -> tuple[int, ...]:
    """The places of those arguments that differ from entry to entry of a matrix."""
    return tuple(i for i, s in enumerate(arguments) if s in MATRICES)


def standalone(component: Component) -> str:
    """A module with one component alone, for measuring."""
    source = component_source(component)
    body = [f"def {component.name}({', '.join(variable(s) for s in component.symbols)}):"]
    body += [f"    {line}" for line in source.lines]
    parts = ["import functools", "import math", "import numpy as np", "from scipy import special"]
    if source.tile is not None:
        body += _measured(component, source.tile)
    parts += [NUMPY.helpers[name][0] for name in NUMPY.needed([*source.lines, *source.preamble, *body])]
    parts += [f"{name} = {value}" for name, value in source.tables]
    return "\n".join([*parts, *source.preamble, *body, ""])


def _measured(component: Component, tile: Tile) -> list[str]:
    """The component as public functions compute it: in tiles, and by its own function where those lose digits."""
    name, listed = component.name, ", ".join(variable(s) for s in component.symbols)
    return [
        f"_SCRATCH = {SCRATCH}",
        f"def {name}_axes({listed}):",
        *(f"    {line}" for line in tile.axes),
        f"def {name}_tile({listed}, axes, scratch, fine):",
        *(f"    {line}" for line in tile.lines),
        f"    np.multiply(scratch[0], {literal(tile.factor)!r}, out=scratch[0])",
        f"def {name}({listed}, exact={name}):",
        f"    return _tiles({name}_tile, {name}_axes, exact, ({listed}), "
        f"{_matrices(component.symbols)}, None, {tile.arrays})",
    ]


NUMPY_LANGUAGE = Language("numpy", NUMPY, component_source, function_source, standalone)
