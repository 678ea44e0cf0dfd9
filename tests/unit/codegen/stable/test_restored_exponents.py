"""Exponentials of sums keep the digits that rounding of their exponents costs."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.arrays.runtime.error_free import _restored
from symres.codegen.scalar.library.exponentials import restored as of_scalars
from symres.codegen.stable.correlation_form import restored
from symres.codegen.stable.primitives import Restored
from symres.core.symbols import K1, K2, C
from symres.functions.companions import ExpCosh

HARD = [(1151.6088178948328, 1.1817029625419155e-07, 0.0036), (496.26589237, 413.67242847, 2.5e-6), (300.1, 17.3, -0.7)]


def test_sums_of_exponentials_are_hyperbolic():
    found = restored(sp.exp(C - K1 / 2 - K2 / 2) / 2 + sp.exp(-C - K1 / 2 - K2 / 2) / 2)
    (cosh,) = found.atoms(ExpCosh)
    assert found.func is Restored
    assert cosh.args[0] == -K1 / 2 - K2 / 2


@pytest.mark.parametrize("function", [_restored, of_scalars])
@pytest.mark.parametrize("point", HARD)
def test_a_value_is_restored(function, point):
    k1, k2, c = point
    with mp.workdps(40):
        exponent = (-0.5 * k1 - 0.5 * k2) + abs(c)
        rounded = float(mp.exp(exponent))
        exact = mp.exp(-(mp.mpf(k1) + k2) / 2 + abs(mp.mpf(c)))
        found = function(np.float64(rounded), np.float64(-0.5 * k1), np.float64(-0.5 * k2), np.float64(c))
        assert abs(mp.mpf(float(found)) / exact - 1) < 4e-16


@pytest.mark.parametrize("point", HARD)
def test_the_kernel_of_sin_has_all_digits(point):
    function = sr.export(sr.expect2("sin", "sin")).load().expect2
    k1, k2, c = map(mp.mpf, point)
    with mp.workdps(40):
        exact = mp.exp(-(k1 + k2) / 2) * mp.sinh(c)
        assert abs(mp.mpf(float(function(*point))) / exact - 1) < 5e-16
