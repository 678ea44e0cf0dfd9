"""What positions a network has, as its user says it: ``sr.derive(layer, positions=sr.Tokens(16))``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ..core import symbols
from ..core.errors import DeclarationError
from ..core.scalars import scalar
from .layouts import Axis, Exchangeable

USUAL_TOKENS = 16  # where somebody asks for numbers and names none


@dataclass(frozen=True)
class Tokens(Exchangeable):
    """Tokens of which any two are alike: a sequence without order.

    Args:
        size: their number, whole and positive; a parameter, T unless given; or oo.

    Raises:
        DeclarationError: it is not such a number.

    Examples:
        >>> theory = sr.layer("Attention(z, 1, 0, 0, 1)").derive(positions=sr.Tokens(2))
        >>> theory.kernel_map.expr  # the average of two tokens
        C/2 + K/2
    """

    size: Any = symbols.T

    def __post_init__(self) -> None:
        size = sp.oo if self.size in (sp.oo, "oo") else scalar(self.size, "the number of tokens")
        if size.is_number and size is not sp.oo and not (size.is_Integer and size >= 1):
            remedy = "pass a whole number above 0, or sr.Tokens() for a parameter T"
            raise DeclarationError(f"{size} tokens", "that is not a number of tokens", remedy)
        object.__setattr__(self, "size", size)

    def __str__(self) -> str:
        return f"Tokens({self.size})"


def positions_of(text: str) -> Axis:
    """Positions as text, such as ``Tokens(16)`` or ``Tokens(oo)``.

    Raises:
        DeclarationError: it cannot be read.
    """
    if match := _CALL.fullmatch(text):
        kind, arguments = match.groups()
        if kind in _KINDS:
            return _KINDS[kind](*(part.strip() for part in arguments.split(",") if part.strip()))
    raise DeclarationError(
        f"the positions {text}", "they cannot be read", f"write {', '.join(_KINDS)} and a number: Tokens(16)"
    )


_CALL = re.compile(r"\s*(\w+)\((.*)\)\s*")
_KINDS = {"Tokens": Tokens}
