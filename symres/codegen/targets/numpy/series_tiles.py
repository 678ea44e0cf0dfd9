"""Tiles of pair averages without a closed form: of smooth functions, as series in the correlation."""

from __future__ import annotations

from functools import lru_cache

from ....core.symbols import C
from ...arrays.smooth_functions import function_text, smooth_pairs
from ...emission.emitter import Tile, variable
from ...planning.plan import Component
from .dialect import NUMPY

_ARRAYS, _COST = 4, 100  # scratch arrays of a tile, and its cost beside operations that cost 1


@lru_cache(maxsize=256)
def series_tile(component: Component) -> tuple[Tile, tuple[str, ...]] | None:
    """The tile of a pair average, and the functions that it calls; None if the functions have kinks or the average is
    a sum."""
    pairs = smooth_pairs(component)
    if len(pairs) != 1 or not pairs[0].factor.is_number:
        return None
    (pair,) = pairs
    f, g = pair.first, pair.second
    names = {h: f"{component.name}_smooth_{place}" for place, h in enumerate(dict.fromkeys((f, g)), 1)}
    rest = "".join(f", {variable(p)}" for p in component.parameters)
    tile = Tile(
        (f"return _hermite_pair({names[f]}, {names[g]}, np.asarray(K1), np.asarray(K2){rest})",),
        ("one, two = axes", f"_hermite_tile(K1, K2, {variable(C)}, one, two, scratch, fine)"),
        2,
        _ARRAYS,
        _COST,
        pair.factor,
    )
    return tile, tuple(function_text(name, h.parts[0], component.parameters, NUMPY) for h, name in names.items())
