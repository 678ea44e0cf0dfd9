"""nu: how fast the four-point vertex of a layer grows with depth at a critical point, ``V^l = nu l K^2 + O(1)``.

Where the kernel is preserved and its response is 1, each layer adds the covariance of its noise with itself and, twice,
with that of all layers before: ``nu K^2 = Cov(H, H) + 2 sum_{d >= 1} Cov(H^{l+d}, H^l)``. What neurons remember beside
it, the influence G, stays bounded.
"""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...layers.program import Program
from ..finite_width.layer_response import LayerResponse, total_slopes
from ..walk.walk import ONE_INPUT
from .geometric_sum import GeometricSum
from .two_times import EARLIER, LATER, TwoTimes, memory


def growth(program: Program, values: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """The growth of V for each layer, in unevaluated averages.

    Args:
        program: the layer.
        values: of parameters and of K, at the critical point.

    Raises:
        NoClosedForm: averages that give the stream a mean keep a memory of their own.
        UnsupportedLayer: a product of the noise at two times needs more than two Gaussian variables.
    """
    response = LayerResponse(program)
    order = list(response.averages)
    _, T = total_slopes(response.slopes_after, response.slopes, response.state)
    means, weights = T[0], T[1]
    if any(weight != 0 for weight in means):
        raise NoClosedForm(
            "the growth of the vertex",
            "averages of the layer shift the mean of the stream",
            "ask for vertex(depth, K) at some depths",
        )
    walk = TwoTimes(program, ONE_INPUT)
    names = list(response.values.items())

    def at_point(expression: sp.Expr) -> sp.Expr:
        for name, value in reversed(names):
            expression = expression.xreplace({name: value})
        return expression.subs(dict(values), simultaneous=True)

    rho = at_point(dict(walk.out(EARLIER)).get((z, EARLIER), sp.Integer(0)))
    variances = {s: at_point(response.covariance(s, s)) for s in order}
    total = sp.Integer(0)
    for s, one in zip(order, weights, strict=True):
        for t, other in zip(order, weights, strict=True):
            weight = at_point(one * other)
            if weight == 0:
                continue
            total += weight * at_point(response.covariance(s, t))
            first, second = walk.averages[s], walk.averages[t]
            if first.width != second.width:
                continue
            before = [(u, EARLIER) for u, _ in first.factors]
            after = [(u, LATER) for u, _ in second.factors]
            apart = walk.mean(*before) * walk.mean(*[(u, EARLIER) for u, _ in second.factors])
            both = walk.mean(*before, *after) - apart
            scale = at_point(first.weight * second.weight / first.width)
            bound = sp.sqrt(variances[s] * variances[t]) / scale
            total += 2 * weight * scale * GeometricSum(at_point(both), memory, rho, bound)
    return total
