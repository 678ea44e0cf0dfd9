"""Layers whose biases stand inside of their averages, all over one inner variance: blocks of several Dense, GLU.

With the inner variance S_in = a + b C_b in the place of C_b the susceptibilities do not depend on K, and K' is linear
in K: critical points and lines are roots of functions of S_in alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ....core.symbols import C_W, C_b, K, S_in
from ....gaussian.calculus.expectation import Expectation
from ....results.quantity import Quantity
from ...quantities.closed_forms import closed
from .critical_conditions import Conditions, affine, gap_of, positive_root, power_form, stand_in
from .scaling_symmetry import ONE


@dataclass(frozen=True)
class Nested:
    """The maps of a layer with one inner variance, as functions of S_in, of C_W and of parameters.

    Args:
        perp, parallel: the susceptibilities.
        offset, slope: ``K' - K = offset + slope*K``.
        bias: C_b, a function of K too.
    """

    perp: sp.Expr
    parallel: sp.Expr
    offset: sp.Expr
    slope: sp.Expr
    bias: sp.Expr

    @property
    def kernel(self) -> sp.Expr:
        """The kernel of the stream that is kept."""
        return -self.offset / self.slope

    def bias_at(self, kernel: sp.Expr) -> sp.Expr:
        """C_b where the stream has a kernel."""
        return self.bias.subs(K, kernel)


def nested(kernel_map: Quantity, parallel: Quantity, perp: Quantity) -> Nested | None:
    """The maps in the inner variance; None for other layers."""
    definitions = [q.defined for q in (kernel_map, perp, parallel)]
    law = _law(definitions)
    inner = None if law is None else affine(law, C_b)
    if law is None or inner is None or inner[1] == 0 or not inner[0].has(K):
        return None
    bias = (S_in - inner[0]) / inner[1]
    flow, perp_map, parallel_map = (closed(sp.expand(e.xreplace({law: S_in}).subs(C_b, bias))) for e in definitions)
    change = affine(flow - K, K)
    if change is None or change[1] == 0 or any(e.has(K, C_b) for e in (*change, perp_map, parallel_map)):
        return None
    return Nested(perp_map, parallel_map, *change, bias)


def inner_law(definition: sp.Expr) -> sp.Expr | None:
    """The one variance of all averages, where it is another than K."""
    law = _law([definition])
    return None if law == K else law


def nested_conditions(kernel_map: Quantity, parallel: Quantity, perp: Quantity) -> Conditions | None:
    """The critical conditions ``p + q(S_in) C_W^n = 1`` and K' = K solved; None for other layers."""
    maps = nested(kernel_map, parallel, perp)
    one, other = (None, None) if maps is None else (power_form(maps.perp), power_form(maps.parallel))
    if maps is None or one is None or other is None:
        return None
    (n, p0, p1), (m, q0, q1) = one, other
    gap = gap_of((p0, p1), (q0, q1), S_in)
    if n != m or gap.free_symbols - {S_in}:
        return None
    numbers: dict[sp.Symbol, sp.Expr] = {}
    weight = positive_root(1 - p0, stand_in(p1, ONE, numbers, S_in), n)
    offset, slope = affine(maps.offset, C_W) or (maps.offset, sp.Integer(0))
    kept = (offset + stand_in(slope, ONE, numbers, S_in) * C_W) / -maps.slope
    kernel = sp.factor_terms(kept.subs(C_W, weight))
    return Conditions(weight, maps.bias_at(kernel).subs(C_W, weight), numbers, gap, ONE, S_in, kernel)


def nested_line(kernel_map: Quantity, parallel: Quantity, perp: Quantity) -> tuple[sp.Expr, sp.Expr, sp.Expr] | None:
    """(C_W, C_b, K) on the critical line as functions of the inner variance S_in; None for other layers."""
    maps = nested(kernel_map, parallel, perp)
    form = None if maps is None else power_form(maps.perp)
    if maps is None or form is None:
        return None
    n, alone, slope = form
    weight = positive_root(1 - alone, slope, n)
    kernel = maps.kernel.subs(C_W, weight)
    return weight, maps.bias_at(kernel).subs(C_W, weight), kernel


def _law(definitions: list[sp.Expr]) -> sp.Expr | None:
    """The variance over which all averages are, if there is only one."""
    laws = {e.covariance for definition in definitions for e in definition.atoms(Expectation)}
    return law[0] if len(laws) == 1 and len(law := laws.pop()) == 1 else None
