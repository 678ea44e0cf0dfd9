"""From two numbers to a verdict: what the rows of all oracles have in common."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

from ..errors import SymresError
from .quadrature import Found
from .verdict import Outcome, Thresholds, Verdict, inconclusive, judge

# A node of a user may do with arrays what an infinitely wide network has no meaning for (shapes, sorting, methods
# that a net lacks), and may fail on numbers. The row then says so; a failed comparison is never a passed one.
FAILURES = (SymresError, AttributeError, TypeError, ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError)


def reason(failure: BaseException) -> str:
    """An error as the reason of an inconclusive row."""
    return str(failure) if isinstance(failure, SymresError) else f"{type(failure).__name__}: {failure}"


def free_symbols(theory: Any, *quantities: Any) -> set[sp.Symbol]:
    """The symbols that need numbers: of the forward equation and of what is claimed about it."""
    found: set[sp.Symbol] = set().union(theory.layer.forward.free_symbols, *(q.symbols for q in quantities))
    return {s for s in found if not isinstance(s, sp.Dummy)}


def compared(
    name: str,
    oracle: str,
    point: str,
    claim: mp.mpf,
    found: Found,
    thresholds: Thresholds,
    small: float,
    *,
    jumps: bool | None = None,
    **facts: Any,
) -> Verdict:
    """A verdict, infinite values included.

    Args:
        name: of the quantity.
        oracle: its name.
        point: the arguments, as text.
        claim: what the derivation says.
        found: what the oracle says.
        thresholds: of that oracle.
        small: fraction of the natural scale on which a claim of 0 is judged.
        jumps: whether an activation of the layer is discontinuous, if known.
        facts: seed, widths, samples.
    """
    if math.isinf(found.value) and not found.diverges:
        said = found.remark or "the oracle's numbers leave the range of doubles"
        return inconclusive(name, oracle, point, said, claimed=claim, **facts)
    if math.isnan(found.value) or not (mp.isinf(claim) or math.isinf(found.value)):
        return judge(
            name,
            oracle,
            point,
            claim,
            found.value,
            found.error,
            thresholds,
            scale=small * found.scale,
            reason=found.remark,
            **facts,
        )
    agree = bool(claim == found.value)
    if agree:
        outcome, remark = Outcome.PASSED, found.remark
    elif mp.isinf(claim) and jumps:
        # the divergence can sit at distances that no finite difference reaches: a jump many deviations away from 0
        outcome, remark = Outcome.INCONCLUSIVE, "the claim is infinite, no divergence is seen at resolvable distances"
    elif found.diverges and jumps is False:
        outcome, remark = Outcome.INCONCLUSIVE, f"{found.remark}, but no activation jumps: it may be very steep"
    else:
        outcome, remark = Outcome.REFUTED, found.remark or "the claim is infinite, the oracle finds a finite value"
    return Verdict(
        name,
        oracle,
        point,
        claim,
        found.value,
        found.error,
        0.0 if agree else math.inf,
        0.0,
        outcome,
        remark,
        **facts,
    )
