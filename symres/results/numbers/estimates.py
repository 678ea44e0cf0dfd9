"""Numbers that come with their errors."""

from __future__ import annotations

from collections.abc import Iterable


class Estimates(list[float]):
    """A list of numbers.

    Args:
        values: the numbers.
        errors: how far each may be from the truth, absolute.

    Attributes:
        errors: the same.
    """

    def __init__(self, values: Iterable[float], errors: Iterable[float]) -> None:
        super().__init__(values)
        self.errors = list(errors)
