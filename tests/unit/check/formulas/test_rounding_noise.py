"""The digits that a formula loses, measured."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.check.formulas.numeric_formula import NumericFunction
from symres.check.formulas.rounding_noise import of_square
from symres.core.symbols import z


def test_the_loss_of_a_formula_is_measured():
    lost = [of_square(NumericFunction(expr, z), 0.0, 9.3) for expr in (sp.tanh(z), sp.exp(z), sp.asin(sp.tanh(z)))]
    assert max(lost[:2]) < 3e-16 and 1e-11 < lost[2] < 1e-8
    cancelling = NumericFunction(z - z**3 / 6 - sp.sin(z), z)
    assert of_square(cancelling, 0.0, 1.0) < 1e-14 and of_square(cancelling, 0.0, 1e-4) > 0.01


@pytest.mark.parametrize("kernel", [0.5, 2.3, 4.0])
def test_a_narrow_interval_in_which_digits_are_lost_is_seen(kernel):
    """acos(tanh(u)) is 0 in doubles from u = 19 on: of acos(tanh(pi^(3*z))) that is one interval of width 0.1."""
    function = NumericFunction(sp.acos(sp.tanh(sp.exp(3 * z * sp.log(sp.pi)))) + 1, z)
    nodes = np.linspace(-10.0, 10.0, 20001)
    weights = np.exp(-(nodes**2) / (2 * kernel))
    with mp.workdps(40):
        exact = np.array([float(function.precise(mp.mpf(node))) for node in nodes])
    lost = np.sum(weights * 2 * exact * np.abs(function(nodes) - exact)) / np.sum(weights * exact**2)
    assert lost / 3 < of_square(function, 0.0, kernel**0.5) < 30 * lost


def test_exponentials_of_exponentials_end():
    function = NumericFunction(sp.cosh(sp.tanh(sp.exp(2 * z**6))), z)
    with mp.workdps(30):
        assert abs(function.precise(mp.mpf(-300)) - mp.cosh(1)) < mp.mpf(10) ** -29
