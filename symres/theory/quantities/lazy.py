"""Quantities by name, none of which is derived before somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...results.quantity import Quantity


class LazyQuantities(Mapping[str, Quantity]):
    """A mapping from names to quantities, each derived when it is looked up.

    Args:
        owner: what has the quantities as attributes.
        names: of the quantities, in their order.
    """

    def __init__(self, owner: Any, names: tuple[str, ...]) -> None:
        self._owner, self._names = owner, names

    def __getitem__(self, name: str) -> Quantity:
        if name not in self._names:
            raise KeyError(name)
        return getattr(self._owner, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
