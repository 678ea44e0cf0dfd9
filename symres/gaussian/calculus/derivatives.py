"""Derivatives of averages as averages: in the covariances by Price's theorem, in parameters and means by Leibniz' rule.

``d<F>/dS_ij = <d_i d_j F>``, half of it for i = j, with the delta functions of F's jumps and kinks: a density times
the average of the other factors given that the variable is there. This also holds for singular covariances. Where F is
infinitely steep, and for one variable of variance K, whose averages read better with a factor z/K, the derivative moves
onto the Gaussian weight by Stein's lemma, ``<d_i F> = <s_i F>`` with the score ``s = S^-1 z``. A parameter that moves a
jump adds the jump times the density there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol

import sympy as sp

from ...activations.atom import Phi
from ...activations.piecewise import PiecewiseFunction, derivative, value_at
from ...core.atoms import AverageNode
from ...core.errors import NoClosedForm
from ...core.symbols import variables, z
from .integrand import Term, separate


class Law(Protocol):
    """What ``Gaussian`` offers; ``expectation.py`` imports this module."""

    @property
    def matrix(self) -> sp.Matrix:
        """The covariance matrix."""

    def expectation(self, integrand: sp.Expr) -> sp.Expr:
        """The unevaluated average."""

    def conditional(self, k: int, place: sp.Expr) -> tuple[sp.Expr, Law]:
        """The density of variable k at a place, and the law of the others given that it is there."""


@dataclass(frozen=True)
class CovarianceRule:
    """A derivative of ``<F>`` in a covariance as an average: slopes of F times a polynomial weight.

    Args:
        theorem: by Price, or by Stein.
        slopes: the variables in which F is differentiated, counted from 0.
        weight: (coefficient, power of every variable) of each monomial that multiplies them.
    """

    theorem: str
    slopes: tuple[int, ...]
    weight: tuple[tuple[sp.Expr, tuple[int, ...]], ...]


def covariance_rule(smooth: Sequence[bool], matrix: sp.Matrix, i: int, j: int) -> CovarianceRule:
    """How an average is differentiated in the covariance of variables i and j.

    Args:
        smooth: for every variable, whether F is continuous in it, with finite slopes.
        matrix: the covariance matrix.
        i: one variable, counted from 0.
        j: the other, or the same for a variance.
    """
    size = len(smooth)
    if i != j and smooth[i] and smooth[j]:
        return CovarianceRule("Price's theorem", (i, j), ((sp.Integer(1), (0,) * size),))
    bound = sp.symbols(f"z:{size}", real=True)
    inverse = matrix.inv()
    score = inverse * sp.Matrix(bound)
    front = sp.Rational(1, 2) if i == j else sp.Integer(1)
    slopes: tuple[int, ...] = ()
    weight = score[i] * score[j] - inverse[i, j]
    if smooth[i] or smooth[j]:
        smooth_one, other = (i, j) if smooth[i] else (j, i)
        slopes, weight = (smooth_one,), score[other]
    terms = sp.Poly(weight, *bound).terms()
    return CovarianceRule("Stein's lemma", slopes, tuple((front * c, powers) for powers, c in terms))


def covariance_derivative(average: AverageNode, law: Law, i: int, j: int) -> sp.Expr:
    """The derivative of an average in the covariance of variables i and j.

    Args:
        average: of functions.
        law: of its variables.
        i: one variable, counted from 0.
        j: the other, or the same for a variance.
    """
    bound = variables[: average.dimension]
    front = sp.Rational(1, 2) if i == j else sp.Integer(1)
    if _has_finite_slopes(average, i, j) and not (len(bound) == 1 and law.matrix[0, 0].is_Symbol):
        return front * _differentiated(average, law, (i, j))
    rule = covariance_rule([_is_smooth(average, k) for k in range(len(bound))], law.matrix, i, j)
    f = average.integrand
    for k in rule.slopes:
        f = _slope(f, len(bound), k)
    return sp.Add(*(c * law.expectation(f * sp.Mul(*map(sp.Pow, bound, powers))) for c, powers in rule.weight))


def parameter_derivative(average: AverageNode, law: Law, s: sp.Symbol) -> sp.Expr:
    """The derivative of an average in a parameter of its integrand; a mean is the m in f(x + m).

    Args:
        average: of functions.
        law: of its variables.
        s: a symbol that does not stand in the covariance.
    """
    jumps = (b for _, factors in average.terms for f in factors for b, _ in _jumps(f))
    inside = (value for phi in average.integrand.atoms(Phi) for value in phi.values.values())
    steep = any(s in f.free_symbols and not f.has_finite_slopes for _, factors in average.terms for f in factors)
    if not steep and not any(e.has(s) for e in (*jumps, *inside)):
        slope = average.integrand.diff(s)
        if _is_function(slope):
            return law.expectation(slope)
    total = sp.Integer(0)
    for c, factors in average.terms:
        total += c.diff(s) * law.expectation(_product(factors))
        for k, f in enumerate(factors):
            if steep and s in f.free_symbols and not f.has_finite_slopes:
                total += c * _shift_rate(f, s) * law.expectation(_score(law, k) * _product(factors))
                continue
            moved: tuple[Part, ...] = (
                f.map(lambda u: u.diff(s)),
                *(Delta(-b.diff(s) * jump, b) for b, jump in _jumps(f)),
            )
            for part in moved:
                total += c * _mean_of_product(law, [part if n == k else g for n, g in enumerate(factors)])
    return total


def _shift_rate(f: PiecewiseFunction, s: sp.Symbol) -> sp.Expr:
    """How fast a parameter shifts a function that is steep somewhere: c in f(x + c*s).

    Raises:
        NoClosedForm: it does more than that.
    """
    (rate, *others) = {-b.diff(s) for b in f.breaks}
    if others or any(sp.expand(part.diff(s) - rate * derivative(part)) != 0 for part in f.parts):
        raise NoClosedForm(
            f"the derivative of the average of {f.as_expr()} in {s}",
            "the slope of the function is infinite somewhere, and the parameter is not merely a shift",
            f"set a number for {s}, or take differences",
        )
    return rate


def _score(law: Law, k: int) -> sp.Expr:
    """Minus the logarithmic derivative of the density in one variable: Stein's lemma is ``<d_k F> = <score F>``."""
    inverse = law.matrix.inv()
    return (inverse * sp.Matrix(variables[: inverse.rows]))[k]


# ---- derivatives with delta functions ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Delta:
    """``weight*delta(x - place)``, or its derivative of that order."""

    weight: sp.Expr
    place: sp.Expr
    order: int = 0


Part = PiecewiseFunction | Delta


def _differentiated(average: AverageNode, law: Law, slopes: tuple[int, int]) -> sp.Expr:
    """The average of an integrand differentiated in two variables, or twice in one, with its delta functions."""
    regular = average.integrand
    for k in slopes:
        regular = _slope(regular, average.dimension, k)
    total = law.expectation(regular)
    for c, factors in average.terms:
        parts: list[list[Part]] = [[f] for f in factors]
        for k in slopes:
            parts[k] = [slope for part in parts[k] for slope in _slopes(part)]
        for choice in product(*parts):
            if any(isinstance(part, Delta) for part in choice):
                total += c * _mean_of_product(law, choice)
    return total


def _slopes(part: Part) -> Iterator[Part]:
    """The derivative: between the breakpoints, and a delta function at every jump."""
    if isinstance(part, Delta):
        yield replace(part, order=part.order + 1)
        return
    yield part.diff()
    for b, jump in _jumps(part):
        yield Delta(jump, b)


def _mean_of_product(law: Law, parts: Sequence[Part]) -> sp.Expr:
    """The average of a product of functions and delta functions, one of each variable."""
    pairs = zip(parts, variables, strict=False)
    functions = [in_variable(f, x) for f, x in pairs if isinstance(f, PiecewiseFunction)]
    deltas = {k: part for k, part in enumerate(parts) if isinstance(part, Delta)}
    return mean_with_deltas(law, sp.Mul(*functions), deltas)


def mean_with_deltas(law: Law, function: sp.Expr, deltas: Mapping[int, Delta]) -> sp.Expr:
    """The average of a function times delta functions of other variables: densities there, and the average given these.

    Args:
        law: of all variables.
        function: of the variables without a delta function.
        deltas: by the number of their variable, counted from 0; derivatives of them differentiate in the place.
    """
    left, front = list(range(law.matrix.rows)), sp.Integer(1)
    places = {k: sp.Dummy(real=True) if delta.order else delta.place for k, delta in deltas.items()}
    for k, delta in deltas.items():
        density, law = law.conditional(left.index(k), places[k])
        left.remove(k)
        front *= delta.weight * density
    renamed = {variables[old]: variables[new] for new, old in enumerate(left)}
    value = front * (law.expectation(function.subs(renamed, simultaneous=True)) if left else function)
    for k, delta in deltas.items():
        for _ in range(delta.order):
            value = -value.diff(places[k])
        value = value.subs(places[k], delta.place)
    return value


# ---- regularity ----------------------------------------------------------------------------------------------------


def _has_finite_slopes(average: AverageNode, i: int, j: int) -> bool:
    """Whether the derivative in variables i and j is made of finite slopes and delta functions."""
    orders = Counter((i, j))
    return all(
        f.has_finite_slopes and (orders[k] < 2 or f.diff().has_finite_slopes)
        for _, factors in average.terms
        for k, f in enumerate(factors)
        if k in orders
    )


def _is_smooth(average: AverageNode, i: int) -> bool:
    """Whether F is continuous in variable i, with slopes that have finite values."""
    return _is_continuous(average.terms, i) and all(factors[i].has_finite_slopes for _, factors in average.terms)


def _is_continuous(terms: Sequence[Term], i: int) -> bool:
    """Whether the whole integrand is continuous in variable i (a kink of phi is one, of phi' is a jump)."""
    if any(len(factors) > 1 for _, factors in terms):
        return all(factors[i].is_continuous for _, factors in terms)
    total = None
    for coefficient, (factor,) in terms:
        scaled = factor.map(lambda u, c=coefficient: c * u)
        total = scaled if total is None else total.map(lambda u, v: u + v, scaled)
    return total is None or total.is_continuous


def _jumps(f: PiecewiseFunction) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Where a function jumps, and by how much."""
    for b, jump, left, right in zip(f.breaks, f.jumps, f.parts, f.parts[1:], strict=False):
        if jump != 0:
            yield b, value_at(right, b) - value_at(left, b)


# ---- terms ---------------------------------------------------------------------------------------------------------


def _slope(integrand: sp.Expr, dimension: int, i: int) -> sp.Expr:
    """The derivative in variable i away from breakpoints; activations that are continuous keep their names."""
    slope, terms = integrand.diff(variables[i]), separate(integrand, variables[:dimension])
    if _is_function(slope) and _is_continuous(terms, i):
        return slope
    return sp.Add(*(c * _product([f.diff() if k == i else f for k, f in enumerate(factors)]) for c, factors in terms))


def _is_function(slope: sp.Expr) -> bool:
    """Whether sympy wrote a function: a delta function times a continuous one that vanishes there is none."""
    return not slope.has(sp.DiracDelta, sp.Derivative, sp.Subs)


def _product(factors: Iterable[PiecewiseFunction]) -> sp.Expr:
    """One function of each variable, multiplied."""
    return sp.Mul(*map(in_variable, factors, variables))


def in_variable(f: PiecewiseFunction, x: sp.Symbol) -> sp.Expr:
    """A function of z as one of another variable."""
    return f.as_expr().subs(z, x)
