"""Gaussian averages as balls: numbers with a bound on their error."""

from __future__ import annotations

from flint import arb

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import DeclarationError, NoClosedForm
from .bivariate import bivariate_average
from .univariate import univariate_average


def average_ball(factors: tuple[PiecewiseFunction, ...], covariance: tuple[arb, ...], bits: int) -> arb:
    """Enclose the average of a product of functions of jointly Gaussian centred variables.

    Args:
        factors: one function of ``z`` per variable, without parameters.
        covariance: the upper triangle of the covariance matrix, row by row: (K,) or (K1, C, K2).
        bits: relative accuracy asked for; the ball is as wide as its arguments and the functions demand.

    Raises:
        DeclarationError: a parameter without a value, an impossible covariance, or a function without an average.
        NoClosedForm: more than two variables.
    """
    for symbol in sorted(set().union(*(f.free_symbols for f in factors)), key=str):
        raise DeclarationError(
            "the number of a Gaussian average", f"the parameter {symbol} has no value", f"pass {symbol}=..."
        )
    if len(factors) == 1 and len(covariance) == 1:
        return univariate_average(*factors, *covariance, bits)
    if len(factors) == 2 and len(covariance) == 3:
        return bivariate_average(factors, covariance, bits)
    raise NoClosedForm(
        f"the number of an average over {len(factors)} variables with {len(covariance)} covariances",
        "there are rules for one and two variables",
        "split the integrand into products of functions of one or two variables",
    )
