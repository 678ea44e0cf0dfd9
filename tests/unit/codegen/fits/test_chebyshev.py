"""Piecewise Chebyshev fits of functions of one kernel."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.arrays.runtime.stable_functions import _piecewise
from symres.codegen.fits.chebyshev import fit, grid
from symres.core.errors import SymresError
from symres.core.symbols import K
from symres.functions.balls import evaluate
from tests.oracles.closed_forms import KERNELS


def run(fitted, kernels):
    u, scale = (sp.lambdify(K, e, "numpy")(kernels) for e in (fitted.shape.map, fitted.shape.scale))
    return scale * _piecewise(u, np.array(fitted.edges), np.array(fitted.table))


def exact(formula):
    return lambda k: evaluate(formula, {K: k}, 24)[0]


@pytest.mark.parametrize("name", ["elu", "hard_tanh", "sin", "gelu", "gaussian_slope"])
def test_fit_holds_to_rounding(name):
    values = exact(KERNELS[name])
    kernels, fitted = np.array([1e-12, *grid()[::7], 1e6]), fit(values, name)
    assert fitted.shape.decay == 0
    found = run(fitted, kernels)
    for k, value in zip(kernels, found, strict=True):
        assert value == pytest.approx(float(values(mp.mpf(k))), rel=1e-15, abs=0)


def test_powers_at_both_ends_are_found():
    fitted = fit(exact(KERNELS["gaussian_slope"]), "K/(1 + 2K)^(3/2)")
    assert (fitted.shape.small, fitted.shape.large) == (1, sp.Rational(-1, 2))
    assert fitted.shape.root == 1
    assert fit(exact(KERNELS["elu"]), "elu").shape.root == 2


@pytest.mark.sample(1)
@pytest.mark.parametrize(("power", "expected"), [("1/2", "1/4"), ("1/3", "1/6"), ("5/3", "5/6")])
def test_powers_of_roots_are_found(power, expected):
    """Of z**p on one side; at K = 0 the fit is 0 and no number that K**(1/4) has there beside K**0."""
    values = sr.expect(f"where(z<0,0,z^({power}))").body
    fitted = fit(lambda k: evaluate(values, {K: k}, 24)[0], power)
    assert fitted.shape.small == sp.Rational(expected)
    found = run(fitted, np.array([0.0, 1e-30]))
    assert found[0] == 0.0
    assert found[1] == pytest.approx(float(evaluate(values, {K: mp.mpf("1e-30")}, 24)[0]), rel=1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("power", "root", "large"), [("1/2", 4, "1/2"), ("2/3", 6, "1/3"), ("1/4", 8, None), ("1/6", 12, None)]
)
def test_series_in_roots_at_small_kernels(power, root, large):
    """z/(1 + |z|**p): <phi^2> is K times a series in K**(p/2), few pieces in that root hold it, and its power ends."""
    values = sr.expect(f"(z/(1+abs(z)^({power})))^2")
    fitted = fit(lambda k: values.evalf(20, K=mp.nstr(k, 40)), power)
    assert (fitted.shape.small, fitted.shape.root) == (1, root)
    assert large is None or fitted.shape.large == sp.Rational(large)
    kernels = np.array([1e-30, 1e-9, 0.3, 7e4, 1e9])
    for k, value in zip(kernels, run(fitted, kernels), strict=True):
        assert value == pytest.approx(float(values.evalf(20, K=float(k))), rel=1e-13)
    if power != "2/3":
        assert fitted.max_kernel == 1e12  # beyond it still falls like a root of K: no last value is kept
    else:
        assert run(fitted, np.array([1e20]))[0] == pytest.approx(float(values.evalf(20, K="1e20")), rel=1e-9)


ROOTS = {
    "z/(1+abs(z)^(3/7))": lambda z: z / (1 + z ** (mp.mpf(3) / 7)),
    "z/(1+100*abs(z)^(1/4))": lambda z: z / (1 + 100 * z ** (mp.mpf(1) / 4)),
    "abs(z)^(1/3)+abs(z)^(1/2)": lambda z: z ** (mp.mpf(1) / 3) + z ** (mp.mpf(1) / 2),
    "abs(z)^(4/3)+abs(z)^(3/2)": lambda z: z ** (mp.mpf(4) / 3) + z ** (mp.mpf(3) / 2),
    "z/(1+abs(z)^(7/10))": lambda z: z / (1 + z ** (mp.mpf(7) / 10)),
    "log(1+abs(z)^(4/3))": lambda z: mp.log1p(z ** (mp.mpf(4) / 3)),
    "z/(1+abs(z)^(8/5))": lambda z: z / (1 + z ** (mp.mpf(8) / 5)),
    "z/(1+abs(z)^(37/100))": lambda z: z / (1 + z ** (mp.mpf(37) / 100)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", ROOTS)
def test_roots_hold_far_below_the_measured_range(formula):
    """Against a sum over log z, whose integrand falls at both ends."""
    values = sr.expect(f"({formula})^2")
    fitted = fit(lambda k: values.evalf(20, K=mp.nstr(k, 40)), formula)
    step = mp.mpf(1) / 32
    places = [mp.exp(i * step) for i in range(-32 * 40, 32 * 3)]
    for k in (1e-40, 1e-20, 1e-14, 1e-9, 0.3, 1e9):
        terms = (ROOTS[formula](mp.sqrt(k) * x) ** 2 * mp.exp(-x * x / 2) * x for x in places)
        expected = 2 * step * mp.fsum(terms) / mp.sqrt(2 * mp.pi)
        assert run(fitted, np.array([k]))[0] == pytest.approx(float(expected), rel=2e-14)


@pytest.mark.exhaustive
def test_what_hardly_changes_keeps_its_last_value():
    """<softsign^2> = 1 - sqrt(8/(pi K)) + ...: logarithms stand behind what is 1 to 2e-5 at K = 1e12."""
    values = sr.expect("softsign(z)^2")
    fitted = fit(lambda k: values.evalf(20, K=mp.nstr(k, 40)), "softsign")
    assert fitted.max_kernel == math.inf
    assert fitted.edges[-1] < 1
    assert run(fitted, np.array([1e20]))[0] == pytest.approx(1, abs=3e-5)


def test_fit_is_right_at_zero_and_beyond_its_range():
    found = run(fit(exact(KERNELS["erf"]), "erf"), np.array([0.0, 1e-30, 1e9]))
    assert found[0] == 0.0
    assert found[1] == pytest.approx(4e-30 / np.pi, rel=1e-14)
    assert found[2] == pytest.approx(float(exact(KERNELS["erf"])(mp.mpf(10**9))), rel=1e-14)


DECAYS = {
    "simple": (lambda k: mp.exp(-1 / k) / (1 + k), 1.0, 0),
    "tail": (lambda k: mp.erfc(1 / mp.sqrt(2 * k)), 0.5, 1),
    "irrational": (lambda k: mp.erfc(mp.pi / mp.sqrt(k)), math.pi**2, 1),
    "near": (lambda k: mp.erfc(1 / (1000 * mp.sqrt(k))), 1e-6, 1),
    "far": (lambda k: mp.erfc(100 / mp.sqrt(k)), 1e4, 1),
    "growing": (lambda k: mp.exp(-1 / (2 * k)) / mp.sqrt(k) ** 3, 0.5, -3),
    "negative": (lambda k: -mp.exp(-2 / k) * k**2, 2.0, 4),
    "of both signs": (lambda k: mp.exp(-2 / k) * k * (k - 3), 2.0, 2),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", DECAYS)
def test_a_decay_is_found_and_divided_out(name):
    values, rate, power = DECAYS[name]
    fitted = fit(values, name)
    assert not fitted.absolute
    assert fitted.shape.decay == pytest.approx(rate, rel=1e-10)
    assert fitted.shape.small == sp.Rational(power, 2)
    kernels = rate * np.array([1 / 650, 1 / 300, 0.02, 0.11, 0.7, 2.0, 25.0, 90.0])
    with mp.workdps(40):
        exact = np.array([float(values(mp.mpf(k))) for k in kernels])
    assert 0 < np.abs(exact[0]) < 1e-250
    np.testing.assert_allclose(run(fitted, kernels), exact, rtol=4e-13)


def test_a_rational_decay_is_exact():
    assert fit(DECAYS["tail"][0], "tail").shape.decay == 0.5


@pytest.mark.parametrize("power", [9, 40])
def test_high_powers_are_divided_out(power):
    values = lambda k: (k / (1 + 3 * k)) ** power * (2 + k / (1 + k))  # noqa: E731
    fitted = fit(values, "power")
    assert fitted.shape.small == power
    kernels = np.array([1e-6, 0.03, 2.0, 1e4])
    np.testing.assert_allclose(run(fitted, kernels), [float(values(mp.mpf(k))) for k in kernels], rtol=3e-14)


def test_what_vanishes_in_another_way_is_fitted_relative_to_its_largest_value():
    fitted = fit(lambda k: mp.exp(-1 / mp.sqrt(k)), "another way")
    assert (fitted.absolute, fitted.sign) == (True, 1)
    kernels = np.array([1e-8, 0.01, 0.1, 1.0, 100.0])
    np.testing.assert_allclose(run(fitted, kernels), np.exp(-1 / np.sqrt(kernels)), rtol=0, atol=1e-15)


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


@pytest.mark.exhaustive
def test_an_oscillation_is_refused():
    with pytest.raises(SymresError, match="polynomials"):
        fit(lambda k: 2 + mp.sin(300 * mp.log(1 + k)), "a wave")
