"""Equations as facts of objects that show themselves: short enough to be read, or not at all.

Determinants get a name: ``1/sqrt(Delta) with Delta = (1 + K1)*(1 + K2) - C**2``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

import sympy as sp

from ..core.display import Fact
from ..core.symbols import K1, K2, C
from ..functions.roots.root import ImplicitNumber
from .latex import latex

Equations: TypeAlias = tuple[tuple[sp.Symbol, sp.Expr], ...]  # left and right sides, what the last one needs first

_NODES = 250  # of an expression tree; what has more fills a screen
_PLAIN = K1 * K2 - C**2  # a determinant that is as short as its name


def is_short(expr: sp.Expr) -> bool:
    """Whether a formula can be read at a glance."""
    nodes = sp.preorder_traversal(expr)

    def counted() -> Iterator[sp.Basic]:
        for node in nodes:
            if isinstance(node, ImplicitNumber):  # it is written as decimals
                nodes.skip()
            yield node

    return sum(1 for _ in islice(counted(), _NODES + 1)) <= _NODES


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


def named(expr: sp.Expr) -> tuple[sp.Expr, list[tuple[sp.Symbol, sp.Expr]]]:
    """Replace the determinants of two-input laws by symbols.

    Returns:
        The formula to show, and (symbol, determinant) for each that stands in it, the simplest first. One that is
        short and occurs once has no name.
    """
    occurrences: dict[sp.Expr, int] = {}
    for node in sp.preorder_traversal(expr):
        if isinstance(node, sp.Add) and _is_determinant(node):
            occurrences[node] = occurrences.get(node, 0) + 1
    worth = [d for d, count in occurrences.items() if count > 1 or d != _PLAIN]
    worth.sort(key=lambda d: (sp.count_ops(d), str(d)))
    names = [sp.Symbol("Delta" if len(worth) == 1 else f"Delta{k}", positive=True) for k in range(1, len(worth) + 1)]
    return expr.xreplace(dict(zip(worth, names, strict=True))), list(zip(names, worth, strict=True))


def _is_determinant(node: sp.Add) -> bool:
    """Whether it is a product that grows with both kernels, less a multiple of C**2."""
    if not node.has(K1) or not node.has(K2) or not node.is_polynomial(K1, K2, C):
        return False
    coefficients = sp.Poly(node, C).all_coeffs()
    if len(coefficients) != 3 or coefficients[1] != 0 or not coefficients[0].is_negative:
        return False
    constant = sp.Poly(coefficients[2], K1, K2)
    return constant.degree(K1) == constant.degree(K2) == 1 and all(c.is_positive for c in constant.coeffs())
