"""Derivatives of averages as averages: in the covariances by Price's theorem, in parameters and means by Leibniz' rule.

``d<F>/dS_ij = <d_i d_j F>``, half of it for i = j; a kink adds a delta function, its jump in slope times the density
there. This also holds for singular covariances. A derivative that F does not have moves onto the Gaussian weight by
Stein's lemma, ``<d_i F> = <s_i F>`` with the score ``s = S^-1 z``: one factor where F jumps in one of two variables,
two where it jumps in both or is infinitely steep. A parameter that moves a jump adds the jump times the density there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ..declare.phi import Phi
from ..declare.pieces import Pieces, value_at
from ..symbols import variables, z
from .integrand import separate

Average = Any  # an Expectation: it imports this module


@dataclass(frozen=True)
class Rule:
    """A derivative of ``<F>`` in a covariance as an average: slopes of F times a polynomial weight.

    Args:
        theorem: by Price, or by Stein.
        slopes: the variables in which F is differentiated, counted from 0.
        weight: (coefficient, power of every variable) of each monomial that multiplies them.
    """

    theorem: str
    slopes: tuple[int, ...]
    weight: tuple[tuple[sp.Expr, tuple[int, ...]], ...]


def covariance_rule(smooth: Sequence[bool], matrix: sp.Matrix, i: int, j: int) -> Rule:
    """How an average is differentiated in the covariance of variables i and j.

    Args:
        smooth: for every variable, whether F is continuous in it, with finite slopes.
        matrix: the covariance matrix.
        i: one variable, counted from 0.
        j: the other, or the same for a variance.
    """
    size = len(smooth)
    if i != j and smooth[i] and smooth[j]:
        return Rule("Price's theorem", (i, j), ((sp.Integer(1), (0,) * size),))
    bound = sp.symbols(f"z:{size}", real=True)
    inverse = matrix.inv()
    score = inverse * sp.Matrix(bound)
    front = sp.Rational(1, 2) if i == j else sp.Integer(1)
    slopes: tuple[int, ...] = ()
    weight = score[i] * score[j] - inverse[i, j]
    if smooth[i] or smooth[j]:
        at, other = (i, j) if smooth[i] else (j, i)
        slopes, weight = (at,), score[other]
    terms = sp.Poly(weight, *bound).terms()
    return Rule("Stein's lemma", slopes, tuple((front * c, powers) for powers, c in terms))


def covariance_derivative(average: Average, i: int, j: int) -> sp.Expr:
    """The derivative of an average in the covariance of variables i and j.

    Args:
        average: an Expectation.
        i: one variable, counted from 0.
        j: the other, or the same for a variance.
    """
    bound = variables[: average.dimension]
    if i == j and len(bound) > 1 and _is_smooth(average.integrand, len(bound), i):
        found = _variance_derivative(average, i)
        if found is not None:
            return found
    rule = covariance_rule(
        [_is_smooth(average.integrand, len(bound), k) for k in range(len(bound))], average.matrix, i, j
    )
    f = average.integrand
    for k in rule.slopes:
        f = _slope(f, len(bound), k)
    return sp.Add(*(c * average.like(f * sp.Mul(*map(sp.Pow, bound, powers))) for c, powers in rule.weight))


def _variance_derivative(average: Average, i: int) -> sp.Expr | None:
    """Half the average of the second derivative in variable i, delta functions at its kinks: for parallel inputs too.

    One variable alone has no singular law, and its averages read better with a factor z/K.
    """
    size = average.dimension
    slope = _slope(average.integrand, size, i)
    if not _has_finite_slopes(slope):
        return None
    total = average.like(_slope(slope, size, i))
    for c, factors in separate(slope, size):
        for b, jump in _jumps(factors[i]):
            total += c * jump * _at(average, factors, i, b)
    return total / 2


def parameter_derivative(average: Average, s: sp.Symbol) -> sp.Expr:
    """The derivative of an average in a parameter of its integrand; a mean is the m in f(x + m).

    Args:
        average: an Expectation.
        s: a symbol that does not stand in the covariance.
    """
    jumps = (b for _, factors in average.terms for f in factors for b, _ in _jumps(f))
    inside = (value for phi in average.integrand.atoms(Phi) for value in phi.values.values())
    if not any(e.has(s) for e in (*jumps, *inside)):
        slope = average.integrand.diff(s)
        if _is_ordinary(slope):
            return average.like(slope)
    total = sp.Integer(0)
    for c, factors in average.terms:
        total += c.diff(s) * average.like(_product(factors))
        for k, f in enumerate(factors):
            moved = f.map(lambda u: u.diff(s))
            total += c * average.like(_product([moved if n == k else g for n, g in enumerate(factors)]))
            for b, jump in _jumps(f):
                total -= c * jump * b.diff(s) * _at(average, factors, k, b)
    return total


# ---- regularity ----------------------------------------------------------------------------------------------------


def _is_smooth(integrand: sp.Expr, dimension: int, i: int) -> bool:
    """Whether F is continuous in variable i, with slopes that have finite values."""
    return _is_continuous(integrand, dimension, i) and _has_finite_slopes(integrand)


def _has_finite_slopes(integrand: sp.Expr) -> bool:
    return all(phi.pieces.has_finite_slopes for phi in integrand.atoms(Phi))


def _is_continuous(integrand: sp.Expr, dimension: int, i: int) -> bool:
    """Whether the whole integrand is continuous in variable i (a kink of phi is one, of phi' is a jump)."""
    terms = separate(integrand, dimension)
    if dimension > 1:
        return all(factors[i].is_continuous for _, factors in terms)
    total = None
    for coefficient, (factor,) in terms:
        scaled = factor.map(lambda u, c=coefficient: c * u)
        total = scaled if total is None else total.map(lambda u, v: u + v, scaled)
    return total is None or total.is_continuous


def _jumps(f: Pieces) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Where a function jumps, and by how much."""
    for b, jump, left, right in zip(f.breaks, f.jumps, f.parts, f.parts[1:], strict=False):
        if not jump.is_zero:
            yield b, value_at(right, b) - value_at(left, b)


# ---- terms ---------------------------------------------------------------------------------------------------------


def _slope(integrand: sp.Expr, dimension: int, i: int) -> sp.Expr:
    """The derivative in variable i away from breakpoints: the integrand is continuous there."""
    slope = integrand.diff(variables[i])
    if _is_ordinary(slope):
        return slope
    terms = separate(integrand, dimension)
    return sp.Add(*(c * _product([f.diff() if k == i else f for k, f in enumerate(factors)]) for c, factors in terms))


def _is_ordinary(slope: sp.Expr) -> bool:
    """Whether sympy wrote a function: a delta function times a continuous one that vanishes there is none."""
    return not slope.has(sp.DiracDelta, sp.Derivative, sp.Subs)


def _product(factors: Any) -> sp.Expr:
    return sp.Mul(*(f.as_expr().subs(z, x) for f, x in zip(factors, variables, strict=False)))


def _at(average: Average, factors: tuple[Pieces, ...], k: int, place: sp.Expr) -> sp.Expr:
    """The density of variable k at a place times the average of the other factors given that it is there."""
    density, law = average.law.given(k, place)
    rest = [f for m, f in enumerate(factors) if m != k]
    return density * law.expectation(_product(rest)) if rest else density
