"""Tiles of pair averages without a closed form: of smooth functions, as series in the correlation."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import sympy as sp

from ....core.symbols import C, z
from ...arrays.component_text import defined
from ...averages.average_code import averages
from ...averages.integrands import PiecewiseIntegrand
from ...averages.tail_growth import largest_exponent
from ...emission.emitter import Emitter, Tile, variable
from ...planning.plan import Component
from ...stable.rewrites import stabilise
from .dialect import NUMPY

_ARRAYS, _COST = 4, 100  # scratch arrays of a tile, and its cost beside operations that cost 1


@lru_cache(maxsize=256)
def series_tile(component: Component) -> tuple[Tile, tuple[str, ...]] | None:
    """The tile of a pair average, and the functions that it calls; None if the functions have kinks or the average is
    a sum."""
    found = averages(component.formula) if component.code is None and component.is_pair else []
    if len(found) != 1:
        return None
    (node,) = found
    outer = component.formula.coeff(node)
    if component.formula != outer * node or len(node.terms) != 1 or not outer.is_number:
        return None
    ((coefficient, (f, g)),) = node.terms
    if not coefficient.is_number or any(len(h.parts) > 1 or h.breaks for h in (f, g)):
        return None
    names = {h: f"{component.name}_smooth_{place}" for place, h in enumerate(dict.fromkeys((f, g)), 1)}
    own = [variable(p) for p in component.parameters]
    rest = "".join(f", {name}" for name in own)
    if f == g:
        axes = f"_hermite_both({names[f]}, K1, K2{rest})"
    else:
        axes = f"_hermite({names[f]}, K1{rest}), _hermite({names[g]}, K2{rest})"
    tile = Tile(
        (f"return {axes}",),
        ("one, two = axes", f"_hermite_tile(K1, K2, {variable(C)}, one, two, scratch, fine)"),
        2,
        _ARRAYS,
        _COST,
        outer * coefficient,
    )
    return tile, tuple(_text(name, h, component) for h, name in names.items())


def _text(name: str, integrand: PiecewiseIntegrand, component: Component) -> str:
    """The function that is averaged."""
    stable = stabilise(integrand.parts[0])
    capped = f"np.exp(np.minimum({{0}}, {largest_exponent(stable)}.0))"
    inside = replace(NUMPY, functions={**NUMPY.functions, sp.exp: capped})
    names = {z: "z", **{p: variable(p) for p in component.parameters}}
    body = Emitter(inside, names).function([("return", stable)])
    return defined(f"{name}({', '.join(names.values())})", body)
