"""Series of quantities in the kernel, against their values at small kernels."""

import mpmath as mp
import sympy as sp

import symres as sr
from tests.shared import derived


def test_series_and_the_limit_at_zero():
    theory = derived(sr.mlp("tanh"))
    series = theory.kernel_map.series(3)
    assert series.status is sr.Status.SERIES
    assert sp.expand(series.expr - (sr.C_b + sr.C_W * (sr.K - 2 * sr.K**2 + sp.Rational(17, 3) * sr.K**3))) == 0
    assert theory.chi_perp.evalf(K=0, C_W=3) == 3
    kinked = sr.expect("elu(alpha=1)").series(2).expr
    with mp.workdps(30):
        exact = sr.expect("elu(alpha=1)").evalf(25, K=sp.Rational(1, 10**6))
        assert abs(sp.N(kinked.subs(sr.K, sp.Rational(1, 10**6)), 25) - exact) < 1e-14


def test_a_nested_series_follows_its_variances():
    erf, tanh = sr.activation("erf"), sr.activation("tanh")
    layer = sr.Layer(sr.Dense(tanh(sr.Dense(erf(sr.z), C_b=0)), C_b=0))
    theory = derived(layer)
    k = sp.Rational(1, 10**5)
    exact = theory.kernel_map.evalf(20, K=k, C_W=1)
    approximate = sp.N(theory.kernel_map.series(3).expr.subs({sr.K: k, sr.C_W: 1}), 20)
    assert abs(approximate / exact - 1) < 1e-12
