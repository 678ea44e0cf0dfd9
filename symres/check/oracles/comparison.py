"""From two numbers to a verdict, the same for all oracles."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack

import mpmath as mp
import numpy as np
import sympy as sp

from ...core.errors import SymresError
from ...results.observable import OracleValue
from ...results.quantity import Quantity
from ...results.subjects import DerivedLayer
from ...results.verdict import Outcome, Remarks, Run, Thresholds, Verdict, inconclusive, judge

PERPENDICULAR = "chi_perp"  # the quantity that a jump makes infinite
_SHARE = 3  # times the smallest visible error: the least contribution of the branch
_NONE = 1e-13  # relative: a quantity that changes less does not depend on the branch

# A jump may be too small, or too many deviations away from 0, for any difference of neighbours to see it.
_UNSEEN = {
    True: "an activation jumps or rises like a root, but the oracle sees no divergence at resolvable distances",
    None: "whether an activation jumps or rises like a root is undecided, and the oracle sees no divergence",
}

# A node of a user may do with arrays what an infinitely wide network has no meaning for (shapes, sorting, methods
# that a net lacks), and may fail on numbers. The row then says so; a failed comparison is never a passed one.
FAILURES = (SymresError, AttributeError, TypeError, ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError)


def reason(failure: BaseException) -> Remarks:
    """An error as the reason of an inconclusive row: what failed, and what to do about it if that is known."""
    if isinstance(failure, SymresError):
        return f"{failure.asked}: {failure.found}", failure.remedy
    return (f"{type(failure).__name__}: {failure}",)


def free_symbols(theory: DerivedLayer, *quantities: Quantity) -> set[sp.Symbol]:
    """The symbols that need numbers: of the forward equation, of its positions and of the claims about it."""
    of_layer = theory.layer.forward.free_symbols | theory.sequence_length.free_symbols
    free: set[sp.Symbol] = of_layer.union(*(q.symbols for q in quantities))
    return {s for s in free if not isinstance(s, sp.Dummy)}


def compared(
    name: str,
    oracle: str,
    point: str,
    claim: mp.mpf,
    found: OracleValue,
    thresholds: Thresholds,
    small: float,
    *,
    steep: bool | None = False,
    **run: Unpack[Run],
) -> Verdict:
    """A verdict, infinite values included.

    ``claim`` is the number that was derived, ``found`` the oracle's, ``point`` the arguments as text, ``run`` has seed,
    widths and samples. ``small`` is the fraction of the natural scale on which a claim of 0 is judged; ``steep`` says
    whether an activation of the layer is so steep that this quantity may be infinite, None if that cannot be told.
    """
    remarks = (found.remark,) if found.remark else ()
    if math.isinf(found.value) and not found.diverges:
        said = found.remark or "the oracle's numbers leave the range of doubles"
        return inconclusive(name, oracle, point, (said,), claimed=claim, **run)
    if math.isnan(found.value) or not (mp.isinf(claim) or math.isinf(found.value)):
        numbers, scale = (claim, found.value, found.error), small * found.scale
        row = judge(name, oracle, point, *numbers, thresholds, scale=scale, remarks=remarks, **run)
        if row.outcome is Outcome.PASSED and steep is not False:
            return replace(row, outcome=Outcome.INCONCLUSIVE, remarks=(_UNSEEN[steep],))
        return row
    agree = bool(claim == found.value)
    if agree:
        outcome = Outcome.PASSED
    elif mp.isinf(claim) and steep is not False:
        outcome, remarks = Outcome.INCONCLUSIVE, (_UNSEEN[steep],)
    elif found.diverges and not steep:
        outcome = Outcome.INCONCLUSIVE
        remarks = (f"{found.remark}, but no jump is seen: the function may be very steep",)
    else:
        outcome = Outcome.REFUTED
        remarks = remarks or ("the claim is infinite, the oracle finds a finite value",)
    z = 0.0 if agree else math.inf
    return Verdict(name, oracle, point, claim, found.value, found.error, z, 0.0, outcome, remarks, **run)


def moved(row: Verdict, first: Verdict, place: str) -> Verdict:
    """The row of a comparison that was moved from a place where nothing is seen.

    Of the remarks of the first one only the cause is repeated.
    """
    cause, *_ = first.remarks
    return replace(row, remarks=(*row.remarks, f"moved here from {place} ({cause})"))


def require_sensitivity(verdict: Verdict, bare: mp.mpf | None) -> Verdict:
    """The verdict, INCONCLUSIVE if it would hardly have been another one without the branch of the layer.

    ``bare`` is what the claim would be without it; None if that is not known.
    """
    if verdict.outcome is not Outcome.PASSED or bare is None or not mp.isfinite(bare) or not verdict.claimed:
        return verdict
    share = float(abs((verdict.claimed - bare) / verdict.claimed))
    if share >= _SHARE * verdict.detectable or share < _NONE:
        return verdict
    said = f"the branch is only {share:.2g} of the claim, and errors below {verdict.detectable:.2g} go unnoticed"
    return replace(verdict, outcome=Outcome.INCONCLUSIVE, remarks=(*verdict.remarks, said))
