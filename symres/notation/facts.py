"""Equations as facts of objects that show themselves: short enough to be read, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

import sympy as sp

from ..core.display import Fact
from .latex import latex

Equations: TypeAlias = tuple[tuple[sp.Symbol, sp.Expr], ...]  # left and right sides, what the last one needs first

_NODES = 250  # of an expression tree; what has more fills a screen


def is_short(expr: sp.Expr) -> bool:
    """Whether a formula can be read at a glance."""
    return sum(1 for _ in islice(sp.preorder_traversal(expr), _NODES + 1)) <= _NODES


def equation(name: str, left: str, side: sp.Expr, label: str = "") -> Fact:
    """The fact ``name = side``.

    Args:
        name: the left-hand side in text.
        left: the left-hand side in LaTeX.
        side: the right-hand side.
        label: of the fact.
    """
    if not is_short(side):
        return Fact(label, f"{name} is a formula too long to be shown")
    return Fact(label, f"{name} = {side}", f"{left} = {latex(side)}")


def in_line(equations: Equations, write: Callable[[sp.Expr], str] = str) -> str:
    """The last right side, then the equations for names in it: ``Dense(phi(y1)*y1), y1 = Dense(z)``."""
    *names, (_, last) = equations
    return ", ".join([write(last), *(f"{write(left)} = {write(right)}" for left, right in names)])
