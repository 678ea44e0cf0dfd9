"""The response of a layer to a stream that is scaled as a whole, z -> (1 + eps) z, which statistics do notice.

A Gaussian neuron y responds by a multiple of itself and a rest: ``dy/deps = m y + r`` with ``m = K dS/dK / S`` and r
independent of y, where S(K) is the variance of y.
"""

from __future__ import annotations

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import K, z
from ...core.words import Obstruction, Reason
from .assignments import total_derivative
from .tangent import tangent
from .walk import Walk


def chi_delta(walk: Walk) -> sp.Expr:
    """The coefficient of finite input dimension, ``(<(dz'/deps)^2>/K - chi_perp)/(2 K)``.

    Doshi et al. (35) for layers without normalisation: ``C_W <phi''^2 + phi''' phi'>``, which is 2h of PDLT (B.18).
    Half of it stands in the place of h in PDLT (B.14) for any layer: it is ``C'_CC/4 + C'_12 + C'_1C`` at equal inputs.

    Args:
        walk: the law for one input.

    Raises:
        NoClosedForm: the slope of an activation has no finite mean square, or the layer averages over a batch: what
            scaling does to it depends on how many of the batch are scaled.
    """
    if walk.program.batches:
        raise NoClosedForm("the response to scaling", "it is that of one input, not of a batch", "ask for chi_perp")
    a = walk.first
    perp = tangent(walk, a, a, sp.Integer(1))
    if perp.has(sp.oo):
        raise NoClosedForm(
            "the response to scaling",
            Reason("the mean square of a slope", "is infinite", Obstruction.INFINITE),
            "smooth the activation",
        )
    return walk.in_lowest_terms((_radial(walk, a) / K - perp) / (2 * K))


def _radial(walk: Walk, a: int) -> sp.Expr:
    """``<(dz'/deps)^2>``."""
    along: dict[sp.Symbol, sp.Expr] = {z: sp.Integer(1)}  # m of every source
    apart: dict[sp.Symbol, sp.Expr] = {z: sp.Integer(0)}  # variance of r
    responses = {s: 2 * K * total_derivative(value, walk.assignments, K) for (s, b), value in walk.statistics if b == a}

    def squared(u: sp.Expr) -> sp.Expr:
        slopes = {j: u.diff(j) for j in along if u.has(j)}
        parallel = sp.Add(*(slope * along[j] * j for j, slope in slopes.items()))
        parallel += sp.Add(*(u.diff(s) * response for s, response in responses.items() if u.has(s)))
        rest = (walk.mean((slope, a), (slope, a)) * apart[j] for j, slope in slopes.items() if apart[j] != 0)
        return walk.mean((parallel, a), (parallel, a)) + sp.Add(*rest)

    for draw in walk.program.draws:
        variance = walk.covariance(draw.name, a, a)
        moved = K * total_derivative(variance, walk.assignments, K)
        along[draw.name] = moved / variance
        apart[draw.name] = draw.C_W * squared(draw.u) - moved**2 / variance
    return squared(walk.program.out)
