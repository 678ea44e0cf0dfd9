"""Jacobians of finite depth in closed form: products of chi_perp along the kernel's path that have one."""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K
from ...gaussian.algebra.canonical import canonical
from ...results.quantity import Quantity, Status

FIRST, LAST = sp.symbols("l0 l", integer=True, nonnegative=True)


def jacobian_product(kernel_map: Quantity, perp: Quantity) -> sp.Expr | None:
    """``J^{l0,l}`` as a function of l0, l, the kernel K of layer 0 and the parameters; None without a closed form.

    Constant chi_perp: a power. ``K' = K + B`` and ``chi_perp = 1 + A/K``, as for a normalised branch beside a skip of
    weight 1: a quotient of Gamma functions, for the product of ``(K + A + m B)/(K + m B)`` over layers m.
    """
    if any(q.status is Status.UNKNOWN for q in (kernel_map, perp)):
        return None
    flow, chi = kernel_map.expr, perp.expr
    assert flow is not None
    assert chi is not None
    if chi.has(sp.oo):
        return None
    if not chi.has(K):
        return chi ** (LAST - FIRST)
    step, excess = canonical(flow - K), canonical((chi - 1) * K)
    if step.has(K) or excess.has(K) or step == 0:
        return None
    start, moved = K / step, (K + excess) / step
    rising = sp.gamma(LAST + moved) / sp.gamma(FIRST + moved)
    return rising * sp.gamma(FIRST + start) / sp.gamma(LAST + start)
