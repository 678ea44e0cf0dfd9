"""Derivatives of averages that are fixed sums: averages of derivatives, delta functions among them."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ...core.atoms import AverageNode
from ..averages.integrands import PiecewiseIntegrand
from ..averages.singular_slopes import NEAREST, PairSlopes, pair_slopes
from .correlation_path import end, roots
from .delta_averages import average_at, density_of_both
from .fixed_sum import node as p
from .pair_average import PAIR, merged, pair_average

_NEAREST = sp.sqrt(NEAREST) / 2  # p, where the density of both is cut off: D is K1*K2*(2*p)**2 for small p


class _NoSum(Exception):
    """An average that is not a fixed sum."""


def slopes(formula: sp.Expr, symbols: Sequence[sp.Symbol]) -> dict[sp.Symbol, sp.Expr] | None:
    """The derivative of a sum of averages in each argument; None if one of them is not a fixed sum."""
    nodes = list(dict.fromkeys(e for e in sp.preorder_traversal(formula) if isinstance(e, AverageNode)))
    if any(node.covariance != PAIR for node in nodes):
        return None
    try:
        derivatives = pair_slopes(formula, symbols, nodes, lambda node: _SummedSlopes())
    except _NoSum:
        return None
    return {s: merged(sp.expand_mul(slope, deep=False)) for s, slope in derivatives.items()}


class _SummedSlopes(PairSlopes):
    """In fixed sums.

    Raises:
        _NoSum: an average is none.
    """

    def average(self, f: PiecewiseIntegrand, g: PiecewiseIntegrand) -> sp.Expr:
        """A sum over nodes."""
        return _summed(pair_average(f, g))

    def at(self, b: sp.Expr, side: int, g: PiecewiseIntegrand) -> sp.Expr:
        """An elementary function."""
        return _summed(average_at(b, roots[side], roots[1 - side], g)).xreplace({p: end})

    def both(self, b: sp.Expr, c: sp.Expr) -> sp.Expr:
        """Another one."""
        return density_of_both(b, c).xreplace({p: sp.Max(end, _NEAREST)})


def _summed(average: sp.Expr | None) -> sp.Expr:
    if average is None:
        raise _NoSum
    return average
