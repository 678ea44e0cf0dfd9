"""Averages of arrays: series in correlations beside quadrature, and where they end."""

import numpy as np
import pytest

import symres as sr
from symres.core.symbols import K1, K2, C, x1, x2
from symres.functions.floats.averages_at import _series
from symres.functions.floats.float_averages import FloatFunction
from symres.gaussian.calculus.expectation import Expectation

CORRELATIONS = np.array([-0.999, -0.8, -0.3, 0.0, 0.2, 0.6, 0.9, 0.97, 0.999])


def average(name):
    phi = sr.activation(name)
    return Expectation(phi(x1) * phi(x2), K1, C, K2)


def values(node, variances):
    one, other = variances
    arrays = [np.full(len(CORRELATIONS), one), CORRELATIONS * np.sqrt(one * other), np.full(len(CORRELATIONS), other)]
    order = [node.float_arguments.index(s) for s in (K1, C, K2)]
    arguments = [np.ones(1) if a == 1 else None for a in node.float_arguments]
    for place, array in zip(order, arrays):
        arguments[place] = array
    return arrays, np.asarray(node.float_value(*arguments))


@pytest.mark.parametrize("name", ["tanh", "silu", "mish", "sin(z)^3 + abs(z)"])
@pytest.mark.parametrize("variances", [(1.0, 1.0), (0.3, 2.5)])
def test_arrays_have_the_values_of_balls(name, variances):
    node = average(name)
    arrays, found = values(node, variances)
    for row, value in zip(zip(*arrays), found):
        exact = node.xreplace(dict(zip((K1, C, K2), map(sr.core.scalars.parameter, row, "abc")))).evalf(20)
        assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-13)


def test_series_end_where_their_error_is_not_small():
    """Of a kink coefficients fall slowly, and all correlations near 1 are left to quadrature."""
    kinked, smooth = (FloatFunction(average(name).terms[0][1][0]) for name in ("abs(z)*tanh(z)^2", "tanh"))
    rows = np.stack([np.ones(9), CORRELATIONS, np.ones(9)], axis=1)
    assert np.isnan(_series((kinked, kinked), rows, {})).tolist() == [True, *[False] * 6, True, True]
    assert np.isfinite(_series((smooth, smooth), rows, {})).all()


def test_variables_that_are_multiples_of_one_another():
    phi = sr.activation("tanh")
    node = Expectation(phi(x1) * phi(x2), K1, C, K2)
    one = Expectation(phi(x1) * phi(2 * x1), K1)
    found = node.float_value(*(np.full(1, x) if x is not None else 1.0 for x in _arguments(node, 1.0, 2.0, 4.0)))
    assert float(found[0]) == pytest.approx(
        float(one.xreplace({K1: sr.core.scalars.number(1, "K")}).evalf(16)), rel=1e-13
    )


def _arguments(node, one, both, other):
    numbers = {K1: one, C: both, K2: other}
    return [numbers.get(a) for a in node.float_arguments]
