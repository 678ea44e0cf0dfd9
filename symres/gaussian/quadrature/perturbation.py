"""How far an average of two functions moves while its covariance crosses a ball.

The law has three coordinates: the logarithms of the variances and the correlation r. Along them

    d<f g>/d log(K1) = <z1 f'(z1) g(z2)>/2,    d<f g>/dr = sqrt(K1 K2) <f'(z1) g'(z2)>   (Price),

for continuous f and g with square-integrable slopes, and Schwarz bounds both by averages over one variable. None of
them grows as r approaches 1, where the determinant of the covariance has lost nearly all its digits.
"""

from __future__ import annotations

from functools import lru_cache

from flint import arb, ctx

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import DeclarationError
from ...core.symbols import z
from .univariate import univariate_average

_BOUND_BITS = 16  # of a bound


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
