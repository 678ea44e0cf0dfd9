"""The average of a pair of functions as a fixed sum, and what a sum of such averages is."""

from __future__ import annotations

from functools import lru_cache

import sympy as sp

from ...core.atoms import AverageNode
from ...core.symbols import K1, K2, C, z
from ..averages.integrands import PiecewiseIntegrand, is_polynomial
from .correlation_path import side
from .exponential_law import ExponentialPieces
from .exponential_pieces import exponential_pair
from .fixed_sum import FixedSum
from .polynomial_pieces import polynomial_pair

PAIR = (K1, C, K2)


@lru_cache(maxsize=256)
def pair_average(f: PiecewiseIntegrand, g: PiecewiseIntegrand) -> sp.Expr | None:
    """<f(z1) g(z2)> in K1, K2, C and the determinant; None if it is not a fixed sum without cancellation."""
    if has_sum(f) and has_sum(g):
        return merged(polynomial_pair(f, g)).xreplace({side**2: sp.S.One})
    one, two = ExponentialPieces.of(f), ExponentialPieces.of(g)
    if one is None or two is None:
        return None
    average = exponential_pair(one, two)
    return None if average is None else merged(average).xreplace({side**2: sp.S.One})


def has_sum(f: PiecewiseIntegrand) -> bool:
    """Whether a function is a piecewise polynomial whose averages do not cancel.

    An inner piece of a degree above that of the outer ones by two or more does: beside a wide law it adds terms of its
    degree to a result that grows with the outer ones. 0 counts as degree -1.
    """
    if not is_polynomial(f):
        return False
    degrees = [-1 if part == 0 else int(sp.degree(part, z)) for part in f.parts]
    return max(degrees) - max(degrees[0], degrees[-1]) <= 1


def merged(expr: sp.Expr) -> sp.Expr:
    """Sums over the same nodes as one."""
    terms = sp.Add.make_args(expr)
    sums: dict[tuple[sp.Expr, ...], list[sp.Expr]] = {}
    others = []
    for term in terms:
        factor, total = term.as_independent(FixedSum, as_Add=False)
        if isinstance(total, FixedSum):
            sums.setdefault(total.args[1:], []).append(factor * total.term)
        else:
            others.append(term)
    return sp.Add(*others, *(FixedSum(sp.Add(*parts), *rule) for rule, parts in sums.items()))


def summed_averages(expr: sp.Expr) -> sp.Expr | None:
    """An expression with fixed sums in the place of its averages of two inputs; None if one of them has none."""
    values: dict[sp.Expr, sp.Expr] = {}
    for node in (e for e in sp.preorder_traversal(expr) if isinstance(e, AverageNode)):
        if node.covariance != PAIR:
            return None
        pairs = [(c, pair_average(f, g)) for c, (f, g) in node.terms]
        if any(average is None for _, average in pairs):
            return None
        values[node] = sp.Add(*(c * average for c, average in pairs))
    return merged(sp.expand_mul(expr.xreplace(values), deep=False)) if values else None
