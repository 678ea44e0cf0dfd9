"""Quantities by name, none of which is derived before somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...results.quantity import Quantity


class LazyQuantities(Mapping[str, Quantity]):
    """A mapping from names to quantities, each derived when it is looked up.

    Args:
        derive: makes a quantity from its name.
        names: of the quantities, in their order.
    """

    def __init__(self, derive: Callable[[str], Quantity], names: tuple[str, ...]) -> None:
        self._derive, self._names = derive, names

    def __getitem__(self, name: str) -> Quantity:
        if name not in self._names:
            raise KeyError(name)
        return self._derive(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
