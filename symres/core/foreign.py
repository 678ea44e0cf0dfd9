"""What users may pass and a room above reads: objects of other libraries, such as a module of PyTorch, and text.

The package itself says who reads them (``accept``); a reader is loaded when the first such object arrives, so that no
room imports the library, and the room that does may stand above all others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TypeAlias

Reader: TypeAlias = Callable[[object], object]

CONSTANTS = "constants as text"  # "1/sqrt(2)": the grammar of formulas is in a room above that of numbers

THEORIES = "theories"  # sr.check("gelu"): the oracles must not see the room that derives

_loaders: dict[str, Callable[[], Reader]] = {}


def accept(library: str, load: Callable[[], Reader]) -> None:
    """Say who reads the objects of a library; the last one counts.

    Args:
        library: the name under which it is imported, ``CONSTANTS`` or ``THEORIES``.
        load: imports the reader; called when an object of the library arrives.
    """
    _loaders[library] = load


def reader(what: object) -> Reader | None:
    """Who reads an object; None if nobody does.

    An object belongs to the library in which its class, or a base of it, is defined. A function, which tells nothing
    of the sort, belongs to any library that the program has imported.
    """
    packages = {cls.__module__.partition(".")[0] for cls in type(what).__mro__}
    for library, load in _loaders.items():
        if library in packages or (callable(what) and library in sys.modules):
            return load()
    return None


def reader_of(library: str) -> Reader:
    """Who reads the objects of a library that somebody has accepted."""
    return _loaders[library]()


def is_installed(library: str) -> bool:
    """Whether a library can be imported, without importing it."""
    try:
        return find_spec(library) is not None
    except ValueError:  # its import has been forbidden
        return False
