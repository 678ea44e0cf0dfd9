"""Numbers that come with their errors, or on several branches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from ...core.errors import DeclarationError


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


class AnnotatedNumber(float):
    """A number with what else is known of it: the annotated attributes of a subclass, in their order behind the value.

    Args:
        value: the number.
        facts: the attributes.
    """

    def __new__(cls, value: float, *facts: Any) -> Self:
        """The number with its attributes."""
        made = super().__new__(cls, value)
        for name, fact in zip(cls.__annotations__, facts, strict=True):
            setattr(made, name, fact)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:  # copies are made again
        return float(self), *(getattr(self, name) for name in type(self).__annotations__)


class EstimatedNumber(AnnotatedNumber):
    """A number with its error.

    Attributes:
        error: how far it may be from the truth, absolute.
    """

    error: float


class Branches(tuple[float, ...]):
    """Numbers in increasing order; a single one is a number as well."""

    __slots__ = ()

    def __float__(self) -> float:
        """The only solution.

        Raises:
            DeclarationError: there are several.
        """
        if len(self) != 1:
            raise DeclarationError("one of several solutions", f"there are {len(self)}: {list(self)}", "choose one")
        return self[0]
