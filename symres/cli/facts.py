"""What is known of an activation, in words."""

from __future__ import annotations

import sympy as sp

from ..declare.activation import Activation
from .maths import Maths

_ORDERS = ("jump", "kink", "second derivative jumps", "third derivative jumps", "fourth derivative jumps")
_NOUNS = 2  # of them take an s where there are several places


def facts_of(phi: Activation, maths: Maths) -> str:
    """Parity, homogeneity, breakpoints and growth in one line."""
    facts: list[str] = [phi.parity] if phi.parity else []
    if phi.homogeneity is not None:
        facts.append(f"homogeneous of degree {phi.homogeneity}")
    for order, places in enumerate(broken_at(phi)):
        if places:
            word = _ORDERS[order] if order < len(_ORDERS) else "formula changes"
            plural = "s" * (len(places) > 1 and order < _NOUNS)
            facts.append(f"{word}{plural} at {', '.join(map(maths, places))}")
    if not phi.breakpoints:
        facts.append("smooth")
    return "; ".join([*facts, f"tails: {phi.growth}"])


def broken_at(phi: Activation) -> list[list[sp.Expr]]:
    """Breakpoints by the lowest derivative that jumps there; last, those where none of the first ones does."""
    function, left = phi.pieces, list(phi.breakpoints)
    result: list[list[sp.Expr]] = []
    for _ in _ORDERS:
        jumps = dict(zip(function.breaks, function.jumps, strict=True))
        found = [b for b in left if b in jumps and not jumps[b].is_zero]
        result.append(found)
        left = [b for b in left if b not in found]
        if not left:
            return result
        function = function.diff()
    return [*result, left]
