"""What is known of averages: nothing is computed twice, and nothing is taken for another."""

import numpy as np
import pytest

from symres.check.rules.nested_panels import plane
from symres.check.rules.shared_panels import SharedPanels


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
