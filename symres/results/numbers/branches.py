"""Solutions of an equation on all of its branches."""

from __future__ import annotations

from ...core.errors import DeclarationError


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
