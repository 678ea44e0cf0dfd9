"""Panels of plane averages: mass that exponentials carry far from the origin, and mass that no double reaches."""

import math

import numpy as np
import pytest

from symres.check.rules.adaptive_panels import adapted, average1, rounding
from symres.check.rules.nested_panels import plane
from symres.core.errors import SymresError

TOLERANCE = 1e-14


def silent(function):
    """As the integrands of the room are: infinite where they overflow, without a warning."""

    def quiet(*xs):
        with np.errstate(all="ignore"):
            return function(*xs)

    return quiet


def panels(function, K1, K2, C, breaks=((), ())):
    covariance = np.array([[K1, C], [C, K2]])
    return plane(silent(function), covariance, np.sqrt(np.linalg.det(covariance) / K1), breaks, 10, TOLERANCE)


@pytest.mark.parametrize(("K1", "K2", "rho"), [(3.98, 3.61, -0.786), (1.12, 0.614, -0.5), (20, 12, 0.9), (0.01, 2, 0)])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 2), (1, -2), (-2.5, 0.5)])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_shifted_mass_by_hand(K1, K2, rho, a, b, power):
    """<x1^m exp(a x1 + b x2)>: the exponentials shift the mean of x1 to a K1 + b C."""
    C = rho * math.sqrt(K1 * K2)
    shift = a * K1 + b * C
    size = math.exp((a * a * K1 + b * b * K2 + 2 * a * b * C) / 2)
    expected = size * (1, shift, shift**2 + K1)[power]
    modulus = size * math.sqrt(shift**2 + K1) ** power  # at least <|f|>
    found = panels(lambda x, y: x**power * np.exp(a * x) * np.exp(b * y), K1, K2, C)
    for points in (10, 14):
        assert abs(found.average(points)[0] - expected) < 3 * rounding(modulus)


def test_two_far_masses_at_once():
    # (exp(2 x1) - exp(2 x2))^2 has one peak on either axis, 15 deviations apart, and a third between them
    K, C = 15.0, -6.0
    expected = 2 * math.exp(8 * K) - 2 * math.exp(4 * (K + C))
    found = panels(lambda x, y: (np.exp(2 * x) - np.exp(2 * y)) ** 2, K, K, C)
    assert found.average(14)[0] == pytest.approx(expected, rel=1e-13)
    lopsided = panels(lambda x, y: np.exp(2 * x) + 1e-20 * np.exp(4 * y), K, K, C)
    assert lopsided.average(14)[0] == pytest.approx(math.exp(2 * K) + 1e-20 * math.exp(8 * K), rel=1e-13)


def test_kinks_are_edges_wherever_the_mass_is():
    # <exp(x1) max(x2 - 1, 0)> = exp(K1/2) <max(y - 1, 0)> with y ~ N(C, K2)
    K1, K2, C = 4.0, 3.0, -3.2
    d = (C - 1) / math.sqrt(K2)
    tail = (C - 1) * math.erfc(-d / math.sqrt(2)) / 2 + math.sqrt(K2 / (2 * math.pi)) * math.exp(-d * d / 2)
    found = panels(lambda x, y: np.exp(x) * np.maximum(y - 1, 0), K1, K2, C, ((), (1.0,)))
    assert found.average(14)[0] == pytest.approx(math.exp(K1 / 2) * tail, rel=1e-11)


@pytest.mark.parametrize("slope", [20.0, 45.0, 1000.0])
def test_mass_out_of_reach_is_refused(slope):
    # exp(2 slope x) has its mass at x = 2 slope, beyond the last panel or the largest double
    with pytest.raises(SymresError, match="contributes most"):
        adapted(silent(lambda x: np.exp(2 * slope * x)), 1.0, (), 12, TOLERANCE)
    with pytest.raises(SymresError, match="contributes most"):
        panels(lambda x, y: np.exp(1.5 * slope * x) * np.exp(slope * y), 1.0, 1.0, 0.5).average(14)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 50.0])
def test_an_overflow_where_nothing_lies_costs_nothing(sigma):
    # doubles end at 35 deviations, the mass is at 20
    growing = silent(lambda x: np.exp(20 * x / sigma))
    edges = adapted(growing, sigma, (), 12, TOLERANCE)
    assert average1(growing, sigma, edges, 20)[0] == pytest.approx(math.exp(200), rel=1e-12)


def test_the_modulus_comes_along():
    value, size = panels(lambda x, y: x * y, 1.0, 1.0, 0.0).average(14)
    assert abs(value) < 1e-15 and size == pytest.approx(2 / math.pi, rel=1e-5)
