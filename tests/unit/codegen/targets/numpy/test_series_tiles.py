"""Averages without a closed form over matrices: series whose rest is known, the same numbers as integrals."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

import symres as sr
from symres.codegen import targets
from symres.codegen.arrays.hermite import hermite_series
from symres.core.errors import NoClosedForm
from tests.oracles.activations import ACTIVATIONS
from tests.shared import altered

KERNELS = np.array([1e-6, 0.02, 0.7, 1.3, 4.0, 30.0])
CORRELATIONS = (0.0, 0.3, -0.3, 0.99, -0.99, 1.0, -1.0)


@pytest.fixture(scope="module")
def tanh():
    return sr.export(sr.expect2("tanh", "tanh")).load().expect2


def plane(f, k1, k2, rho):
    """The average by a trapezoidal rule in the plane, exponentially accurate for smooth functions."""
    x = np.arange(-160, 161) / 16
    weight = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) / 16
    inner = f(np.sqrt(k2) * (rho * x[:, None] + np.sqrt(1 - rho * rho) * x)) @ weight
    return float((f(np.sqrt(k1) * x) * inner) @ weight)


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_matrices_are_integrals_in_the_plane(tanh, rho):
    kernels = KERNELS[:5]  # beyond, the rule of the plane is too coarse
    found = tanh(kernels[:, None], kernels, rho * np.sqrt(kernels[:, None] * kernels))
    for i, k1 in enumerate(kernels):
        for j, k2 in enumerate(kernels):
            size = np.sqrt(found_at(tanh, k1) * found_at(tanh, k2))
            assert abs(found[i, j] - plane(np.tanh, k1, k2, rho)) < 2e-12 * size


def found_at(function, k):
    return float(function(k, k, k))


@pytest.mark.exhaustive
def test_matrices_are_the_entries_one_by_one(tanh):
    rho = np.linspace(-1, 1, 7)
    for k1 in KERNELS:
        for k2 in KERNELS:
            c = rho * np.sqrt(k1 * k2)
            size = np.sqrt(found_at(tanh, k1) * found_at(tanh, k2))
            alone = np.array([float(tanh(np.full(1, k1), np.full(1, k2), np.full(1, v))[0]) for v in c])
            assert np.abs(tanh(k1, k2, c) - alone).max() < 2e-12 * size


def test_the_rest_is_what_the_terms_leave():
    kernels = np.array([0.5, 2.0])
    coefficients, rest, worst = hermite_series._hermite_pair(np.tanh, np.tanh, kernels, kernels, 0.5 * kernels)[0]
    assert coefficients.shape == (2, 64)
    with mp.workdps(30):
        for k, row, left in zip(kernels, coefficients, rest, strict=True):
            total = mp.quad(lambda x, k=k: mp.tanh(mp.sqrt(k) * x) ** 2 * mp.npdf(x), [-20, 0, 20])
            assert abs(1 - sum(mp.mpf(a) ** 2 for a in row) / total) <= mp.mpf(left) ** 2 + 1e-15
            for n in (1, 3):
                hermite = (lambda x: x) if n == 1 else (lambda x: (x**3 - 3 * x) / mp.sqrt(6))
                exact = mp.quad(lambda x, k=k, h=hermite: mp.tanh(mp.sqrt(k) * x) * h(x) * mp.npdf(x), [-20, 0, 20])
                assert abs(mp.mpf(row[n]) - exact) < 1e-15
    assert np.abs(coefficients[:, ::2]).max() == 0.0  # tanh is odd
    assert all(a >= b for a, b in pairwise(worst))


@pytest.mark.parametrize("largest", [300.0, 3e3, 1e4])
def test_waves_of_large_kernels(largest):
    """Nodes come as close as waves of length 2*pi/100 need."""
    kernels = np.array([1e-8, 1.0, 30.0, 100.0, largest])
    sines, _ = hermite_series._hermite_pair(np.sin, np.tanh, kernels, kernels, 0.99 * kernels)
    n = np.arange(sines[0].shape[1])
    with np.errstate(divide="ignore"):
        sizes = np.exp(0.5 * (n * np.log(kernels[:, None]) - kernels[:, None] - [[math.lgamma(k + 1) for k in n]]))
    sizes *= (n % 2) * (1 - 2 * (n // 2 % 2))  # <sin(s x) h_n(x)> = s**n exp(-s*s/2)/sqrt(n!), by parts
    total = np.sqrt(-np.expm1(-2 * kernels) / 2)[:, None]
    assert np.abs((sines[0] - sizes) / total).max() < 5e-13
    left = np.sqrt(np.clip(1 - (sizes**2).sum(1) / total[:, 0] ** 2, 0, None))
    np.testing.assert_allclose(sines[1], left, rtol=0, atol=2e-6)


@pytest.mark.parametrize("rate", [50.0, 1e3, 1e6])
def test_functions_too_fast_for_nodes_have_no_value(rate):
    """But none that is wrong; those of scale 1/50 have one."""
    k, c = np.array([1.0, 1.0, 100.0]), np.array([0.5, 1.0, 99.9])

    def steep(z):
        return np.tanh(rate * z)

    found = hermite_series._smooth_entries(steep, steep, k, k, c)
    signs = 2 / np.pi * np.arcsin(c / k)  # to first order in 1/rate
    assert np.isfinite(found).all() or rate > 50.0
    assert np.nanmax(np.abs(found - signs), initial=0.0) < 2 / rate


def test_a_wrong_polynomial_is_seen_by_the_measurement(monkeypatch):
    numpy = targets.find("numpy")
    text = numpy.runtime.texts["_polynomials"].replace("n / (n + 1.0)", "(n + 0.01) / (n + 1.0)")
    wrong = altered(numpy, definitions={"_polynomials": text})
    monkeypatch.setattr(targets, "find", lambda name: wrong)
    with pytest.raises(NoClosedForm, match="is off by"):
        sr.export(sr.expect2("tanh(z/2)", "tanh(z/2)"))


def test_vanishing_and_wrong_kernels(tanh):
    found = tanh(np.array([[0.0], [1.0], [-1.0]]), np.array([0.0, 1.0]), np.zeros((3, 2)))
    assert np.abs(found[:2]).max() < 1e-30
    assert np.isnan(found[2]).all()


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["silu", "mish", "softplus"])
def test_the_diagonal_is_the_average_of_one_input(name):
    both, one = sr.export(sr.expect2(name, name)).load().expect2, sr.export(sr.expect(f"{name}(z)^2")).load()
    function = next(f for key, f in vars(one).items() if key in one.__all__)
    matrix = both(KERNELS[:, None], KERNELS, np.minimum(KERNELS[:, None], KERNELS))
    assert np.diag(matrix) == pytest.approx(function(KERNELS), rel=1e-12)
    k1, k2, c = 0.7, 1.3, 0.5
    exact = plane(ACTIVATIONS[name], k1, k2, c / np.sqrt(k1 * k2))
    assert both(np.array([[k1]]), np.array([k2]), np.array([[c]])) == pytest.approx(exact, rel=1e-12)


@pytest.mark.exhaustive
def test_parameters_of_the_function():
    function = sr.export(sr.expect2("swish", "swish")).load().expect2
    k = np.array([0.5, 1.5])
    for beta in (0.5, 2.0):
        exact = plane(lambda z, b=beta: z / (1 + np.exp(-b * z)), 0.5, 1.5, 0.4)
        assert function(k[:, None], k, 0.4 * np.sqrt(k[:, None] * k), beta)[0, 1] == pytest.approx(exact, rel=1e-12)


def test_what_is_no_number_is_no_harm_to_others(tanh):
    found = tanh(np.array([[1.0], [2.0]]), np.array([0.5, np.nan, 1.0]), 0.25)
    assert np.isnan(found[:, 1]).all()
    assert found[1, 2] == pytest.approx(float(tanh(2.0, 1.0, 0.25)), rel=1e-14)
