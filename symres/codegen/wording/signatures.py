"""The arguments of public functions: one order everywhere, so that all functions of a layer can be called alike."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ...core.symbols import KERNELS, place
from ...results.quantity import Quantity
from ..emission.emitter import argument


def signature(quantity: Quantity, module: Sequence[Quantity], options: Sequence[str] = ()) -> str:
    """The arguments that a value depends on, then the others.

    Those that would stand before one that is needed, or where a function of the module needs another one, have a name
    and no place.

    Args:
        quantity: of which the function gives values.
        module: all quantities of the module.
        options: further arguments, by name alone.
    """
    placed = list(_needed(quantity))
    named: list[sp.Symbol] = []
    last = max(map(place, placed), default=(-1, ""))
    for symbol in sorted(quantity.unused, key=place):
        more = (*placed, symbol)
        others = (parameters for parameters in map(_needed, module) if len(parameters) >= len(more))
        clash = any(parameters[: len(more)] != more for parameters in others)
        (named if clash or place(symbol) < last else placed).append(symbol)
    optional = [f"{argument(s)}=0.0" for s in placed if s not in quantity.symbols]
    options = [*(f"{argument(s)}=0.0" for s in named), *options]
    return ", ".join([*map(argument, quantity.symbols), *optional, *(["*", *options] if options else [])])


def _needed(quantity: Quantity) -> tuple[sp.Symbol, ...]:
    """The parameters that a value depends on."""
    return tuple(s for s in quantity.symbols if s not in KERNELS)
