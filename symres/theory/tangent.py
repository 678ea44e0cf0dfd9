"""The tangent rule: how the covariance of a centred tangent passes through a program.

A tangent is an infinitesimal independent change of the stream or of the parameters. Statistics and batch averages do
not respond, because it is centred over the neurons and belongs to one input of many.
"""

from __future__ import annotations

import sympy as sp

from ..declare.program import phis
from ..errors import NoClosedForm
from ..symbols import z
from .walk import Walk

NONE = (0, 0)  # the parameters are fixed


def tangent(walk: Walk, a: int, b: int, start: sp.Expr, rates: tuple[sp.Expr | int, sp.Expr | int] = NONE) -> sp.Expr:
    """The covariance of the next stream's tangent at inputs a and b.

    Args:
        walk: the law of the neurons.
        a: first input.
        b: second input; a = b for one input.
        start: covariance of the incoming tangent: 1 for chi_perp, Theta for the tangent kernel.
        rates: learning rates of weights and biases, for parameters of variance 1 that C_W/fan_in and C_b scale.

    Returns:
        ``T' = sum_j <d_j out_a d_j out_b> T_j`` with
        ``T_y = rate_W C_W <u_a u_b> + rate_b C_b + C_W sum_j <d_j u_a d_j u_b> T_j``; infinite where the mean square
        of a slope is, as for activations that jump, and a = b.

    Raises:
        NoClosedForm: the slopes have no average that is known.
    """
    weight_rate, bias_rate = rates
    known = {z: start}
    for draw in walk.program.draws:
        own = walk.covariance(draw.name, a, b)
        total = weight_rate * (own - draw.C_b) + bias_rate * draw.C_b if rates != (1, 1) else own
        for j in [s for s in known if draw.u.has(s) and known[s] != 0]:
            jumps = _tears(draw.u, j)
            if jumps and a == b:
                return sp.oo
            slope = draw.u.diff(j)
            total += draw.C_W * walk.mean((slope, a), (slope, b), jumps=jumps) * known[j]
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
