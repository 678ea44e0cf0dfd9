"""What is known of an activation, in words."""

from __future__ import annotations

from ..declare.activation import Activation
from .maths import Maths


def facts_of(phi: Activation, maths: Maths) -> str:
    """Parity, homogeneity, breakpoints and growth in one line."""
    facts: list[str] = [phi.parity] if phi.parity else []
    if phi.homogeneity is not None:
        facts.append(f"homogeneous of degree {phi.homogeneity}")
    jumps = [b for b, _ in phi.jumps]
    kinks = [b for b in phi.breakpoints if b not in jumps]
    for word, places in (("kink", kinks), ("jump", jumps)):
        if places:
            facts.append(f"{word}{'s' * (len(places) > 1)} at {', '.join(map(maths, places))}")
    if not phi.breakpoints:
        facts.append("smooth")
    return "; ".join([*facts, f"tails: {phi.growth}"])
