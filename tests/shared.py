"""What several tests share: theories, derived once in a worker, and tables whose entries are made when asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import symres as sr


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
