"""The tangent rule: how the covariance of a centred tangent passes through a program.

A tangent is an infinitesimal independent change of the stream (``fresh = 0``) or of all parameters (``fresh = 1``).
Statistics do not respond, because the tangent is centred over the neurons.
"""

from __future__ import annotations

import sympy as sp

from ..declare.program import phis
from ..errors import NoClosedForm, UnsupportedLayer
from ..symbols import z
from .walk import Walk


def tangent(walk: Walk, a: int, b: int, start: sp.Expr, fresh: int = 0) -> sp.Expr:
    """The covariance of the next stream's tangent at inputs a and b.

    Args:
        walk: the law of the neurons.
        a: first input.
        b: second input; a = b for one input.
        start: covariance of the incoming tangent: 1 for chi_perp, Theta for the tangent kernel.
        fresh: 1 if every Dense adds the tangent of its own parameters (unit learning rates), 0 if not.

    Returns:
        ``T' = sum_j <d_j out_a d_j out_b> T_j`` with ``T_y = fresh S_y + C_W sum_j <d_j u_a d_j u_b> T_j``;
        infinite where the mean square of a slope is, as for activations that jump, and a = b.
    """
    known = {z: start}
    for draw in walk.program.draws:
        total = fresh * walk.covariance(draw.name, a, b)
        for j in [s for s in known if draw.u.has(s)]:
            if _tears(draw.u, j):
                if a == b:
                    return sp.oo
                raise UnsupportedLayer(
                    f"the tangent of {draw.u} between two inputs",
                    "the mean square of its slope is infinite: an activation jumps or is too steep",
                    "differentiate the covariance map instead (covariance_slope)",
                )
            slope = draw.u.diff(j)
            total += draw.C_W * walk.mean((slope, a), (slope, b)) * known[j]
        known[draw.name] = total
    c = walk.program.coefficients
    return walk.written_out(
        sp.Add(*(walk.at(c[s], a) * walk.at(c[s], b) * known[s] for s in walk.program.sources if s in c))
    )


def _tears(u: sp.Expr, source: sp.Symbol) -> bool:
    """Whether the mean square of the slope of an activation of the source is infinite: at a jump, or like |z|**(1/2).

    Raises:
        NoClosedForm: the slope is unbounded but its mean square is finite; there is no rule for such averages.
    """
    for phi in phis(u):
        if not phi.argument.has(source):
            continue
        if not phi.pieces.is_continuous:
            return True
        steepest = min(phi.pieces.steepness(), default=0)
        if steepest <= -sp.Rational(1, 2):
            return True
        if steepest < 0:
            raise NoClosedForm(
                f"the tangent of {u}",
                "the slope is unbounded at a breakpoint and its mean square finite, for which symres has no rule",
                "smooth the formula there, or ask for averages without slopes (sr.expect)",
            )
    return False
