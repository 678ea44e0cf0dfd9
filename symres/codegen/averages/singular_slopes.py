"""Derivatives of pair averages <f(z1) g(z2)> of functions that jump: the delta functions of f' and g' written out.

With jumps h_b of f at b, f' is a slope plus sum_b h_b delta(z - b), and <delta(z1 - b) g(z2)> is the density of z1
there times the average of g(z2) given that z1 = b: mean C*b/K1, variance D/K1, D = K1*K2 - C**2. Price's theorem with
these holds for parallel inputs too, where D = 0; but a jump of f and one of g give the density of both variables,
infinite where they meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp

from ...core.atoms import AverageNode
from ...core.symbols import K1, K2, C, z
from ..stable.primitives import determinant
from .integrands import PiecewiseIntegrand

NEAREST = sp.Rational(1, 10**12)  # D/(K1*K2): nearer to 0 the density of both variables, which diverges, is cut off
MIN_KERNEL = sp.Rational(1, 10**100)  # of a kernel that others are divided by

Average = Callable[[sp.Expr, sp.Expr], sp.Expr]  # of functions of z1 and z2, each written in z


class ConditionalAverage(sp.Function):
    """An average over one variable: arguments are the unevaluated average, and mean and variance of the law meant."""

    nargs = 3


@dataclass(frozen=True)
class _Split:
    """A function in its parts.

    Args:
        whole: f.
        slope: f' between the breakpoints.
        jumps: (b, h_b).
        curvature: f'' between them; None if it is not finite there.
        bends: (b, jump of f' at b).
    """

    whole: sp.Expr
    slope: sp.Expr
    jumps: tuple[tuple[sp.Expr, sp.Expr], ...]
    curvature: sp.Expr | None
    bends: tuple[tuple[sp.Expr, sp.Expr], ...]

    @classmethod
    def of(cls, factor: PiecewiseIntegrand) -> _Split:
        """The parts of a function in pieces."""
        slope = factor.diff()
        if not (factor.has_finite_slopes and slope.has_finite_slopes):
            return cls(factor.as_expr(), slope.as_expr(), _jumps(factor), None, ())
        return cls(factor.as_expr(), slope.as_expr(), _jumps(factor), slope.diff().as_expr(), _jumps(slope))


@dataclass(frozen=True)
class _Law:
    """The law of two inputs, kernels that others are divided by kept above 0.

    Args:
        first: the variance of the one that is known.
        second: that of the other.
    """

    first: sp.Expr
    second: sp.Expr

    @property
    def swapped(self) -> _Law:
        """The law with the other input known."""
        return _Law(self.second, self.first)

    def density(self, place: sp.Expr) -> sp.Expr:
        """The density of the known input."""
        return _normal(place, self.first)

    def average(self, g: sp.Expr, place: sp.Expr) -> sp.Expr:
        """The average of a function of the other input, the known one being at a place."""
        return ConditionalAverage(g, C * place / self.first, determinant / self.first) if g.has(z) else g

    def both(self, place: sp.Expr, other: sp.Expr) -> sp.Expr:
        """The density of the other input, the known one being at a place; cut off where the inputs are parallel."""
        variance = sp.Max(determinant / self.first, NEAREST * self.second)
        return _normal(other - C * place / self.first, variance)


def _normal(distance: sp.Expr, variance: sp.Expr) -> sp.Expr:
    return sp.exp(-(distance**2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)


def _jumps(factor: PiecewiseIntegrand) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
    pairs = zip(factor.breaks, factor.jumps, strict=True)
    return tuple((b, height) for b, height in pairs if not height.is_zero)


def has_jump(node: AverageNode) -> bool:
    """Whether a function in a pair average jumps."""
    return any(not f.is_continuous for _, factors in node.terms for f in factors)


def both_jump(node: AverageNode) -> bool:
    """Whether both functions in a pair average jump."""
    return any(all(not f.is_continuous for f in factors) for _, factors in node.terms)


def covariance_slope(node: AverageNode) -> sp.Expr:
    """The derivative in C: Price's theorem, <f' g'>."""
    return _summed(node, _price, False)


def variance_slope(node: AverageNode, first: bool) -> sp.Expr:
    """The derivative in K1 (or K2): Price's theorem, <f'' g>/2."""
    return _summed(node, _curvature, not first)


def parameter_slope(node: AverageNode, parameter: sp.Symbol) -> sp.Expr:
    """The derivative in a parameter: where it moves a jump, less the density there times what is jumped over."""

    def slope(f: _Split, g: _Split, law: _Law, average: Average) -> sp.Expr:
        inside = average(f.whole.diff(parameter), g.whole) if f.whole.has(parameter) else sp.Integer(0)
        moved = (h * b.diff(parameter) * law.density(b) * law.average(g.whole, b) for b, h in f.jumps)
        return inside - sp.Add(*moved)

    x, y = inputs(node)
    direct = (
        c.diff(parameter) * node.func(f.as_expr().subs(z, x) * g.as_expr().subs(z, y), *node.covariance)
        for c, (f, g) in node.terms
        if c.has(parameter)
    )
    return sp.Add(_summed(node, slope, False), _summed(node, slope, True), *direct)


def inputs(node: AverageNode) -> list[sp.Symbol]:
    """The two variables of an average."""
    return sorted((s for s in node.integrand.free_symbols if s not in node.free_symbols), key=str)


def _summed(node: AverageNode, slope: Callable[[_Split, _Split, _Law, Average], sp.Expr], swap: bool) -> sp.Expr:
    """A slope of all terms of an average, with the other input known where they are swapped."""
    x, y = inputs(node)
    law = _Law(sp.Max(K1, MIN_KERNEL), sp.Max(K2, MIN_KERNEL))

    def average(f: sp.Expr, g: sp.Expr) -> sp.Expr:
        f, g = (g, f) if swap else (f, g)
        return node.func(f.subs(z, x) * g.subs(z, y), *node.covariance)

    total = sp.Integer(0)
    for c, (f, g) in node.terms:
        one, other = (_Split.of(g), _Split.of(f)) if swap else (_Split.of(f), _Split.of(g))
        total += c * slope(one, other, law.swapped if swap else law, average)
    return total.xreplace(
        {conditioned: _unevaluated(conditioned, node, x) for conditioned in total.atoms(ConditionalAverage)}
    )


def _unevaluated(conditioned: ConditionalAverage, node: AverageNode, x: sp.Symbol) -> sp.Expr:
    """An average given one input, its function as an unevaluated average of the kind of a node."""
    g, *law = conditioned.args
    inner = node.func(g.subs(z, x), K1)
    return inner.xreplace({average: ConditionalAverage(average, *law) for average in inner.atoms(node.func)})


def _price(f: _Split, g: _Split, law: _Law, average: Average) -> sp.Expr:
    """<f' g'>."""
    total = average(f.slope, g.slope)
    total += sp.Add(*(h * law.density(b) * _slope_given(g, b, law) for b, h in f.jumps))
    back = law.swapped
    return total + sp.Add(*(h * back.density(c) * back.average(f.slope, c) for c, h in g.jumps))


def _slope_given(g: _Split, place: sp.Expr, law: _Law) -> sp.Expr:
    """<g'> given that the other input is at a place."""
    return law.average(g.slope, place) + sp.Add(*(h * law.both(place, c) for c, h in g.jumps))


def _curvature(f: _Split, g: _Split, law: _Law, average: Average) -> sp.Expr:
    """<f'' g>/2; by Stein's lemma <z1 f' g> = K1 <f'' g> + C <f' g'> where f'' is infinite beside a breakpoint."""
    if f.curvature is None:
        moved = average(z * f.slope, g.whole)
        moved += sp.Add(*(h * b * law.density(b) * law.average(g.whole, b) for b, h in f.jumps))
        return (moved - C * _price(f, g, law, average)) / (2 * law.first)
    total = average(f.curvature, g.whole)
    total += sp.Add(*(h * law.density(b) * law.average(g.whole, b) for b, h in f.bends))
    for b, h in f.jumps:  # the derivative of a delta function
        moved = b * law.average(g.whole, b) - C * _slope_given(g, b, law)
        total += h * law.density(b) / law.first * moved
    return total / 2
