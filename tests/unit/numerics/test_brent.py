"""Zeros of functions of floats."""

import math

import pytest

from symres.core.errors import NoClosedForm
from symres.numerics.brent import brent


def test_equal_signs_what_is_no_number_and_too_many_steps_are_refused():
    with pytest.raises(NoClosedForm, match="a zero between -1 and 1"):
        brent(lambda x: x * x + 1, -1.0, 1.0)
    with pytest.raises(NoClosedForm, match="a zero between 0 and 1"):
        brent(lambda x: math.nan if 0 < x < 1 else x - 0.5, 0.0, 1.0)
    with pytest.raises(NoClosedForm, match="a zero between -1 and 2"):
        brent(lambda x: x**9, -1.0, 2.0, xtol=1e-300, rtol=1e-15)


@pytest.mark.parametrize("steepness", [0.1, 1.0, 40.0, -3.0])
@pytest.mark.parametrize("place", [1e-3, 0.3, 2.7, 50.0])
def test_steps_are_those_of_scipy(steepness, place):
    optimize = pytest.importorskip("scipy.optimize")

    def function(x):
        return math.tanh(steepness * (x - place)) + 0.1 * steepness * (x - place) ** 3

    for high in (60.0, 123.4, 1e3):
        expected = optimize.brentq(function, 1e-6, high, xtol=1e-300, rtol=1e-15)
        assert brent(function, 1e-6, high, xtol=1e-300, rtol=1e-15) == expected
