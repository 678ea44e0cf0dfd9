"""The oracle of Gaussian averages against what is known in closed form."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from tests.oracles.average import average_of, average_of_pair

z, s = sp.Symbol("z"), mp.sqrt
# function, breaks, its average over a variable of variance k
ONE = {
    "z^6": (z**6, (), lambda k: 15 * k**3),
    "exp": (sp.exp(z), (), lambda k: mp.exp(k / 2)),
    "cos": (mp.cos, (), lambda k: mp.exp(-k / 2)),
    "erf^2": (sp.erf(z) ** 2, (), lambda k: 2 / mp.pi * mp.asin(2 * k / (1 + 2 * k))),
    "max(z-1,0)": (lambda x: max(x - 1, 0), (1,), lambda k: s(k) * mp.npdf(1 / s(k)) - mp.ncdf(-1 / s(k))),
    "sqrt(abs(z))": (lambda x: s(abs(x)), (), lambda k: mp.root(2 * k, 4) * mp.gamma(mp.mpf(3) / 4) / s(mp.pi)),
    "1": (sp.Integer(1), (), lambda k: 1),
}


@pytest.mark.parametrize("kernel", ["1e-12", "1/3", "2.5", "40"])
@pytest.mark.parametrize("name", ONE)
def test_one_variable(name, kernel):
    function, breaks, exact = ONE[name]
    with mp.workdps(50):
        for digits in (20, 35):
            value = average_of(function, kernel, breaks, digits=digits)
            assert abs(value - exact(mp.mpf(kernel))) < mp.mpf(10) ** -digits * max(1, value)


def test_a_mean_and_a_jump():
    with mp.workdps(30):
        assert abs(average_of(lambda x: mp.mpf(x > 3), 2, (3,), mean=1) - mp.erfc(1) / 2) < mp.mpf(10) ** -25
    with pytest.raises(AssertionError, match="not sure"):  # the jump is not named
        average_of(lambda x: mp.mpf(x > mp.mpf("0.77")), 2, mean=1)


@pytest.mark.parametrize("rho", [0.8, -0.9999, 0.0, 1.0])
def test_two_variables(rho):
    c = rho * (0.7 * 1.9) ** 0.5
    assert average_of_pair(np.cos, np.cos, 0.7, 1.9, c) == pytest.approx(math.exp(-1.3) * math.cosh(c), rel=1e-15)
    assert average_of_pair(np.square, np.abs, 2.0, 2.0, 2.0 * rho) == pytest.approx(
        2 * (1 + rho**2) * math.sqrt(4 / math.pi), rel=2e-15
    )
    steps = average_of_pair(lambda x: x > 0.3, lambda x: 1.0 * (x > 0), 1.0, 1.0, rho, [0.3])
    if rho in (0.0, 1.0):
        assert steps == pytest.approx(math.erfc(0.3 / 2**0.5) / (4 if rho == 0 else 2), rel=1e-15)
    grown = average_of_pair(np.exp, np.exp, 9.0, 4.0, 6.0 * rho, reach=17)
    assert grown == pytest.approx(math.exp(6.5 + 6 * rho), rel=1e-14)
