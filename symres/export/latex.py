"""Formulas in LaTeX displays that break before the margin."""

from __future__ import annotations

import re
from typing import Any

import sympy as sp

from ..notation import Notation, latex, shortened

__all__ = ["broken", "display", "escape", "latex", "width"]

WIDTH = 62.0  # of a display line, in widths of a letter
_CLOSING = r"\Bigr]"
_SIZES = (("", 1.0), (r"\small", 0.92), (r"\footnotesize", 0.83), (r"\scriptsize", 0.73), (r"\tiny", 0.55))


def display(left: str, expr: sp.Expr, *, tail: str = ".") -> str:
    """``left = expr`` as an align* environment whose lines fit on the page.

    Args:
        left: LaTeX of the left-hand side; empty for a formula without one.
        expr: the right-hand side; what cannot be broken is set in smaller type.
        tail: punctuation at the end.
    """
    expr = shortened(expr, r"\ldots")
    for size, scale in _SIZES:
        room = WIDTH / scale - width(left) - 3
        lines, chosen = broken(expr, max(room, 30.0)), size
        if max(map(width, lines)) <= room + 3:
            break
    head = f"{left} &= " if left else "&"
    body = [head + lines[0], *(r"&\qquad " + line for line in lines[1:])]
    text = "\\begin{align*}\n" + " \\\\\n".join(body) + tail + "\n\\end{align*}"
    return f"{{{chosen}\n{text}}}" if chosen else text


def broken(expr: sp.Expr, room: float) -> list[str]:
    """The formula on as many lines as it needs."""
    lines, line = [], ""
    for chunk in _chunks(expr, room):
        if line and width(line) + width(chunk) > room and chunk != _CLOSING:  # no line begins with a closing bracket
            lines.append(line)
            line = ""
        line = f"{line} {chunk}".strip()
    return [*lines, line]


def _chunks(expr: sp.Expr, room: float) -> list[str]:
    """Unbreakable parts; each but the first of a sum begins with its sign."""
    whole = latex(expr)
    if width(whole) <= room:
        return [whole] if not isinstance(expr, sp.Add) else _terms(expr, room)
    if isinstance(expr, sp.Add):
        return _terms(expr, room)
    if isinstance(expr, sp.Mul):
        over, under = sp.fraction(expr)
        if width(latex(over)) > room and under != 1 and width(latex(1 / under)) <= room:
            return _scaled(1 / under, over, room)
        if under != 1 and width(latex(under)) > room:
            return [*_bracketed(over, room), r"\Big/", *_bracketed(under, room)]
        sums = [f for f in expr.args if isinstance(f, sp.Add)]
        if sums:
            widest = max(sums, key=lambda f: (width(latex(f)), str(f)))
            return _scaled(sp.Mul(*(f for f in expr.args if f is not widest)), widest, room)
    return [whole]


def _scaled(factor: sp.Expr, expr: sp.Expr, room: float) -> list[str]:
    """Factor [ expr ], broken inside the bracket."""
    if isinstance(expr, sp.Mul) and any(isinstance(f, sp.Add) for f in expr.args):
        widest = max((f for f in expr.args if isinstance(f, sp.Add)), key=lambda f: (width(latex(f)), str(f)))
        factor, expr = factor * sp.Mul(*(f for f in expr.args if f is not widest)), widest
    if width(latex(factor)) + 2 > room:
        return [latex(factor * expr)]
    opening, *rest = _bracketed(expr, room)
    if width(latex(factor)) + width(opening) <= room:
        return [f"{latex(factor)} {opening}", *rest]
    return [rf"{latex(factor)} \Bigl[", opening.removeprefix(r"\Bigl[ "), *rest]


def _bracketed(expr: sp.Expr, room: float) -> list[str]:
    first, *rest = _chunks(expr, room)
    return [rf"\Bigl[ {first}", *rest, _CLOSING]


def _terms(expr: sp.Add, room: float) -> list[str]:
    out: list[str] = []
    for term in Notation()._as_ordered_terms(expr, None):
        negative = latex(term).lstrip().startswith("-")
        inner = _chunks(-term if negative else term, room)
        sign = "-" if negative else ("+" if out else "")
        out += [f"{sign} {inner[0]}".strip(), *inner[1:]]
    return out


# ---- how wide a formula will be ----------------------------------------------------------------------------------
_SILENT = {"left", "right", "Bigl", "Bigr", "bigl", "bigr", "mathrm", "operatorname", "displaystyle", "!", "tfrac"}
_WORDS = {"arcsin": 5.5, "sqrt": 1.5, "log": 3.0, "sin": 3.0, "cos": 3.2, "sinh": 4.0, "cosh": 4.2, "tanh": 4.4}
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}^_]|\S|\s")


def width(text: str) -> float:
    """An estimate of the printed width of LaTeX mathematics, in widths of a letter."""
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
        return _WORDS.get(word, 1.1 if word.isalpha() else 0.3), i + 1
    if token.isspace():
        return 0.0, i + 1
    return {"+": 2.2, "-": 2.2, "=": 2.4, "(": 0.8, ")": 0.8, ",": 0.8, "[": 0.8, "]": 0.8}.get(token, 1.05), i + 1


_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def escape(text: Any) -> str:
    """Plain text for LaTeX."""
    return "".join(_ESCAPES.get(character, character) for character in str(text))
