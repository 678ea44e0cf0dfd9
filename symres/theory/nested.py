"""The critical conditions of layers whose biases stand inside of their averages: blocks of several Dense, GLU."""

from __future__ import annotations

import sympy as sp

from ..gaussian.expectation import Expectation
from ..quantity import Quantity
from ..symbols import C_W, C_b, K
from .closing import closed
from .conditions import Conditions, affine, gap_of, positive_root, power_form, stand_in
from .units import ONE

_KERNEL = sp.Dummy("K", positive=True)  # of the stream; K itself stands for the inner variance here


def nested_conditions(kernel_map: Quantity, parallel: Quantity, perp: Quantity) -> Conditions | None:
    """The solution where all averages are over one inner variance S = a + b C_b; None for other layers.

    With S in the place of C_b = (S - a)/b the susceptibilities do not depend on K, and K' is linear in it:

        chi_perp = p0 + p1(S) C_W^n = 1,    chi_parallel = q0 + q1(S) C_W^n = 1,    K' - K = k0 + k1 K = 0
    """
    definitions = [q.defined.xreplace({K: _KERNEL}) for q in (kernel_map, perp, parallel)]
    laws = {e.covariance for definition in definitions for e in definition.atoms(Expectation)}
    if len(laws) != 1 or len(law := laws.pop()) != 1:
        return None
    inner = affine(law[0], C_b)
    if inner is None or inner[1] == 0 or not inner[0].has(_KERNEL):
        return None
    bias = (K - inner[0]) / inner[1]
    flow, *slopes = (closed(sp.expand(e.xreplace({law[0]: K}).subs(C_b, bias))) for e in definitions)
    drift, one, other = affine(flow - _KERNEL, _KERNEL), *map(power_form, slopes)
    if drift is None or drift[1] == 0 or one is None or other is None:
        return None
    if any(e.has(_KERNEL, C_b) for e in (*drift, *slopes)):
        return None
    (n, p0, p1), (m, q0, q1) = one, other
    gap = gap_of((p0, p1), (q0, q1))
    if n != m or gap.free_symbols != {K}:
        return None
    numbers: dict[sp.Symbol, sp.Expr] = {}
    weight = positive_root(1 - p0, stand_in(p1, ONE, numbers), n)
    offset, slope = affine(drift[0], C_W) or (drift[0], sp.Integer(0))
    kept = (offset + stand_in(slope, ONE, numbers) * C_W) / -drift[1]
    kernel = sp.factor_terms(kept.subs(C_W, weight))
    return Conditions(weight, bias.subs({C_W: weight, _KERNEL: kernel}), numbers, gap, ONE, kernel)
