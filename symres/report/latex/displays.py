"""Formulas in LaTeX displays that break before the margin."""

from __future__ import annotations

import re

import sympy as sp

from ...core.atoms import AverageNode
from ...functions.records.special_function import SpecialFunction
from ...notation import Notation, latex, width
from ...notation import escape as escape
from ...notation.term_order import arranged, ordered_terms

__all__ = ["Breaker", "broken", "display", "escape", "latex", "typed", "width"]

WIDTH = 62.0  # of a display line, in widths of a letter
_LEAST = 30.0
_WIDE = 20.0  # of a left side beside which a long right one looks squeezed
_SIZES = (("", 1.0), (r"\small", 0.92), (r"\footnotesize", 0.83), (r"\scriptsize", 0.73), (r"\tiny", 0.55))


def display(left: str, *sides: sp.Expr, tail: str = ".", notation: Notation | None = None, relation: str = "=") -> str:
    """``left = side = side`` as an align* environment whose lines fit on the page.

    Args:
        left: LaTeX of the left-hand side; empty for a formula without one.
        sides: what it equals, each on lines of its own; what cannot be broken is set in smaller type.
        tail: punctuation at the end.
        notation: how formulas are written.
        relation: what stands between left and right.
    """
    # beside a wide left side the column for what follows would be narrow: it gets a line of its own
    alone = width(left) > _WIDE and any(len(broken(side, WIDTH - width(left), notation)) > 1 for side in sides)
    for size, scale in _SIZES:
        room = WIDTH / scale - (0 if alone else width(left)) - 3
        groups = [broken(side, max(room, _LEAST), notation) for side in sides]
        chosen = size
        if max(width(line) for lines in groups for line in lines) <= room + 3:
            break
    rows = [f"& {left}"] if alone else []
    for position, lines in enumerate(groups):
        head = f"{left if position == 0 and not alone else ''} &{relation} ".lstrip() if left else "&"
        rows += [head + lines[0], *(r"&\qquad " + line for line in lines[1:])]
    text = "\\begin{align*}\n" + " \\\\\n".join(rows) + tail + "\n\\end{align*}"
    return f"{{{chosen}\n{text}}}" if chosen else text


def broken(expr: sp.Expr, room: float, notation: Notation | None = None) -> list[str]:
    """The formula on as many lines as it needs."""
    lines, line = [], ""
    notation = notation or Notation()
    for chunk in Breaker(notation, room).chunks(notation.readable(expr)):
        closes = chunk.startswith(r"\Bigr")  # no line begins with a closing bracket
        if line and width(line) + width(chunk) > room and not closes:
            lines.append(line)
            line = ""
        line = f"{line} {chunk}".strip()
    return [*lines, line]


class Breaker:
    """Takes a formula apart where a line may end.

    Args:
        notation: how formulas are written.
        room: what is wider than this is taken apart.
    """

    def __init__(self, notation: Notation, room: float) -> None:
        self.notation = notation
        self.room = room

    def chunks(self, expr: sp.Expr) -> list[str]:
        """Unbreakable parts; each but the first of a sum begins with its sign."""
        if isinstance(expr, sp.Add):
            return self._terms(expr)
        whole = self._write(expr)
        if width(whole) <= self.room:
            return [whole]
        if isinstance(expr, AverageNode):
            law = ", ".join(map(self._write, expr.covariance))
            return self._enclosed(r"\Bigl\langle", expr.printed_integrand, rf"\Bigr\rangle_{{{law}}}")
        if isinstance(expr, sp.Pow) and width(self._write(expr.exp)) > self.room:  # an exponent does not break
            return self._enclosed(r"\exp\Bigl[", expr.exp * sp.log(expr.base), r"\Bigr]")
        if isinstance(expr, sp.Mul) or (isinstance(expr, sp.Pow) and expr.exp.could_extract_minus_sign()):
            return self._product(expr, whole)
        if isinstance(expr, sp.Pow):
            return self._enclosed(r"\Bigl(", expr.base, rf"\Bigr)^{{{self._write(expr.exp)}}}")
        if isinstance(expr, sp.Piecewise):
            return [self._cases(expr)]
        if isinstance(expr, sp.Function) and len(expr.args) == 1:
            name = r"\exp" if isinstance(expr, sp.exp) else self._write(expr.func(sp.Symbol("b"))).partition("(")[0]
            return self._enclosed(name + r"\Bigl(", expr.args[0], r"\Bigr)")
        if isinstance(expr, SpecialFunction):
            return self._arguments(expr)
        return [whole]

    def _write(self, expr: sp.Expr) -> str:
        return self.notation.write(expr)

    def _terms(self, expr: sp.Add) -> list[str]:
        out: list[str] = []
        for term in ordered_terms(expr.args, self._write):
            negative = self._write(term).startswith("-")
            part = -term if negative else term
            inner = self._bracketed(part) if isinstance(part, sp.Add) else self.chunks(part)
            sign = "-" if negative else "+" if out else ""
            out += [f"{sign} {inner[0]}".strip(), *inner[1:]]
        return out

    def _product(self, expr: sp.Expr, whole: str) -> list[str]:
        """The widest factor is taken apart, behind the others; a wide denominator stands behind a slash."""
        over, under = sp.fraction(expr)
        if under != 1 and width(self._write(under)) > self.room:
            above = self._bracketed(over) if isinstance(over, sp.Add) else self.chunks(over)
            return [*above, r"\Big/", *self._bracketed(under)]
        product = arranged(expr, self._write)
        if not product.over:
            return [whole]
        widest = max(product.over, key=lambda f: (width(self._write(f)), self._write(f)))
        others = [f for f in product.over if f is not widest]
        sign = -1 if product.negative else 1
        front = sp.Mul(sign * product.number, *others, *(1 / f for f in product.under))
        if front == 1 and not isinstance(widest, sp.Add):
            return self.chunks(widest) if widest != expr else [whole]
        inner = self._bracketed(widest) if isinstance(widest, sp.Add) else self.chunks(widest)
        before = self._write(front)
        if isinstance(front, sp.Add):
            before = rf"\left({before} \right)"
        if before in ("1", "-1"):
            return [before[:-1] + inner[0], *inner[1:]]
        if width(before) + 2 > self.room:
            first = self._bracketed(front) if isinstance(front, sp.Add) else self.chunks(front)
            return [*first, rf"\times {inner[0]}", *inner[1:]]
        if width(before) + width(inner[0]) <= self.room:
            return [f"{before} {inner[0]}", *inner[1:]]
        return [before, rf"\times {inner[0]}", *inner[1:]]

    def _bracketed(self, expr: sp.Expr) -> list[str]:
        return self._enclosed(r"\Bigl[", expr, r"\Bigr]")

    def _cases(self, expr: sp.Piecewise) -> str:
        """Branches under each other; a long one on several lines."""
        rows = []
        for value, condition in expr.args:
            lines = broken(value, 0.7 * self.room, self.notation)
            text = lines[0]
            if lines[1:]:
                text = r"\begin{aligned}[t]&" + r" \\ &\quad ".join(lines) + r"\end{aligned}"
            otherwise = r"\text{otherwise}" if condition == sp.true else rf"\text{{for}}\: {self._write(condition)}"
            rows.append(f"{text} & {otherwise}")
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def _arguments(self, expr: sp.Function) -> list[str]:
        """A function of several variables, apart between them."""
        name = self._write(expr.func(*sp.symbols(f"b:{len(expr.args)}"))).partition(r"\!")[0].partition("(")[0]
        out: list[str] = []
        for k, argument in enumerate(expr.args):
            first, *rest = self.chunks(argument)
            out += [rf"{name} \Bigl( {first}" if k == 0 else first, *rest]
            out[-1] += "," if k < len(expr.args) - 1 else r" \Bigr)"
        return out

    def _enclosed(self, opening: str, expr: sp.Expr, closing: str) -> list[str]:
        first, *rest = self.chunks(expr)
        return [f"{opening} {first}", *rest, closing]


def typed(formula: str) -> str:
    """A formula as somebody typed it; a line may end behind its commas and around its operators."""
    parts = re.split(r"(?<=[,+*/^<>(-])", formula)
    return r"\texttt{" + r"\allowbreak{}".join(map(escape, parts)) + "}"
