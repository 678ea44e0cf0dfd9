"""Series of quantities in the kernel, against their values at small kernels."""

import sympy as sp

import symres as sr
from tests.shared import derived


def test_a_nested_series_follows_its_variances():
    erf, tanh = sr.activation("erf"), sr.activation("tanh")
    layer = sr.Layer(sr.Dense(tanh(sr.Dense(erf(sr.z), C_b=0)), C_b=0))
    theory = derived(layer)
    k = sp.Rational(1, 10**5)
    exact = theory.kernel_map.evalf(20, K=k, C_W=1)
    approximate = sp.N(theory.kernel_map.series(3).expr.subs({sr.K: k, sr.C_W: 1}), 20)
    assert abs(approximate / exact - 1) < 1e-12
