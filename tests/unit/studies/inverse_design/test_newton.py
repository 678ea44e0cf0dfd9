"""Newton's method where zeros are double ones."""

import mpmath as mp
import pytest

from symres.studies.inverse_design.newton import newton


def test_a_mean_whose_square_vanishes():
    """(x - y)^2 = 0 and x + y^3 = 2 meet at (1, 1), where slopes have no inverse."""
    calls = []

    def equations(places):
        calls.append(places)
        x, y = places
        return [(x - y) ** 2, x + y**3 - 2]

    zero = newton(equations, [1.3, 0.8], 30)
    assert [float(x) for x in zero] == pytest.approx([1, 1], abs=1e-12)
    assert len(calls) < 60  # by halves it would be 3 values for each of 45 steps


def test_simple_zeros_and_none():
    zero = newton(lambda places: [places[0] ** 2 - 2], [1], 30)
    assert abs(zero[0] - mp.sqrt(2)) < 1e-15
    assert newton(lambda places: [places[0] ** 2 + 1], [0], 30) is None
    assert newton(lambda places: [mp.nan], [0], 30) is None
