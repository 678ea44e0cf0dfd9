"""Derivatives of averages that are fixed sums: by Price's theorem averages of derivatives, delta functions among them.

With jumps h_b of f, f' is a slope plus sum_b h_b delta(z - b), and the average of a delta function and of g is the
density of one input at b times the average of g given that. The derivative in K1 is <f'' g>/2, where delta functions
have slopes: <delta'(z1 - b) g> = (b <delta(z1 - b) g> - C <delta(z1 - b) g'>)/K1.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ...core.atoms import AverageNode
from ...core.symbols import K1, K2, C
from ..averages.integrands import PiecewiseIntegrand
from ..averages.singular_slopes import NEAREST
from .correlation_path import end, roots
from .delta_averages import Deltas, average_at, deltas_of, density_of_both
from .fixed_sum import node as p
from .pair_average import PAIR, merged, pair_average

_NEAREST = sp.sqrt(NEAREST) / 2  # p, where the density of both is cut off: D is K1*K2*(2*p)**2 for small p
VARIANCES = (K1, K2)

Pair = tuple[PiecewiseIntegrand, PiecewiseIntegrand]


class _NoSum(Exception):
    """An average that is not a fixed sum."""


def slopes(formula: sp.Expr, symbols: Sequence[sp.Symbol]) -> dict[sp.Symbol, sp.Expr] | None:
    """The derivative of a sum of averages in each argument; None if one of them is not a fixed sum."""
    nodes = {e: sp.Dummy() for e in sp.preorder_traversal(formula) if isinstance(e, AverageNode)}
    if any(node.covariance != PAIR for node in nodes):
        return None
    linear = formula.xreplace(nodes)
    try:
        return {s: merged(sp.expand_mul(_slope(linear, nodes, s), deep=False)) for s in symbols}
    except _NoSum:
        return None


def _slope(linear: sp.Expr, nodes: dict[AverageNode, sp.Dummy], s: sp.Symbol) -> sp.Expr:
    """The derivative of an expression that is linear in averages."""
    values = {dummy: sp.Add(*(c * _average(f, g) for c, (f, g) in node.terms)) for node, dummy in nodes.items()}
    total = linear.diff(s).xreplace(values)
    for node, dummy in nodes.items():
        changes = (c * _change((f, g), s) + c.diff(s) * _average(f, g) for c, (f, g) in node.terms)
        total += linear.diff(dummy) * sp.Add(*changes)
    return total


def _average(f: PiecewiseIntegrand, g: PiecewiseIntegrand) -> sp.Expr:
    """<f g>, also where a function is 0."""
    if any(h.parts == (0,) for h in (f, g)):
        return sp.S.Zero
    average = pair_average(f, g)
    if average is None:
        raise _NoSum
    return average


def _change(pair: Pair, s: sp.Symbol) -> sp.Expr:
    """The derivative of <f g> in an argument."""
    if s == C:
        return _slopes_average(pair)
    if s in VARIANCES:
        return _curvature_average(pair, VARIANCES.index(s)) / 2
    return sp.Add(*(_parameter_change(pair, side, s) for side in (0, 1)))


def _at_delta(b: sp.Expr, side: int, g: PiecewiseIntegrand) -> sp.Expr:
    """<delta(z1 - b) g(z2)>, or the same with the inputs in turn."""
    average = average_at(b, roots[side], roots[1 - side], g)
    if average is None:
        raise _NoSum
    return average.xreplace({p: end})


def _at_deltas(deltas: Deltas, side: int, g: PiecewiseIntegrand) -> sp.Expr:
    return sp.Add(*(h * _at_delta(b, side, g) for b, h in deltas))


def _both(b: sp.Expr, deltas: Deltas, side: int) -> sp.Expr:
    """The density of one input at b and of the other one at deltas."""
    places = ((b, c) if side == 0 else (c, b) for c, _ in deltas)
    densities = (density_of_both(*place).xreplace({p: sp.Max(end, _NEAREST)}) for place in places)
    return sp.Add(*(h * density for (_, h), density in zip(deltas, densities, strict=True)))


def _slopes_average(pair: Pair) -> sp.Expr:
    """<f' g'>."""
    first, second = map(deltas_of, pair)
    f, g = (h.diff() for h in pair)
    jumps = sp.Add(*(h * _both(b, second, 0) for b, h in first))
    return _average(f, g) + _at_deltas(first, 0, g) + _at_deltas(second, 1, f) + jumps


def _curvature_average(pair: Pair, side: int) -> sp.Expr:
    """<f'' g>, or <f g''>."""
    f, g = pair[side], pair[1 - side]
    slope = f.diff()
    curved = slope.diff()
    total = (_average(curved, g) if side == 0 else _average(g, curved)) + _at_deltas(deltas_of(slope), side, g)
    for b, h in deltas_of(f):  # the slope of a delta function
        along = _at_delta(b, side, g.diff()) + _both(b, deltas_of(g), side)
        total += h * (b * _at_delta(b, side, g) - C * along) / VARIANCES[side]
    return total


def _parameter_change(pair: Pair, side: int, parameter: sp.Symbol) -> sp.Expr:
    """The derivative in a parameter of one of the functions: of its values, and of its jumps as they move."""
    f, g = pair[side], pair[1 - side]
    change = f.map(lambda part: part.diff(parameter))
    moved = tuple((b, -h * b.diff(parameter)) for b, h in deltas_of(f) if b.has(parameter))
    return (_average(change, g) if side == 0 else _average(g, change)) + _at_deltas(moved, side, g)
