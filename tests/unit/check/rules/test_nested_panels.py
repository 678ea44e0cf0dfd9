"""Panels of averages: mass that no double reaches is refused, and overflows where no mass lies cost nothing."""

import math

import numpy as np
import pytest

from symres.check.rules.adaptive_panels import adapted, average1
from symres.check.rules.nested_panels import SharedPanels, plane
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


def known():
    return SharedPanels((12, 10), (1e-15, 1e-14))


def law(sigma, correlation):
    covariance = sigma**2 * np.array([[1.0, correlation], [correlation, 1.0]])
    return covariance, float(sigma * np.sqrt((1 - correlation) * (1 + correlation)))


def test_a_plane_is_planned_once_for_each_function_and_law():
    shared, functions = known(), {"product": lambda x, y: np.tanh(x) * np.tanh(y), "sum": lambda x, y: (x + y) ** 2}
    found = {}
    for name, function in functions.items():
        for here in (law(1.0, 0.6), law(1.0, -0.6), law(0.9, 0.6)):
            panels = shared.plane(name, function, *here, ((), ()))
            assert shared.plane(name, function, *here, ((), ())) is panels
            assert panels.average(14) == plane(function, *here, ((), ()), 10, 1e-14).average(14)
            found[panels.average(14)] = name
    assert len(found) == 6


def test_one_variable_is_averaged_once_at_each_resolution():
    calls = []

    def function(x):
        calls.append(x)
        return np.tanh(x) ** 2

    shared = known()
    first = [shared.average1("f", function, 0.8, (), points) for points in (12, 20)]
    done = len(calls)
    assert [shared.average1("f", function, 0.8, (), points) for points in (12, 20)] == first
    assert len(calls) == done
    assert shared.average1("f", function, 0.9, (), 20) != first[1]
    assert shared.average1("g", lambda x: x**2, 0.8, (), 20)[0] == pytest.approx(0.64, rel=1e-14)


@pytest.mark.parametrize("covariance", [0.6, 0.999])
def test_of_symmetric_functions_one_axis_is_planned(covariance):
    def squared_distance(x, y):
        return (np.maximum(x, 0) - np.maximum(y, 0)) ** 2

    law = np.array([[1.0, covariance], [covariance, 1.0]])
    asked = squared_distance, law, (1 - covariance**2) ** 0.5, ((0.0,), (0.0,)), 10, TOLERANCE
    one, both = plane(*asked, True), plane(*asked)
    np.testing.assert_array_equal(one.edges1, both.edges1)
    np.testing.assert_array_equal(one.edges2, both.edges2)
