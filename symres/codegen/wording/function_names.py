"""The names of functions in generated modules: a user's own, where a mapping gives them."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...core.errors import DeclarationError
from ...results.quantity import Quantity


def renamed(mapping: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The quantities of a mapping under the names that it gives them.

    Raises:
        DeclarationError: a value is no quantity, or a name cannot be that of a function.
    """
    return {name: _named(name, quantity) for name, quantity in mapping.items()}


def require_distinct(name: str, names: Iterable[str]) -> None:
    """Refuse a module in which a definition would hide another one, or a function of the language.

    Args:
        name: what the module is about.
        names: what it defines and calls, see ``Target.names_in``.

    Raises:
        DeclarationError: a quantity has the name of something that the module itself needs.
    """
    for needed, count in Counter(names).items():
        if count > 1:
            found = f"the module itself needs the name {needed}"
            raise DeclarationError(f"code for {name}", found, "give the quantity another name")


def _named(name: str, quantity: Quantity) -> Quantity:
    asked = f"export of {name!r}"
    if not isinstance(quantity, Quantity):
        raise DeclarationError(asked, f"it is of the type {type(quantity).__name__}", "pass a mapping name -> Quantity")
    usable = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
    if not usable or name.startswith("_"):
        raise DeclarationError(
            asked, "it cannot be the name of a function", "use letters and digits, and no keyword of Python"
        )
    # a quantity under its own name keeps its notation; another name is what stands on the left of its formula
    return quantity if name == quantity.name else replace(quantity, name=name, notation="")
