"""What several tests share: theories, derived once in a worker, and tables that are filled when asked."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import symres as sr
from symres.codegen.arrays.array_target import ArrayTarget


@cache
def derived(layer: sr.Layer | sr.Activation | str) -> sr.Theory:
    """The theory of a layer. It is frozen: what a test changes, it changes in a copy."""
    return sr.derive(layer)


class Lazily(dict[Any, Any]):
    """A dictionary whose values are made from their keys when they are first asked for.

    Args:
        make: the value of a key.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        self[key] = self._make(key)
        return self[key]


def altered(target: ArrayTarget, **changes: Any) -> ArrayTarget:
    """A target with other attributes; ``definitions`` are other texts of its run-time functions, by their names."""
    found = copy.copy(target)
    for name in [name for name in vars(found) if callable(getattr(type(found), name, None))]:
        del vars(found)[name]  # a method that a test has replaced for a while, and put back bound to the target
    for name, text in changes.pop("definitions", {}).items():
        found.runtime = type(found.runtime)({**found.runtime.texts, name: text})
    vars(found).update(changes)
    return found


def runtime(target: ArrayTarget, *code: str) -> dict[str, Any]:
    """What a module of some code contains: its imports, the functions that it calls, the code itself."""
    imports = [line for group in target.imports for line in group.values()]
    space: dict[str, Any] = {}
    exec("\n".join([*imports, *target.runtime.definitions(*code)]), space)
    return space
