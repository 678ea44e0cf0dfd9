"""How fast the growth of the vertex becomes nu where kernels flow to 0.

With ``K' = K - a K^m + b K^(2m - 1)`` the power ``u = K^(1 - m)`` grows by ``(m - 1)(a + (m a^2/2 - b)/u)`` a layer, so
``K^(m - 1) = (1 - kappa log(l)/l)/((m - 1) a l)`` with ``kappa = (m/2 - b/a^2)/(m - 1)``. Fluctuations shrink by
``(chi K/K')^2 = 1 - 2 (m - 1) a K^(m - 1)`` in units of K^2, to which each layer adds 3 nu. The solution is

    V/(nu K^2) = l + kappa log(l) + O(1),

whatever the kernel of the input is; that and what neurons remember enter the constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import C_W, K, gamma
from ...gaussian.algebra.canonical import canonical
from ...notation.factors import tidy_factors
from ...results.critical_point import CriticalPoint
from ...results.quantity import Quantity
from ..criticality.vanishing_kernel import without_bias
from ..quantities.build import build, unknown
from ..quantities.expansion import powers_of_kernel
from .nu import SKIPS, useful_point

NAME = "nu_log"


def approach(kernel_map: Quantity, points: Sequence[CriticalPoint]) -> Quantity:
    """Kappa at the critical point that names the universality class.

    Args:
        kernel_map: K'.
        points: critical points, the most useful first.
    """
    point = useful_point(points)
    if point is None or point.K != 0:
        return unknown(NAME, (gamma,), "kernels do not flow to 0 at the critical point")
    if not point.correction:
        return unknown(NAME, (gamma,), "kernels flow to 0 more slowly than any power of the depth")
    coefficient, power = point.correction.as_independent(K, as_Add=False)
    m = power.as_base_exp()[1]
    try:
        series = without_bias(kernel_map).series(int(sp.ceiling(2 * m - 1)))
    except NoClosedForm as error:
        return unknown(NAME, (gamma,), error.found)
    powers = powers_of_kernel(sp.expand(series.body.subs(C_W, point.C_W)))
    between = [p for p, c in powers.items() if m < p < 2 * m - 1 and canonical(c) != 0]
    if between:
        rate = (min(between) - m) / (m - 1)
        reason = f"K' has the power {min(between)} of K as well, and growth becomes nu like l**-{rate}"
        return unknown(NAME, (gamma,), reason)
    second = powers.get(2 * m - 1, sp.Integer(0))
    kappa = tidy_factors(canonical((m / 2 - second / coefficient**2) / (m - 1)))
    found = build(NAME, (gamma,) if kappa.has(gamma) else (), kappa, parameters=kernel_map.unused, within=SKIPS)
    return replace(found, verifications=series.verifications)
