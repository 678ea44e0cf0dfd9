"""The tangent rule: how the covariance of a centred tangent passes through a program.

A tangent is an infinitesimal independent change of the stream or of the parameters. Statistics do not respond, because
it is centred over the neurons. The average over a batch responds with what the tangents of its inputs have in common:
nothing where one input of many is moved, everything where a change of parameters moves them all.
"""

from __future__ import annotations

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...layers.program import Draw, phis
from .walk import SHARED, Walk

NONE = (0, 0)  # the parameters are fixed

Pair = tuple[int, int]
Rates = tuple[sp.Expr | int, sp.Expr | int]
_Known = dict[sp.Symbol, dict[Pair, sp.Expr]]  # of every source, the covariance of its tangents at two inputs


def tangent(walk: Walk, a: int, b: int, start: sp.Expr, rates: Rates = NONE) -> sp.Expr:
    """The covariance of the next stream's tangent at inputs a and b.

    Args:
        walk: the law of the neurons.
        a: first input.
        b: second input; a = b for one input. Then the incoming tangents of any other input of a batch are 0.
        start: covariance of the incoming tangent: 1 for chi_perp, Theta for the tangent kernel.
        rates: learning rates of weights and biases, for parameters of variance 1 that C_W/fan_in and C_b scale.

    Returns:
        ``T' = sum_j <d_j out_a d_j out_b> T_j`` with
        ``T_y = rate_W C_W <u_a u_b> + rate_b C_b + C_W sum_j <d_j u_a d_j u_b> T_j``, where j counts the sources at
        the input itself and, as far as a batch average knows them, at any other of its inputs; infinite where the mean
        square of a slope is, as for activations that jump, and a = b.

    Raises:
        NoClosedForm: the slopes have no average that is known.
    """
    followed = {(a, b): start}
    if walk.program.batches and a == b:
        followed[1, 2] = sp.Integer(0)
    known: _Known = {z: followed}
    for draw in walk.program.draws:
        known[draw.name] = {pair: _drawn(walk, draw, pair, known, rates) for pair in followed}
        if any(value.has(sp.oo) for value in known[draw.name].values()):
            return sp.oo
    out = walk.program.out
    ends = [_slopes(walk, out, input, known) for input in (a, b)]
    parts = (
        walk.at(one, a) * walk.at(other, b) * _covariance(known[s], p, q)
        for (s, p), one in ends[0].items()
        for (r, q), other in ends[1].items()
        if s == r
    )
    return walk.in_lowest_terms(sp.Add(*parts))


def _drawn(walk: Walk, draw: Draw, pair: Pair, known: _Known, rates: Rates) -> sp.Expr:
    """The covariance of a Draw's tangents at two inputs."""
    a, b = pair
    weight_rate, bias_rate = rates
    own = walk.covariance(draw.name, a, b)
    total = weight_rate * (own - draw.C_b) + bias_rate * draw.C_b if rates != (1, 1) else own
    ends = [_slopes(walk, draw.u, input, known) for input in pair]
    for (s, p), one in ends[0].items():
        for (r, q), other in ends[1].items():
            moved = _covariance(known[s], p, q) if s == r else sp.Integer(0)
            if moved == 0:
                continue
            jumps = _tears(draw.u, {s, *walk.program.batches})
            if jumps and a == b:
                return sp.oo
            total += draw.C_W * walk.mean((one, a), (other, b), jumps=jumps) * moved
    return total


def _slopes(walk: Walk, u: sp.Expr, a: int, known: _Known) -> dict[tuple[sp.Symbol, int], sp.Expr]:
    """The derivatives of an expression at input a in the sources at this input, and at any other of its batch."""
    found = {(s, a): u.diff(s) for s in known if u.has(s)}
    for average, meaning in walk.program.batches.items():
        if u.has(average):
            for place, coefficient in walk.shared(meaning):
                found[place] = found.get(place, sp.Integer(0)) + u.diff(average) * coefficient
    return found


def _covariance(known: dict[Pair, sp.Expr], a: int, b: int) -> sp.Expr:
    """The covariance of a source's tangents at two inputs; all pairs of inputs of a batch are alike."""
    return known[a, b] if SHARED not in (a, b) else known[1, 2]


def _tears(u: sp.Expr, neurons: set[sp.Symbol]) -> bool:
    """Whether the mean square of the slope of an activation of these is infinite: at a jump, or like |z|**(1/2).

    Raises:
        NoClosedForm: the slope is unbounded but its mean square is finite; there is no rule for such averages.
    """
    for phi in phis(u):
        if not phi.argument.has(*neurons):
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
