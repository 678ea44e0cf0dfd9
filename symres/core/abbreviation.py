"""Long expressions in messages."""

from __future__ import annotations


def abbreviated(value: object, length: int) -> str:
    """The text of an object, cut to a number of characters with dots at the end."""
    text = str(value)
    return text if len(text) <= length else f"{text[: length - 3]}..."
