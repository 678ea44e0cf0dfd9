"""Facts about an activation in words: symmetry, smoothness, tails."""

from __future__ import annotations

import sympy as sp

from ...activations.activation import Activation
from .formula_text import Maths

# What may happen to phi and its derivatives at a point: a jump, or no finite value.
_ORDERS = (
    ("jump", "infinite value"),
    ("kink", "infinite slope"),
    *((f"{order} derivative jumps", f"{order} derivative infinite") for order in ("second", "third", "fourth")),
)
_NO_NUMBERS = (sp.nan, sp.zoo, sp.oo, -sp.oo)
_NOUNS = 2  # of them take an s where there are several places


def facts_of(phi: Activation, maths: Maths) -> str:
    """Parity, homogeneity, breakpoints and growth in one line."""
    facts: list[str] = [phi.parity] if phi.parity else []
    if phi.homogeneity is not None:
        facts.append(f"homogeneous of degree {phi.homogeneity}")
    for order, breaks in enumerate(broken_at(phi)):
        for word, places in breaks.items():
            plural = "s" * (len(places) > 1 and order < _NOUNS)
            facts.append(f"{word}{plural} at {', '.join(map(maths, places))}")
    if not phi.breakpoints:
        facts.append("smooth")
    return "; ".join([*facts, f"tails: {phi.growth}"])


def broken_at(phi: Activation) -> list[dict[str, list[sp.Expr]]]:
    """Breakpoints by the lowest derivative that jumps or is infinite there, each with its name; smooth ones last."""
    function, left = phi.pieces, list(phi.breakpoints)
    result: list[dict[str, list[sp.Expr]]] = []
    for jumping, infinite in _ORDERS:
        found: dict[str, list[sp.Expr]] = {}
        for b, jump in zip(function.breaks, function.jumps, strict=True):
            if b in left and not jump.is_zero:
                found.setdefault(infinite if jump.has(*_NO_NUMBERS) else jumping, []).append(b)
                left.remove(b)
        result.append(found)
        if not left:
            return result
        function = function.diff()
    return [*result, {"formula changes": left}]
