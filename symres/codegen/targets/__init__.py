"""The targets of generated modules: each package here is one, and none knows another.

A package holds its target as ``TARGET``; its name is that by which users ask for it. Packages that are installed add
theirs by an entry point of the group ``symres.targets``, which names such an object. Both are looked up when they are
asked for, so that a target whose library is missing stands in nobody's way.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from ...core.errors import DeclarationError

if TYPE_CHECKING:
    from ..planning.target import Target

REFERENCE = "numpy"  # on whose code errors decide how a component is computed, for every target
GROUP = "symres.targets"


def names() -> tuple[str, ...]:
    """The names of all targets, in order."""
    return tuple(sorted({*packages(), *(point.name for point in entry_points(group=GROUP))}))


def find(name: str) -> Target:
    """A target by its name.

    Raises:
        DeclarationError: there is none of that name.
    """
    if name in packages():
        return importlib.import_module(f"{__name__}.{name}").TARGET
    for point in entry_points(group=GROUP):
        if point.name == name:
            return point.load()
    raise DeclarationError(f"code for {name!r}", "unknown target", f"use one of {', '.join(names())}")


def packages() -> list[str]:
    """The names of those in this folder, and in folders that are added to its path, in order."""
    return [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
