"""Draws that stand in several places of a forward equation: written as text, each needs a name.

``Dense(phi(Dense(z))*Dense(z))`` would read as two independent dense layers; one that is used twice is written
``Dense(phi(y1)*y1), y1 = Dense(z)``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import sympy as sp

from ..notation.facts import Equations
from .nodes import Node

NEXT = sp.Symbol("z'")  # the next stream


def named(forward: sp.Expr, names: Mapping[sp.Expr, sp.Symbol]) -> Equations:
    """The forward equation as it can be written down: draws that it uses more than once, in order, and then ``z'``.

    Args:
        forward: the forward equation.
        names: of every draw, as in the program.
    """
    used = _uses(forward)
    shared = {draw: name for draw, name in names.items() if used[draw] > 1}

    def written(e: sp.Expr) -> sp.Expr:
        return e.xreplace({draw: name for draw, name in shared.items() if draw != e})

    return (*((name, written(draw)) for draw, name in shared.items()), (NEXT, written(forward)))


def _uses(forward: sp.Expr) -> Counter[sp.Expr]:
    """How often every draw occurs; what is inside of one counts once."""
    found: Counter[sp.Expr] = Counter()
    pending: list[sp.Basic] = [forward]
    while pending:
        e = pending.pop()
        if _is_draw(e):
            found[e] += 1
            if found[e] > 1:
                continue
        pending += e.args
    return found


def _is_draw(e: sp.Basic) -> bool:
    """Whether it is a node with an identity of its own: two that look the same are two draws."""
    return isinstance(e, Node) and any(isinstance(a, sp.Dummy) for a in e.args)
