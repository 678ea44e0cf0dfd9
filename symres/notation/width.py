"""How wide LaTeX will be when it is set."""

from __future__ import annotations

import re

from ..functions.function_record import RECORDS

_SILENT = {"left", "right", "Bigl", "Bigr", "bigl", "bigr", "mathrm", "operatorname", "displaystyle", "!", "tfrac"}
# names of functions are set letter by letter; other words, such as Greek letters, are one sign
_FUNCTIONS = {word for record in RECORDS.values() for name in record.names for word in (name, f"arc{name[1:]}")}
_ROOT = 1.5  # of a letter, in front of what stands below a root
_BLOCK = re.compile(r"\\begin\{(\w+)\}((?:(?!\\begin).)*?)\\end\{\1\}", re.DOTALL)
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}^_]|\S|\s")


def width(text: str) -> float:
    """An estimate of the printed width of LaTeX mathematics, in widths of a letter."""
    while (block := _BLOCK.search(text)) is not None:  # rows under each other: the widest counts
        widest = max(width(row) for row in block[2].split(r"\\"))
        text = text[: block.start()] + "x" * round(widest + 3) + text[block.end() :]
    tokens = _TOKEN.findall(text)
    total, _ = _measure(tokens, 0, len(tokens))
    return total


def _measure(tokens: list[str], start: int, stop: int) -> tuple[float, int]:
    """Width of tokens up to the brace that closes the group."""
    total, i = 0.0, start
    while i < stop and tokens[i] != "}":
        value, i = _one(tokens, i, stop)
        total += value
    return total, i


def _one(tokens: list[str], i: int, stop: int) -> tuple[float, int]:
    """Width of one token with its arguments."""
    token = tokens[i]
    if token == "{":
        value, end = _measure(tokens, i + 1, stop)
        return value, end + 1
    if token in ("\\frac", "\\dfrac"):
        over, i = _one(tokens, i + 1, stop)
        under, i = _one(tokens, i, stop)
        return max(over, under) + 0.8, i
    if token in "^_":
        if i + 1 >= stop:
            return 0.0, i + 1
        value, i = _one(tokens, i + 1, stop)
        return 0.75 * value, i
    if token.startswith("\\"):
        word = token[1:]
        if word in _SILENT:
            return 0.0, i + 1
        if word in _FUNCTIONS:
            return float(len(word)), i + 1
        return _ROOT if word == "sqrt" else 1.1 if word.isalpha() else 0.3, i + 1
    if token.isspace():
        return 0.0, i + 1
    return {"+": 2.2, "-": 2.2, "=": 2.4, "(": 0.8, ")": 0.8, ",": 0.8, "[": 0.8, "]": 0.8}.get(token, 1.05), i + 1
