"""What rooms below ask of rooms above: readers of what users may pass (objects of other libraries, text), and views.

The package itself says where each lies (``accept``). It is loaded when it is first asked for, so that no room imports
a library that is missing, and whoever answers may stand above all others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, TypeAlias

Reader: TypeAlias = Callable[[object], object]

CONSTANTS = "constants as text"  # "1/sqrt(2)": the grammar of formulas is in a room above that of numbers
THEORIES = "theories"  # sr.check("gelu"): the oracles must not see the room that derives
LITERATURE = "literature"  # equations that pages cite, with verdicts: they are judged in a room above
VIEWS = "views"  # theory.page(): a theory cannot see the room that draws it

_places: dict[str, str] = {}


def accept(what: str, place: str) -> None:
    """Say where the reader of something lies; the last one counts.

    ``what`` is the name under which a library is imported, ``CONSTANTS``, ``THEORIES``, ``LITERATURE`` or ``VIEWS``. A
    place is ``package.module:function``; ``package.module:`` stands for the module itself.
    """
    _places[what] = place


def reader(what: object) -> Reader | None:
    """Who reads an object; None if nobody does.

    An object belongs to the library in which its class, or a base of it, is defined. A function, which tells nothing
    of the sort, belongs to any library that the program has imported.
    """
    packages = {cls.__module__.partition(".")[0] for cls in type(what).__mro__}
    for library in _places:
        if library in packages or (callable(what) and library in sys.modules):
            return reader_of(library)
    return None


def reader_of(what: str) -> Any:
    """What has been accepted under a name, loaded now."""
    return resolve_name(_places[what])


def views() -> ModuleType:
    """The functions that draw, or find out, things for objects of rooms below."""
    return reader_of(VIEWS)


def is_installed(library: str) -> bool:
    """Whether a library can be imported, without importing it."""
    try:
        return find_spec(library) is not None
    except ValueError:  # its import has been forbidden
        return False
