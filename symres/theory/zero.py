"""Critical points at K* = 0, from the series of the maps around it."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from ..balls import enclose
from ..errors import NoClosedForm, SymresError
from ..gaussian.canonical import canonical
from ..quantity import Quantity
from ..symbols import C_W, C_b, K
from .conditions import at_reference, can_be_positive, sign_at_reference, solved, written_out
from .expansion import powers_of_kernel
from .points import CriticalPoint, Found

_NO_FIXED_POINT = "K* = 0 is no fixed point: K' does not vanish with K"
_ORDER = 3  # the kernel map is expanded so far around K = 0


def zero_points(kernel_map: Quantity, parallel: Quantity, perp: Quantity) -> Found:
    """Around K = 0 the maps are series: K' must vanish with K and both susceptibilities tend to one value."""
    if not _vanishes_with_kernel(kernel_map):
        return Found(remarks=(_NO_FIXED_POINT,))
    try:
        growth = _without_bias(kernel_map).series(_ORDER).body
        limits = [_without_bias(q).series(0).body for q in (parallel, perp)]
    except NoClosedForm as error:
        return Found(remarks=(f"K* = 0 was not examined: {error.found}",), complete=False)
    if growth.subs(K, 0) != 0:
        return Found(remarks=(_NO_FIXED_POINT,))
    if any(limit.has(K) for limit in limits) or sp.expand(limits[0] - limits[1]) != 0:
        return Found(remarks=("the susceptibilities differ at K = 0",))
    solutions = [w for w in solved(limits[0] - 1) if can_be_positive(w)]
    if not solutions:
        return Found(remarks=("at K = 0 no C_W > 0 makes the susceptibilities 1",))
    zero = sp.Integer(0)
    return Found(tuple(CriticalPoint(zero, w, zero, _flow(growth, kernel_map, w)) for w in solutions))


def _vanishes_with_kernel(kernel_map: Quantity) -> bool:
    """Whether K' may vanish at K = 0: a number at some parameters says no before a series is worked out."""
    limit = _without_bias(kernel_map).definition.subs(K, 0)
    try:
        return bool(enclose(limit.subs(dict.fromkeys(limit.free_symbols, 1)), {}, 60).contains(0))
    except SymresError:
        return True


def _without_bias(quantity: Quantity) -> Quantity:
    """K' vanishes with K only without biases."""
    return replace(quantity, definition=quantity.defined.subs(C_b, 0), steps=())


def _flow(growth: sp.Expr, kernel_map: Quantity, weight: sp.Expr) -> str:
    """The sign of K' - K near 0: of its lowest power, or, where all powers vanish, of its value."""
    excess = sp.expand(sp.expand(growth - K).subs(C_W, weight))
    words = {-1: "stable", 1: "unstable", 0: "marginal"}
    for _, found in sorted(powers_of_kernel(excess).items()):
        coefficient = canonical(found)
        sign = sign_at_reference(coefficient)
        if sign or at_reference(coefficient).free_symbols:
            return words[sign]
        # zero to all digits: a linear coefficient cancels by the choice of C_W, whether or not sympy sees it
    drift = (written_out(kernel_map) - K).subs({C_b: 0, C_W: weight})
    return words[sign_at_reference(drift.subs(K, sp.Rational(1, 20)))]
