"""The names of functions in generated modules, a user's own where a mapping gives them, and their arguments.

There is one order of arguments everywhere, so that all functions of a layer can be called alike.
"""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import sympy as sp

from ...core.errors import DeclarationError
from ...core.symbols import KERNELS, place
from ...results.quantity import Quantity
from ..emission.emitter import argument


def renamed(mapping: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The quantities of a mapping under the names that it gives them.

    Raises:
        DeclarationError: a value is no quantity, or a name cannot be that of a function.
    """
    quantities = {}
    for name, quantity in mapping.items():
        asked = f"export of {name!r}"
        if not isinstance(quantity, Quantity):
            found = f"it is of the type {type(quantity).__name__}"
            raise DeclarationError(asked, found, "pass a mapping name -> Quantity")
        usable = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
        if not usable or name.startswith("_"):
            remedy = "use letters and digits, and no keyword of Python"
            raise DeclarationError(asked, "it cannot be the name of a function", remedy)
        # a quantity under its own name keeps its notation; another name is what stands on the left of its formula
        quantities[name] = quantity if name == quantity.name else replace(quantity, name=name, notation="")
    return quantities


def require_distinct(asked: str, names: Iterable[str], quantities: Collection[str] = ()) -> None:
    """Refuse a module in which a definition would hide another one, or a function of the language.

    Args:
        asked: what the module is about.
        names: what it defines and calls, see ``Target.names_in``.
        quantities: the names in the module that are those of quantities.

    Raises:
        DeclarationError: a quantity has the name of something that the module itself needs; or the target's own code
            defines a name twice, or one of the language that it calls.
    """
    for needed, count in Counter(names).items():
        if count > 1 and (needed in quantities or needed.removeprefix("_") in quantities):
            found = f"the module itself needs the name {needed}"
            raise DeclarationError(asked, found, "give the quantity another name")
        if count > 1:
            found = f"the target's own code defines {needed}, which it also needs with another meaning"
            raise DeclarationError(asked, found, f"call {needed} otherwise in the text of the target")


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
