"""Piecewise Chebyshev fits of functions of one kernel."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.balls import evaluate
from symres.errors import SymresError
from symres.export.code.fit import fit, grid
from symres.export.code.numpy import NUMPY
from symres.symbols import K
from tests.oracles.closed_forms import KERNELS


def run(fitted, kernels):
    space = {"np": np}
    exec(NUMPY.helpers["_piecewise"][0], space)
    u, scale = (sp.lambdify(K, e, "numpy")(kernels) for e in (fitted.map, fitted.scale))
    return scale * space["_piecewise"](u, np.array(fitted.edges), np.array(fitted.table))


def exact(formula):
    return lambda k: evaluate(formula, {K: k}, 24)[0]


@pytest.mark.parametrize("name", ["elu", "hard_tanh", "sin", "gelu", "gaussian"])
def test_fit_holds_to_rounding(name):
    values = exact(KERNELS[name])
    kernels = np.array([1e-12, *grid()[::7], 1e6])
    found = run(fit(values, name), kernels)
    for k, value in zip(kernels, found, strict=True):
        assert value == pytest.approx(float(values(mp.mpf(k))), rel=1e-15, abs=0)


def test_powers_at_both_ends_are_found():
    fitted = fit(exact(KERNELS["gaussian"]), "K/(1 + 2K)^(3/2)")
    assert (fitted.small, fitted.large) == (1, sp.Rational(-1, 2))
    assert not fitted.kinked
    assert fit(exact(KERNELS["elu"]), "elu").kinked


def test_fit_is_right_at_zero_and_beyond_its_range():
    found = run(fit(exact(KERNELS["erf"]), "erf"), np.array([0.0, 1e-30, 1e9]))
    assert found[0] == 0.0
    assert found[1] == pytest.approx(4e-30 / np.pi, rel=1e-14)
    assert found[2] == pytest.approx(float(exact(KERNELS["erf"])(mp.mpf(10**9))), rel=1e-14)


def test_flat_function_is_fitted_relative_to_its_largest_value():
    flat = sp.exp(-1 / K) / (1 + K)
    fitted = fit(lambda k: mp.exp(-1 / k) / (1 + k), "flat")
    kernels = np.array([1e-8, 0.01, 0.1, 1.0, 100.0])
    np.testing.assert_allclose(run(fitted, kernels), sp.lambdify(K, flat)(kernels), rtol=0, atol=1e-16)


def test_the_wrong_variable_costs_nothing():
    """Whether a series is one in sqrt(K) shows in two values, so no fit is tried in vain."""
    for name in ("elu", "gelu", "hard_tanh", "erf"):
        asked = []

        def values(k, asked=asked, name=name):
            asked.append(k)
            return exact(KERNELS[name])(k)

        fitted = fit(values, name)
        assert len(asked) < 45 * len(fitted.edges)


def test_a_function_that_vanishes_is_fitted():
    np.testing.assert_array_equal(run(fit(lambda k: mp.mpf(0), "zero"), np.array([0.0, 1.0, 1e5])), 0.0)


def test_an_oscillation_is_refused():
    with pytest.raises(SymresError, match="polynomials"):
        fit(lambda k: 2 + mp.sin(300 * mp.log(1 + k)), "a wave")
