"""The law of two correlated Gaussian variables, and how far an average moves while their covariance crosses a ball.

Both variables have coordinates in which they are of order one. Apart from these, the law has three coordinates: the
logarithms of the variances and the correlation r. Along them

    d<f g>/d log(K1) = <z1 f'(z1) g(z2)>/2,    d<f g>/dr = sqrt(K1 K2) <f'(z1) g'(z2)>   (Price),

for continuous f and g with square-integrable slopes, and Schwarz bounds both by averages over one variable. None of
them grows as r approaches 1, where the determinant of the covariance has lost nearly all its digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from flint import arb, ctx

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import DeclarationError
from ...core.symbols import z
from .univariate import check_variance, gaussian_weight, univariate_average

_REGULAR_BITS = 8  # a determinant known to fewer bits is treated as one that may be zero
_BOUND_BITS = 16  # of a bound


@dataclass(frozen=True)
class BivariateNormal:
    """Two centred variables ``z1 = scale1*x`` and ``z2 = scale2*w``.

    Args:
        scale1, scale2: powers of two.
        k1, c, k2: variances and covariance of x and w.
        determinant: ``k1*k2 - c**2``; exactly 0 where that is known.
    """

    scale1: arb
    scale2: arb
    k1: arb
    c: arb
    k2: arb
    determinant: arb

    @cached_property
    def is_regular(self) -> bool:
        """The variables have a joint density, and it is known."""
        return bool(self.determinant > 0) and self.determinant.rel_accuracy_bits() > _REGULAR_BITS

    @cached_property
    def slope(self) -> arb:
        """The mean of w given x is slope*x."""
        return arb(1) if self.c is self.k1 else self.c / self.k1

    @cached_property
    def conditional_deviation(self) -> arb:
        """The standard deviation of w given x; a ball around zero where it is hardly known."""
        if self.is_regular:
            return (self.determinant / self.k1).sqrt()
        log2_largest = (self.determinant.abs_upper() / self.k1).sqrt().upper()
        return arb(0).union(log2_largest)

    @cached_property
    def middle(self) -> BivariateNormal:
        """The law with exact numbers in the middle of the balls."""
        k1, c, k2 = self.k1.mid(), self.c.mid(), self.k2.mid()
        with ctx.workprec(_exact_precision(k1, c, k2)):
            return replace(self, k1=k1, c=c, k2=k2, determinant=k1 * k2 - c * c)

    @cached_property
    def inverse(self) -> tuple[arb, arb, arb]:
        """The upper triangle of the inverse covariance matrix."""
        return self.k2 / self.determinant, -self.c / self.determinant, self.k1 / self.determinant

    @cached_property
    def width(self) -> arb:
        """A bound on the distance of any law in the ball from the middle.

        Along a path S(t) of covariances, ``d<h>/dt`` is the average of h times a polynomial of degree 2 with mean 0
        and variance ``tr((S^-1 dS/dt)^2)/2``; the root of that, the speed of Fisher and Rao, bounds it by Schwarz.
        """
        p11, p12, p22 = self.inverse
        d1, d, d2 = (x.rad() for x in (self.k1, self.c, self.k2))
        diagonal = abs(p11) * d1 + abs(p12) * d, abs(p12) * d + abs(p22) * d2
        product = (abs(p11) * d + abs(p12) * d2) * (abs(p12) * d1 + abs(p22) * d)
        return ((diagonal[0] ** 2 + 2 * product + diagonal[1] ** 2) / 2).sqrt().upper()


def law_of(covariance: tuple[arb, arb, arb]) -> BivariateNormal:
    """The law with a covariance (K1, C, K2) of positive variances.

    Three times the very same ball is the law of one variable counted twice, even if the ball is wide: it stands for
    one number. Equal balls of different origin are no proof of that.

    Raises:
        DeclarationError: there is no such law.
    """
    K1, C, K2 = covariance
    check_variance(K1)
    check_variance(K2)
    single = K1 is C is K2
    with ctx.workprec(_exact_precision(K1, C, K2)):
        determinant = arb(0) if single else K1 * K2 - C * C
        one, two = gaussian_weight(K1), gaussian_weight(K2)
        k1, k2, scale = one.variance, two.variance, one.scale * two.scale
        law = BivariateNormal(one.scale, two.scale, k1, k1 if single else C / scale, k2, determinant / scale**2)
    if determinant < 0 or not C.is_finite():
        found = f"|C| = {abs(C).str(5)} exceeds sqrt(K1*K2) = {(K1 * K2).sqrt().str(5)}"
        raise DeclarationError("a Gaussian average over two variables", found, "pass a covariance with C**2 <= K1*K2")
    return law


def _exact_precision(*balls: arb) -> int:
    """A precision in which products of the midpoints are exact: ``|C| = sqrt(K1*K2)`` must give exactly 0."""
    return 2 * max(ball.mid().bits() for ball in balls) + 64


def perturbation_bound(
    factors: tuple[PiecewiseFunction, PiecewiseFunction], covariance: tuple[arb, arb, arb], precision: int
) -> arb | None:
    """A bound on the distance between the averages at any covariance in a ball and at its middle.

    Args:
        factors: (f, g).
        covariance: (K1, C, K2), of positive variances; the middle must be a covariance too.
        precision: in which the balls are looked at.

    Returns:
        The bound; None if a function jumps, or has a slope without mean square.
    """
    if not all(map(_has_finite_slopes, factors)):
        return None
    K1, C, K2 = covariance
    with ctx.workprec(precision):
        correlation = 2 * (C / (K1 * K2).sqrt()).rad()
        stretches = [2 * variance.rad() / variance.abs_lower() for variance in (K1, K2)]
    with ctx.workprec(_BOUND_BITS + 20):
        sizes = [_mean_squares(f, variance) for f, variance in zip(factors, (K1, K2), strict=True)]
        (f, slope_f, radial_f), (g, slope_g, radial_g) = sizes
        bound = correlation * (K1 * slope_f * K2 * slope_g).sqrt()
        bound += stretches[0] * (radial_f * g).sqrt() / 2 + stretches[1] * (radial_g * f).sqrt() / 2
        return bound.abs_upper()


@lru_cache(maxsize=256)
def _has_finite_slopes(function: PiecewiseFunction) -> bool:
    """Whether a function is continuous and nowhere infinitely steep; False where its formula does not tell."""
    try:
        return function.is_continuous and function.has_finite_slopes
    except DeclarationError:
        return False


def _mean_squares(f: PiecewiseFunction, variance: arb) -> tuple[arb, ...]:
    """Bounds on the mean squares of f, f' and z f'."""
    slope = f.diff()
    return tuple(
        abs(univariate_average(function.map(lambda u: u**2), variance, _BOUND_BITS)).upper()
        for function in (f, slope, slope.map(lambda u: z * u))
    )
