"""Derivatives of pair averages <f(z1) g(z2)> of functions that jump: the delta functions of f' and g' written out.

A function is f = fc + J, continuous plus steps of heights h_b at b, so that f' = fc' + sum_b h_b delta(z - b). With
``u1 = (K2*z1 - C*z2)/D``, ``D = K1*K2 - C**2`` and u2 likewise, <dF/dz1> = <u1 F> moves a derivative off a step, and
two steps meet in the density of both variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ...symbols import K1, K2, C, z

NEAREST = sp.Rational(1, 10**12)  # D/(K1*K2): nearer to C**2 = K1*K2 the derivatives, which diverge, are cut off
_DETERMINANT = sp.Max(K1 * K2 - C**2, NEAREST * K1 * K2)

Average = Callable[[sp.Expr, sp.Expr], sp.Expr]  # of functions of z1 and z2, each written in z


@dataclass(frozen=True)
class _Split:
    """A function in its two parts.

    Args:
        whole: f.
        slope: fc'.
        steps: J.
        places: (b, h_b).
    """

    whole: sp.Expr
    slope: sp.Expr
    steps: sp.Expr
    places: tuple[tuple[sp.Expr, sp.Expr], ...]

    @classmethod
    def of(cls, factor: Any) -> _Split:
        """The parts of a function in pieces."""
        pairs = zip(factor.breaks, factor.jumps, strict=True)
        places = tuple((b, height) for b, height in pairs if not height.is_zero)
        steps = sp.Add(*(height * sp.sign(z - b) / 2 for b, height in places))
        return cls(factor.as_expr(), factor.diff().as_expr(), steps, places)


def jumps(node: Any) -> bool:
    """Whether a function in a pair average jumps."""
    return any(not f.is_continuous for _, factors in node.terms for f in factors)


def covariance_slope(node: Any) -> sp.Expr:
    """The derivative in C: Price's theorem, <f' g'>."""
    return _summed(node, lambda f, g, average: _price(f, g, average, K1, K2))


def variance_slope(node: Any, first: bool) -> sp.Expr:
    """The derivative in K1 (or K2), <f'' g>/2, by Stein's lemma <z1 f' g> = K1 <f'' g> + C <f' g'>."""
    if first:
        return _summed(node, lambda f, g, average: _curvature(f, g, average, K1, K2))
    return _summed(node, lambda f, g, average: _curvature(g, f, lambda u, v: average(v, u), K2, K1))


def _summed(node: Any, slope: Callable[[_Split, _Split, Average], sp.Expr]) -> sp.Expr:
    x, y = sorted((s for s in node.integrand.free_symbols if s not in node.free_symbols), key=str)

    def average(f: sp.Expr, g: sp.Expr) -> sp.Expr:
        return node.func(f.subs(z, x) * g.subs(z, y), *node.covariance)

    return sp.Add(*(c * slope(_Split.of(f), _Split.of(g), average) for c, (f, g) in node.terms))


def _price(f: _Split, g: _Split, average: Average, K_f: sp.Symbol, K_g: sp.Symbol) -> sp.Expr:
    """<f' g'>."""
    total = average(f.slope, g.slope)
    if f.places:
        total += (K_g * average(z * f.steps, g.slope) - C * average(f.steps, z * g.slope)) / _DETERMINANT
    if g.places:
        total += (K_f * average(f.slope, z * g.steps) - C * average(z * f.slope, g.steps)) / _DETERMINANT
    for b, height in f.places:
        for c, other in g.places:
            square = (K_g * b**2 - 2 * C * b * c + K_f * c**2) / _DETERMINANT
            total += height * other * sp.exp(-square / 2) / (2 * sp.pi * sp.sqrt(_DETERMINANT))
    return total


def _curvature(f: _Split, g: _Split, average: Average, K_f: sp.Symbol, K_g: sp.Symbol) -> sp.Expr:
    """<f'' g>/2."""
    moved = average(z * f.slope, g.whole)  # <z1 f' g>
    if f.places:
        moved += (K_g * average(z**2 * f.steps, g.whole) - C * average(z * f.steps, z * g.whole)) / _DETERMINANT
        moved -= average(f.steps, g.whole)
    return (moved - C * _price(f, g, average, K_f, K_g)) / (2 * K_f)
