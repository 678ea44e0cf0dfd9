"""Functions of float32 where squares of kernels are no floats, but their values are; against formulas by hand."""

import mpmath as mp
import numpy as np
import pytest

import symres as sr
from tests.languages import ALL, DIFFERENTIABLE, lanes, language
from tests.oracles.average import average_of
from tests.oracles.closed_forms import PAIRS, in_50_digits
from tests.shared import Lazily, derived

TARGETS = lanes(*(name for name in ALL if "float32" in language(name).target.capabilities.dtypes))
KERNELS = [10.0**k for k in range(-36, 38, 6)]
COSINES = [0.0, 0.5, -0.5, 0.99]
NAMES = {"gelu": ("covariance_map", "ntk_map", "h", "chi_perp", "chi_parallel")}


def exported(formula, target):
    theory = derived(formula)
    quantities = {name: getattr(theory, name) for name in NAMES.get(formula, ("covariance_map",))}
    return sr.export(quantities, target=target).load()


MODULES = Lazily(lambda key: exported(*key))


def single(target, values):
    return language(target).array(values, np.float32)


def exactly(name, *kernels):
    """A pair kernel by its formula; kernels are numbers of float32."""
    numbers = dict(zip(("K1", "K2", "C"), map(float, kernels), strict=True))
    return float(mp.re(in_50_digits(PAIRS[name], **numbers)))  # equal kernels leave a rounded root of 0


def h_of_gelu(K):
    """<z gelu'(z) gelu''(z)>/(2 K)."""
    return average_of(lambda z: z * (mp.ncdf(z) + z * mp.npdf(z)) * mp.npdf(z) * (2 - z * z), K) / (2 * K)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", TARGETS)
def test_gelu_of_large_kernels(target):
    function = MODULES["gelu", target]
    K, C = single(target, [1e10]), single(target, [0.0])
    assert float(function.covariance_map(K, K, C, 1.0, 0.0)[0]) == pytest.approx(1.59154943e9, rel=1e-6)
    assert float(function.ntk_map(K, K, C, C, 1.0, 0.0)[0]) == pytest.approx(1.59154943e9, rel=1e-6)
    kernels = [1e9, 1e10, 1e13, 1e18]
    found = np.asarray(function.h(single(target, kernels), 1.0, 0.0))
    np.testing.assert_allclose(found, [float(h_of_gelu(mp.mpf(k))) for k in kernels], rtol=1e-5)
    large = single(target, [1e6, 1e13, 1e20, 1e30, 1e37])
    np.testing.assert_allclose(np.asarray(function.chi_perp(large, 1.0, 0.0)), 0.5, rtol=2e-4)  # that of relu
    np.testing.assert_allclose(np.asarray(function.chi_parallel(large, 1.0, 0.0)), 0.5, rtol=2e-4)


@pytest.mark.exhaustive
@pytest.mark.sample(1, every="target")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("formula", ["relu", "erf", "gelu"])
def test_pairs_of_all_kernels_that_are_floats(formula, target):
    rows = [(k1, k2, c) for k1 in KERNELS for k2 in KERNELS for c in COSINES]
    K1, K2, cosines = np.array(rows).T
    K1, K2 = (K.astype(np.float32) for K in (K1, K2))
    C = (np.sqrt(K1.astype(float)) * np.sqrt(K2.astype(float)) * cosines).astype(np.float32)
    expected = np.array([exactly(formula, *row) for row in zip(K1, K2, C, strict=True)])
    alone = {k: exactly(formula, k, k, k) for k in K1}
    largest = np.array([alone[a] ** 0.5 * alone[b] ** 0.5 for a, b in zip(K1, K2, strict=True)])
    fits = np.maximum(np.abs(expected), 1e-4 * largest) > 2e-38  # no float flushed to 0
    function = MODULES[formula, target].covariance_map
    found = np.asarray(function(*(single(target, a) for a in (K1, K2, C)), 1.0, 0.0), dtype=float)
    assert (np.abs(found - expected)[fits] <= 1e-5 * np.abs(expected)[fits] + 1e-6 * largest[fits]).all()
    matrix = MODULES[formula, target].covariance_map(  # in tiles, with some kernels in range and some beyond
        single(target, np.array(KERNELS)[:, None]), single(target, np.array(KERNELS)), single(target, [[0.0]]), 1.0, 0.0
    )
    np.testing.assert_allclose(np.asarray(matrix).ravel(), found[cosines == 0.0], rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_gradients_of_large_kernels(target):
    """dC'/dC of relu is (pi - angle)/(2*pi), at every size."""
    function = MODULES["relu", target].covariance_map
    for size in (1e-25, 1.0, 1e25):
        kernels = (size, size, 0.5 * size)
        slopes = language(target).slopes(lambda *k: function(*k, 1.0, 0.0), *kernels, kind=np.float32)
        assert float(slopes[2]) == pytest.approx(1 / 3, rel=1e-5)
