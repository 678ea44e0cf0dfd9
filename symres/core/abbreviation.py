"""Expressions as texts: in messages, and where they are sorted."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import sympy as sp


def abbreviated(value: object, length: int) -> str:
    """The text of an object, cut to a number of characters with dots at the end."""
    text = str(value)
    return text if len(text) <= length else f"{text[: length - 3]}..."


def with_digest(start: str, whole: str, joint: str = "_") -> str:
    """The start of a text with eight digits made from the whole of it: different texts stay different."""
    return f"{start.rstrip('_')}{joint}{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def counted(number: int, noun: str) -> str:
    """A number of things: ``1 layer``, ``2 layers``."""
    return f"{number} {noun}{'s' * (number != 1)}"


@lru_cache(maxsize=2**14)
def text_of(expression: sp.Basic) -> str:
    """``str(expression)``: the same expressions are sorted by their texts again and again, and printing is slow."""
    return str(expression)
