"""The NumPy code of components and of public functions: in blocks, and in tiles where there is a tile function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import sympy as sp

from ....core.symbols import K1, K2, C, E, Theta
from ....functions.records.gaussian_signs import S4, T4
from ...arrays.array_functions import array_functions
from ...arrays.component_text import arguments, around, body, closed, fitted, guarded, printed, sum_tables
from ...arrays.smooth_functions import SmoothPair, smooth_pairs
from ...averages import average_code
from ...averages.integrands import PiecewiseIntegrand
from ...emission.emitter import OUT, Dialect, Emitter, Source, Tile, argument, defined, literal, variable
from ...fits.chebyshev import Fit
from ...planning.plan import KERNELS, Component, Function
from ...planning.straight_line import limits, origin, steps_of_function
from ...stable.angles import AngleForm
from ...stable.primitives import AngularSum, AtLeast, AtMost, Distance, TwoSigns, TwoTails
from ...stable.rewrites import stabilise
from ...stable.rounding_error import doubt
from .fast_paths import POSSIBLE, fast_paths, with_determinant
from .tiles import FastPath, Tiler

NUMPY = Dialect(
    name="NumPy",
    functions={
        **array_functions("numpy", "np", "special"),
        AngularSum: "_angular_sum({0}, lambda: {1}, {2}, {3}, {4})",
        AtLeast: "np.maximum({0}, {1})",
        AtMost: "np.minimum({0}, {1})",
        Distance: "np.maximum(({0} - {2}) + ({1} - {2}), 0.0)",
    },
    sqrt="np.sqrt({0})",
    root="np.sqrt({0})",
    radical="np.power({0}, {1})",
    power="np.power({0}, {1})",
    infinity="np.inf",
    library="np",
    nan="np.nan",
)

MATRICES = (C, Theta)  # the arguments that differ from entry to entry


@lru_cache(maxsize=512)
def component_source(component: Component) -> Source:
    """The function of a component, its tile function, and the tables that it reads."""
    source = _unlimited_source(component)
    lines = tuple(around(limits(component), source.lines, NUMPY))
    return replace(source, lines=lines, tile=component_tile(component))


def component_tile(component: Component) -> Tile | None:
    """The tile function of two inputs: the least costly one of a closed form, a series of an average; or None."""
    code, series = component.code, series_tile(component)
    if series is not None:
        return series if math.isinf(component.guards.largest) else None
    if not component.is_plain or not isinstance(code, sp.Expr):
        return None
    has_parts = code.has(TwoSigns, TwoTails, S4, T4)  # of their own
    return None if has_parts else _cheapest(component.form, code, component.symbols)


@lru_cache(maxsize=256)
def _cheapest(form: AngleForm | None, code: sp.Expr, symbols: tuple[sp.Symbol, ...]) -> Tile:
    names = {s: variable(s) for s in symbols}
    tiles = [Tiler(NUMPY, names, (K1, K2), MATRICES).tile(path, leave=True) for path in fast_paths(form, code)]
    return min(tiles, key=lambda tile: (tile.cost, tile.arrays))


def function_tile(function: Function) -> Tile | None:
    """The tile function behind a public one; None if one of its components has none, or there are not two inputs."""
    tiles = {c.name: component_tile(c) for c in function.components}
    known = {name: tile for name, tile in tiles.items() if tile is not None}
    pairs = {c.name for c in function.components if c.is_pair}
    if not function.takes_matrices or E in function.arguments or pairs - set(known):
        return None
    symbols = {name: symbol for symbol, name in function.names}
    *steps, (_, value) = function.lines
    is_bounded = any(known[name].bounded for name in pairs)
    path = FastPath(value, {symbols[name]: e for name, e in steps}, () if is_bounded else (POSSIBLE,))
    path = with_determinant(path)
    return Tiler(NUMPY, {s: variable(s) for s in function.arguments}, (K1, K2), MATRICES, known).tile(path)


def _unlimited_source(component: Component) -> Source:
    pairs = smooth_pairs(component)
    if pairs:
        return _series_source(component, pairs)
    if component.code is None:
        return average_code.source(component.name, component.symbols, component.formula, NUMPY)
    if isinstance(component.code, Fit):
        return fitted(component, component.code, NUMPY, "np.array({})".format)
    if component.fallback_integral is None:
        return Source(tuple(body(component, component.code, NUMPY)), sum_tables(component.code))
    listed = arguments(component)
    other = average_code.source(f"{component.name}_open", component.symbols, component.fallback_integral, NUMPY)
    functions = {
        "closed": closed(component, component.code, NUMPY),
        "doubt": closed(component, doubt(component.code), NUMPY),
        "open": other.lines,
    }
    preamble = [defined(f"{component.name}_{tag}({listed})", lines) for tag, lines in functions.items()]
    called = ", ".join(f"{component.name}_{tag}" for tag in functions)
    lines = around(origin(component), [f"return _mended({called}, {listed})"], NUMPY)
    return Source(tuple(lines), other.tables, (*other.preamble, *preamble))


def function_lines(function: Function) -> tuple[str, ...]:
    """The body of the blockwise function behind a public one."""
    return guarded(function, printed(dict(function.names), steps_of_function(function), NUMPY), NUMPY)


def public_body(function: Function, tile: Tile | None) -> list[str]:
    """The body of a public function: tiles where there is a tile function, else blocks of one line of entries."""
    first = []
    if function.both_kernels is not None:
        first = [f"C = _covariances({', '.join(map(argument, function.both_kernels))}, C)"]
    name = f"_{function.quantity.name}"
    valid = "_directed" if function.quantity.directed else "_valid"
    listed = [f"{valid}({argument(s)})" if s in KERNELS else argument(s) for s in function.arguments]
    given = f"({', '.join(listed)}{',' * (len(listed) == 1)})"
    if tile is not None:
        places = _matrices(function.arguments)
        return [*first, f"return _tiles({name}_tile, {name}_axes, {name}, {given}, {places}, {OUT}, {tile.arrays})"]
    whole = any(c.is_pair and (c.code is None or c.fallback_integral is not None) for c in function.components)
    return [*first, f"return _blocks({name}, {given}, {OUT}, {'_WHOLE' if whole else '_CACHED'})"]


def _matrices(symbols: Sequence[sp.Symbol]) -> tuple[int, ...]:
    """The places of those arguments that differ from entry to entry of a matrix."""
    return tuple(i for i, s in enumerate(symbols) if s in MATRICES)


def measured_tile(component: Component, tile: Tile) -> list[tuple[str, list[str]]]:
    """Heads and bodies of the tile function with its factor, and of the component in tiles, which hides its own."""
    name, listed = component.name, arguments(component)
    scaled = f"np.multiply(scratch[0], {literal(tile.factor)!r}, out=scratch[0])"
    places = _matrices(component.symbols)
    tiles = f"_tiles({name}_scaled, {name}_axes, exact, ({listed}), {places}, None, {tile.arrays})"
    return [
        (f"{name}_scaled({listed}, axes, scratch, fine)", [f"{name}_tile({listed}, axes, scratch, fine)", scaled]),
        (f"{name}({listed}, exact={name})", [f"return {tiles}"]),
    ]


_ARRAYS, _COST = 4, 100  # arrays of a tile, those that a series makes itself too; its cost beside operations of cost 1


@lru_cache(maxsize=256)
def series_tile(component: Component) -> Tile | None:
    """The tile of a pair average; None if the functions have kinks or the average is a sum."""
    pairs = smooth_pairs(component)
    if len(pairs) != 1 or not pairs[0].factor.is_number:
        return None
    names = _smooth_functions(component, pairs)
    first, second = (names[f] for f in (pairs[0].first, pairs[0].second))
    return Tile(
        (f"return _hermite_pairs([({first}, {second})], {arguments(component)})[0]",),
        ("one, two = axes", f"scratch[0][...] = _hermite_sum(K1, K2, {variable(C)}, one, two, fine)"),
        2,
        _ARRAYS,
        _COST,
        pairs[0].factor,
    )


def _smooth_functions(component: Component, pairs: Sequence[SmoothPair]) -> dict[PiecewiseIntegrand, str]:
    """The names of functions in pair averages."""
    functions = dict.fromkeys(f for pair in pairs for f in (pair.first, pair.second))
    return {f: f"{component.name}_smooth_{number}" for number, f in enumerate(functions, 1)}


def _series_source(component: Component, pairs: Sequence[SmoothPair]) -> Source:
    """A sum of pair averages of smooth functions, entry by entry."""
    names, listed = _smooth_functions(component, pairs), arguments(component)
    calls = {sp.Dummy(f"s{n}"): pair for n, pair in enumerate(pairs, 1)}
    closer = average_code.closer_text(component.name, list(names), component.symbols, NUMPY)
    listed += f", closer={component.name}_closer" if closer else ""
    lines = [f"{s.name} = _smooth_average({names[p.first]}, {names[p.second]}, {listed})" for s, p in calls.items()]
    total = sp.Add(*(pair.factor * s for s, pair in calls.items()))
    known = {p: variable(p) for p in component.parameters} | {s: s.name for s in calls}
    texts = (
        average_code.function_text(name, stabilise(f.parts[0]), component.parameters, NUMPY)
        for f, name in names.items()
    )
    preamble = [*texts, closer] if closer else [*texts]
    return Source((*lines, *Emitter(NUMPY, known).function([("return", total)])), (), tuple(preamble))
