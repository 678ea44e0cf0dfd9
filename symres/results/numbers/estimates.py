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


class EstimatedNumber(float):
    """A number.

    Args:
        value: the number.
        error: how far it may be from the truth, absolute.

    Attributes:
        error: the same.
    """

    error: float

    def __new__(cls, value: float, error: float) -> EstimatedNumber:
        """The number with its error."""
        made = super().__new__(cls, value)
        made.error = error
        return made
