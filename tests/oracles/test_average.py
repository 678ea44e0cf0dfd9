"""The oracle of Gaussian averages against what is known in closed form."""

import mpmath as mp
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


@pytest.mark.parametrize("c", [0.8, -0.8, 0.0])
def test_two_variables(c):
    assert average_of_pair(mp.cos, 0.7, 1.9, c) == pytest.approx(float(mp.exp(-1.3) * mp.cosh(c)), rel=1e-15)
    assert average_of_pair(lambda x: x**2, 0.7, 1.9, c) == pytest.approx(0.7 * 1.9 + 2 * c * c, rel=1e-15)
