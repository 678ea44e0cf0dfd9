"""Averages of arrays: series in correlations beside quadrature, and where they end."""

import numpy as np
import pytest

import symres as sr
from symres.core.scalars import number
from symres.core.symbols import K1, K2, C, x1, x2
from symres.functions.floats.averages_at import _series, average_at
from symres.functions.floats.float_averages import FloatFunction
from symres.gaussian.calculus.expectation import Expectation

CORRELATIONS = np.array([-0.999, -0.8, -0.3, 0.0, 0.2, 0.6, 0.9, 0.97, 0.999])
NAMES = ["tanh", "silu", "mish", "tanh(z)^2*abs(z)"]


def function(name):
    phi = sr.activation(name)
    return FloatFunction(Expectation(phi(x1) * phi(x2), K1, C, K2).terms[0][1][0])


def exact(name, *law):
    phi = sr.activation(name)
    numbers = [number(value, "a covariance") for value in law]
    return float(Expectation(phi(x1) * phi(x2), *numbers).evalf(18))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("variances", [(1.0, 1.0), (0.3, 2.5)])
def test_arrays_have_the_values_of_balls(name, variances):
    one, other = variances
    both = CORRELATIONS * np.sqrt(one * other)
    found = average_at((function(name),) * 2, (np.full(9, one), both, np.full(9, other)), {})
    for covariance, value in zip(both.tolist(), found, strict=True):
        assert value == pytest.approx(exact(name, one, covariance, other), rel=1e-12, abs=1e-14)


def test_series_end_where_their_error_is_not_small():
    """Of a kink coefficients fall slowly, and correlations near 1 are left to quadrature."""
    rows = np.stack([np.ones(9), CORRELATIONS, np.ones(9)], axis=1)
    kinked, smooth = function(NAMES[-1]), function("tanh")
    assert np.isnan(_series((kinked, kinked), rows, {})).tolist() == [True, *[False] * 6, True, True]
    assert np.isfinite(_series((smooth, smooth), rows, {})).all()


def test_variables_that_are_multiples_of_one_another():
    phi = sr.activation("tanh")
    found = average_at((function("tanh"),) * 2, tuple(np.full(1, x) for x in (1.0, 2.0, 4.0)), {})
    expected = Expectation(phi(x1) * phi(2 * x1), number(1, "K")).evalf(18)
    assert float(found[0]) == pytest.approx(float(expected), rel=1e-13)
