"""Panels of averages: mass that no double reaches is refused, and overflows where no mass lies cost nothing."""

import math

import numpy as np
import pytest

from symres.check.rules.adaptive_panels import adapted, average1
from symres.check.rules.nested_panels import plane
from symres.core.errors import SymresError

TOLERANCE = 1e-14


def silent(function):
    """As the integrands of the room are: infinite where they overflow, without a warning."""

    def quiet(*xs):
        with np.errstate(all="ignore"):
            return function(*xs)

    return quiet


@pytest.mark.parametrize("slope", [20.0, 45.0, 1000.0])
def test_mass_out_of_reach_is_refused(slope):
    # exp(2 slope x) has its mass at x = 2 slope, beyond the last panel or the largest double
    with pytest.raises(SymresError, match="contributes most"):
        adapted(silent(lambda x: np.exp(2 * slope * x)), 1.0, (), 12, TOLERANCE)
    growing, covariance = silent(lambda x, y: np.exp(slope * (1.5 * x + y))), np.array([[1.0, 0.5], [0.5, 1.0]])
    with pytest.raises(SymresError, match="contributes most"):
        plane(growing, covariance, 0.75**0.5, ((), ()), 10, TOLERANCE).average(14)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 50.0])
def test_an_overflow_where_nothing_lies_costs_nothing(sigma):
    # doubles end at 35 deviations, the mass is at 20
    growing = silent(lambda x: np.exp(20 * x / sigma))
    edges = adapted(growing, sigma, (), 12, TOLERANCE)
    assert average1(growing, sigma, edges, 20)[0] == pytest.approx(math.exp(200), rel=1e-12)
