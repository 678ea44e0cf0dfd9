"""Derivatives of pair averages <f(z1) g(z2)> by Price's theorem, with the delta functions of functions that jump.

The derivative in C is <f' g'>, that in K1 is <f'' g>/2. With jumps h_b of f at b, f' is a slope plus
sum_b h_b delta(z - b), and <delta(z1 - b) g(z2)> is the density of z1 there times the average of g(z2) given that
z1 = b: mean C*b/K1, variance D/K1, D = K1*K2 - C**2. Delta functions have slopes:
<delta'(z1 - b) g> = (b <delta(z1 - b) g> - C <delta(z1 - b) g'>)/K1. All this holds for parallel inputs too, where
D = 0; but a jump of f and one of g give the density of both variables, infinite where they meet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import sympy as sp

from ...core.atoms import AverageNode
from ...core.symbols import K1, K2, C, z
from ..stable.primitives import determinant
from .integrands import PiecewiseIntegrand

NEAREST = sp.Rational(1, 10**12)  # D/(K1*K2): nearer to 0 the density of both variables, which diverges, is cut off
MIN_KERNEL = sp.Rational(1, 10**100)  # of a kernel that others are divided by

Deltas = tuple[tuple[sp.Expr, sp.Expr], ...]  # (breakpoint, height)
Pair = tuple[PiecewiseIntegrand, PiecewiseIntegrand]


def deltas_of(f: PiecewiseIntegrand) -> Deltas:
    """The delta functions that the derivative of a function has at its jumps."""
    return tuple((b, h) for b, h in zip(f.breaks, f.jumps, strict=True) if h != 0)


def both_jump(node: AverageNode) -> bool:
    """Whether both functions in a pair average jump."""
    return any(all(not f.is_continuous for f in factors) for _, factors in node.terms)


class PairSlopes(ABC):
    """The derivatives of averages of two functions, in averages of one kind.

    Attributes:
        variances: what stands for K1 and for K2 where others are divided by them.
    """

    variances: tuple[sp.Expr, sp.Expr] = (K1, K2)

    @abstractmethod
    def average(self, f: PiecewiseIntegrand, g: PiecewiseIntegrand) -> sp.Expr:
        """<f(z1) g(z2)>."""

    @abstractmethod
    def at(self, b: sp.Expr, side: int, g: PiecewiseIntegrand) -> sp.Expr:
        """<delta(z1 - b) g(z2)>, or the same with the inputs in turn."""

    @abstractmethod
    def both(self, b: sp.Expr, c: sp.Expr) -> sp.Expr:
        """<delta(z1 - b) delta(z2 - c)>, cut off where the inputs are parallel."""

    def change(self, pair: Pair, s: sp.Symbol) -> sp.Expr:
        """The derivative of <f g> in an argument."""
        if s == C:
            return self._slopes(pair)
        if s in (K1, K2):
            return self._curvature(pair, (K1, K2).index(s)) / 2
        return sp.Add(*(self._parameter(pair, side, s) for side in (0, 1)))

    def _average(self, f: PiecewiseIntegrand, g: PiecewiseIntegrand, side: int = 0) -> sp.Expr:
        """<f g>, f of the input of a side, also where a function is 0."""
        if any(h.parts == (0,) for h in (f, g)):
            return sp.S.Zero
        return self.average(g, f) if side else self.average(f, g)

    def _at_deltas(self, deltas: Deltas, side: int, g: PiecewiseIntegrand) -> sp.Expr:
        return sp.Add(*(h * self.at(b, side, g) for b, h in deltas))

    def _both(self, b: sp.Expr, deltas: Deltas, side: int) -> sp.Expr:
        """The density of one input at b and of the other one at deltas."""
        return sp.Add(*(h * (self.both(c, b) if side else self.both(b, c)) for c, h in deltas))

    def _slopes(self, pair: Pair) -> sp.Expr:
        """<f' g'>."""
        first, second = map(deltas_of, pair)
        f, g = (h.diff() for h in pair)
        jumps = sp.Add(*(h * self._both(b, second, 0) for b, h in first))
        return self._average(f, g) + self._at_deltas(first, 0, g) + self._at_deltas(second, 1, f) + jumps

    def _curvature(self, pair: Pair, side: int) -> sp.Expr:
        """<f'' g>, or <f g''>; by Stein's lemma where f'' is infinite: <z1 f' g> = K1 <f'' g> + C <f' g'>."""
        f, g, variance = pair[side], pair[1 - side], self.variances[side]
        slope = f.diff()
        if not (f.has_finite_slopes and slope.has_finite_slopes):
            moved = self._average(slope.map(lambda part: z * part), g, side)
            moved += self._at_deltas(tuple((b, h * b) for b, h in deltas_of(f)), side, g)
            return (moved - C * self._slopes(pair)) / variance
        total = self._average(slope.diff(), g, side) + self._at_deltas(deltas_of(slope), side, g)
        for b, h in deltas_of(f):
            along = self.at(b, side, g.diff()) + self._both(b, deltas_of(g), side)
            total += h * (b * self.at(b, side, g) - C * along) / variance
        return total

    def _parameter(self, pair: Pair, side: int, parameter: sp.Symbol) -> sp.Expr:
        """The derivative in a parameter of one of the functions: of its values, and of its jumps as they move."""
        f, g = pair[side], pair[1 - side]
        change = f.map(lambda part: part.diff(parameter))
        moved = tuple((b, -h * b.diff(parameter)) for b, h in deltas_of(f) if b.has(parameter))
        return self._average(change, g, side) + self._at_deltas(moved, side, g)


def pair_slopes(
    formula: sp.Expr,
    symbols: Iterable[sp.Symbol],
    nodes: Sequence[AverageNode],
    rules: Callable[[AverageNode], PairSlopes],
) -> dict[sp.Symbol, sp.Expr]:
    """The derivative of an expression that is linear in pair averages, in each argument.

    Args:
        formula: the expression.
        symbols: the arguments.
        nodes: its averages.
        rules: how those of each of them are written.
    """
    dummies = {node: sp.Dummy() for node in nodes}
    linear = formula.xreplace(dummies)

    def of_terms(node: AverageNode, value: Callable[[PairSlopes, sp.Expr, Pair], sp.Expr]) -> sp.Expr:
        return sp.Add(*(value(rules(node), c, pair) for c, pair in node.terms))

    def slope(s: sp.Symbol) -> sp.Expr:
        values = {d: of_terms(node, lambda rule, c, pair: c * rule._average(*pair)) for node, d in dummies.items()}
        total = linear.diff(s).xreplace(values)
        for node, d in dummies.items():
            changes = of_terms(node, lambda rule, c, pair: c * rule.change(pair, s) + c.diff(s) * rule._average(*pair))
            total += linear.diff(d) * changes
        return total

    return {s: slope(s) for s in symbols}


class ConditionalAverage(sp.Function):
    """An average over one variable: arguments are the unevaluated average, and mean and variance of the law meant."""

    nargs = 3


class IntegratedSlopes(PairSlopes):
    """In unevaluated averages of the kind of a node; kernels that others are divided by are kept above 0."""

    variances = (sp.Max(K1, MIN_KERNEL), sp.Max(K2, MIN_KERNEL))

    def __init__(self, node: AverageNode) -> None:
        self._node = node
        self._inputs = sorted((s for s in node.integrand.free_symbols if s not in node.free_symbols), key=str)

    def average(self, f: PiecewiseIntegrand, g: PiecewiseIntegrand) -> sp.Expr:
        """An average that is integrated."""
        x, y = self._inputs
        return self._node.func(f.as_expr().subs(z, x) * g.as_expr().subs(z, y), *self._node.covariance)

    def at(self, b: sp.Expr, side: int, g: PiecewiseIntegrand) -> sp.Expr:
        """A density times an average that is integrated."""
        variance, integrand = self.variances[side], g.as_expr()
        if integrand.has(z):
            inner, law = self._node.func(integrand.subs(z, self._inputs[0]), K1), (C * b, determinant)
            law = tuple(number / variance for number in law)
            averages = inner.atoms(self._node.func)
            integrand = inner.xreplace({average: ConditionalAverage(average, *law) for average in averages})
        return _normal(b, variance) * integrand

    def both(self, b: sp.Expr, c: sp.Expr) -> sp.Expr:
        """That of the first input, times that of the second given the first."""
        first, second = self.variances
        return _normal(b, first) * _normal(c - C * b / first, sp.Max(determinant / first, NEAREST * second))


def _normal(distance: sp.Expr, variance: sp.Expr) -> sp.Expr:
    return sp.exp(-(distance**2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)
