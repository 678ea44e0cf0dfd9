"""The average of f(z1) g(z2) over two correlated Gaussian variables, enclosed rigorously.

Everything is reduced to one variable. Far out, ``<|f g|; |z1| > T>^2 <= <f^2; |z1| > T> <g^2>``. Inside, the product of
two rules, unless z2 is nearly a function of z1: then averages over both in turn, and the product only near the kinks
of g, where it pays to resolve the deviation of z2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from flint import arb, ctx

from ...activations.piecewise import PiecewiseFunction
from ...activations.symmetries import is_odd
from ...core.errors import SymresError
from ...core.work_budget import MOST_PANELS
from ...functions.balls import Ball
from .bivariate_normal import BivariateNormal, law_of, perturbation_bound
from .conditional_rule import conditional_average
from .panels import LOG2_E, Function, Weight, log2_sum, log2_upper, power_of_two
from .tensor_rule import Strip, ball_key, ball_of, product_average
from .univariate import (
    GUARD_BITS,
    CompiledPieces,
    Interval,
    Segment,
    check_growth,
    compile_pieces,
    gaussian_weight,
    log2_largest,
    refine,
    rough_log2_size,
    rule,
    segments_between,
    tail_cutoff,
    univariate_average,
)

_MAX_REACH = 100.0  # standard deviations of z2 given z1: beyond are 2**-7000 of g, and rules that take minutes
_KEPT = 256  # sizes of functions under a law
_NARROW = 2.0**-6  # deviation of z2 given z1 over that of z2: below, the product rule takes too many panels


def bivariate_average(
    factors: tuple[PiecewiseFunction, PiecewiseFunction], covariance: tuple[arb, arb, arb], bits: int
) -> arb:
    """Enclose ``<f(z1) g(z2)>``.

    Args:
        factors: (f, g), without parameters.
        covariance: (K1, C, K2) with C**2 <= K1*K2; equality is allowed.
        bits: relative accuracy asked for.

    Raises:
        DeclarationError: an impossible covariance, or a function without an average.
        SymresError: a function that could not be bounded.
    """
    (f, g), (K1, C, K2) = map(compile_pieces, factors), covariance
    law = law_of(covariance)
    if C.is_zero():
        with ctx.workprec(bits + GUARD_BITS):
            return univariate_average(factors[0], K1, bits) * univariate_average(factors[1], K2, bits)
    if not (K1 > 0 and K2 > 0):
        found = "a variance may be zero although the covariance is not"
        raise SymresError("a Gaussian average over two variables", found, "raise the precision, or pass C = 0")
    check_growth(f, gaussian_weight(K1))
    check_growth(g, gaussian_weight(K2))
    if is_odd(factors):
        return arb(0)
    if law.is_regular and law.determinant.rel_accuracy_bits() < bits + 8:
        perturbation = perturbation_bound(factors, covariance, 2 * bits + GUARD_BITS)
        middle = tuple(x.mid() for x in covariance)
        if perturbation is not None and law_of(middle).determinant > 0:
            with ctx.workprec(bits + GUARD_BITS):
                return _average(f, g, middle, bits) + arb(0, perturbation)
    return _average(f, g, covariance, bits)


def _average(f: CompiledPieces, g: CompiledPieces, covariance: tuple[arb, arb, arb], bits: int) -> arb:
    """Enclose the average at variances and a covariance that are not 0."""
    law, (K1, C, K2) = law_of(covariance), covariance
    attainable = min(bits, *(x.rel_accuracy_bits() - 8 for x in (*covariance, law.determinant)))
    if not law.is_regular and not law.determinant.is_zero():  # the deviation is an error of the result
        bits, attainable = min(bits, max(8, int(8 - log2_upper(law.conditional_deviation)))), 0
    if len(g.breaks) > len(f.breaks):
        (f, g), covariance = (g, f), (K2, C, K1)  # shearing prefers a smooth g

    def attempt(size: float | None, precision: int) -> tuple[arb, float]:
        with ctx.workprec(precision):
            return _attempt(f, g, law_of(covariance), size, bits)

    return refine(attempt, bits, attainable)


def _attempt(
    f: CompiledPieces, g: CompiledPieces, law: BivariateNormal, size: float | None, bits: int
) -> tuple[arb, float]:
    """Enclose the average to about 2**(size - bits); returns the size too, found here if not given."""
    one, two = _Marginal(f, Weight(law.k1, law.scale1)), _Marginal(g, Weight(law.k2, law.scale2))
    most = one.log2_norm + two.log2_norm
    size = most if size is None else size
    if most == -math.inf:
        return arb(0), size
    goal = size - bits - 8
    ends1, ends2 = one.ends(goal - two.log2_norm, bits), two.ends(goal - one.log2_norm, bits)
    errors = [goal + 1]  # the tails
    if law.is_regular and law.conditional_deviation > _NARROW * law.k2.sqrt():
        total = _product(one, two, law, ends1, ends2, goal)
    else:
        spike = one.log2_norm + two.log2_sup(ends2)
        reach = min(_MAX_REACH, math.sqrt(2 * max(1.0, spike - goal) / LOG2_E))
        errors.append(spike - reach**2 / 2 * LOG2_E)  # from |y| > reach
        total, rough = conditional_average(one.segments, g, law, ends1, reach, goal)
        for a, b in rough:
            around = law.slope * a.union(b) + law.conditional_deviation * arb(0, reach)
            window = max(around.lower(), ends2[0]), min(around.upper(), ends2[1])
            if law.is_regular:
                total += _product(one, two, law, (a, b), window, goal)
            else:
                errors.append(one.log2_mean((a, b), 1) + two.log2_sup(window))
    return total + arb(0, power_of_two(log2_sum(errors))), size


def _product(
    one: _Marginal, two: _Marginal, law: BivariateNormal, ends1: Interval, ends2: Interval, goal: float
) -> arb:
    """Enclose the part from a rectangle, by the law in the middle of the ball and the distance of the others."""
    f, g = Strip(one.segments, ends1, one.log2_square), Strip(two.segments, ends2, two.log2_square)
    total = product_average(f, g, law.middle, goal)
    if law.width.is_zero():
        return total
    # from the middle to any law of the ball the average moves by at most the root mean square of f*g times the distance
    fourths = one.log2_mean(ends1, 4) + two.log2_mean(ends2, 4)
    return total + arb(0, power_of_two(log2_upper(law.width) + fourths / 4))


@dataclass(frozen=True)
class _Marginal:
    """One of the two functions under the marginal law of its variable."""

    function: CompiledPieces
    weight: Weight  # of its variable

    @cached_property
    def segments(self) -> list[Segment]:
        """The smooth pieces of the function, in the coordinate of the weight."""
        return _segments(self.function, self.weight.scale)

    @cached_property
    def log2_square(self) -> float:
        """log2 of a bound on the integral of its square with the weight."""
        return self._log2_power(2)

    def _log2_power(self, power: int) -> float:
        law = ball_key(self.weight.variance), ball_key(self.weight.scale)
        return _log2_power(self.function, power, *law, ctx.prec, MOST_PANELS.get())

    @property
    def log2_norm(self) -> float:
        """log2 of a bound on the root of the mean square."""
        return (self.log2_square - self._log2_constant) / 2

    @cached_property
    def _log2_constant(self) -> float:
        return math.log2(2 * math.pi * float(self.weight.variance.lower())) / 2 - 1e-9

    def ends(self, log2_tolerance: float, bits: int) -> Interval:
        """Two places beyond which the root of the mean square is below a tolerance together."""
        share = 2 * log2_tolerance + self._log2_constant - 1
        low, high = (
            arb(tail_cutoff(_squares(self.segments), self.weight, side, share, 2 * bits)[0]) for side in (-1, 1)
        )
        return low, high

    def log2_sup(self, ends: Interval) -> float:
        """log2 of a bound on the absolute value between two places."""
        return log2_largest(self.segments, self.weight, *ends)

    def log2_mean(self, ends: Interval, power: int) -> float:
        """log2 of a bound on the average of a power of the absolute value between two places, zero elsewhere."""
        here = power * self.log2_sup(ends) + log2_upper(ends[1] - ends[0])
        here += self.weight.log2_sup(float(ends[0].lower()), float(ends[1].upper()), 0.0)
        return (here if power == 1 else min(here, self._log2_power(4))) - self._log2_constant


def _segments(function: CompiledPieces, scale: arb) -> list[Segment]:
    return list(segments_between([b / scale for b in function.breakpoints()], function.parts))


@lru_cache(maxsize=_KEPT)
def _log2_power(
    function: CompiledPieces,
    power: int,
    variance: tuple[int, ...],
    scale: tuple[int, ...],
    precision: int,
    most_panels: int,
) -> float:
    """log2 of a bound on the integral of the second or fourth power: one for all correlations with another variable."""
    weight = Weight(ball_of(variance), ball_of(scale))
    segments = _squares(_segments(function, weight.scale))
    segments = segments if power == 2 else _squares(segments)
    rough = max((rough_log2_size(s, weight) for s in segments), default=-math.inf)
    return log2_upper(rule(segments, weight, rough, 8)(weight.variance))


def _squares(segments: list[Segment]) -> list[Segment]:
    return [replace(s, function=_Square(s.function)) for s in segments]


@dataclass(frozen=True)
class _Square:
    """f(z)**2."""

    function: Function

    def __call__(self, values: list[Ball], analytic: bool) -> Ball:
        value = self.function(values, analytic)
        return value * value
