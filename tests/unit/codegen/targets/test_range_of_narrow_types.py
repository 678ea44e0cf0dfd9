"""Functions of float32 where squares of kernels are no floats, but their values are; against formulas by hand."""

import mpmath as mp
import numpy as np
import pytest

import symres as sr
from tests.oracles.average import average_of
from tests.shared import Lazily, derived

TARGETS = ["torch", pytest.param("numba", marks=pytest.mark.exhaustive), "c", "jax"]
KERNELS = [10.0**k for k in range(-36, 38, 6)]
COSINES = [0.0, 0.5, -0.5, 0.99]
NAMES = {"gelu": ("covariance_map", "ntk_map", "h", "chi_perp", "chi_parallel")}


def exported(formula, target):
    theory = derived(formula)
    quantities = {name: getattr(theory, name) for name in NAMES.get(formula, ("covariance_map",))}
    return sr.export(quantities, target=target).load()


MODULES = Lazily(lambda key: exported(*key))


def single(target, values):
    array = np.asarray(values, dtype=np.float32)
    return __import__("torch").tensor(array) if target == "torch" else array


def relu(K1, K2, C):
    """Cho and Saul, 2009."""
    size = mp.sqrt(K1 * K2)
    angle = mp.acos(C / size)
    return size * (mp.sin(angle) + (mp.pi - angle) * mp.cos(angle)) / (2 * mp.pi)


def erf(K1, K2, C):
    """Williams, 1997."""
    return 2 / mp.pi * mp.asin(2 * C / mp.sqrt((1 + 2 * K1) * (1 + 2 * K2)))


def gelu(K1, K2, C):
    """Tsuchida and others, 2021."""
    a, b = 1 + K1, 1 + K2
    root = mp.sqrt(a * b - C * C)
    rest = (C * C * (1 - K1 * K2) + K1 * K2 * a * b) / (root * a * b)
    return C / 4 + (C * mp.asin(C / mp.sqrt(a * b)) + rest) / (2 * mp.pi)


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
@pytest.mark.parametrize(
    ("formula", "exact"),
    [("relu", relu), ("erf", erf), pytest.param("gelu", gelu, marks=pytest.mark.exhaustive)],  # C compiles it slowly
)
def test_pairs_of_all_kernels_that_are_floats(formula, exact, target):
    rows = [(k1, k2, c) for k1 in KERNELS for k2 in KERNELS for c in COSINES]
    K1, K2, cosines = np.array(rows).T
    K1, K2 = (K.astype(np.float32) for K in (K1, K2))
    C = (np.sqrt(K1.astype(float)) * np.sqrt(K2.astype(float)) * cosines).astype(np.float32)
    with mp.workdps(120):
        expected = np.array([float(exact(*map(mp.mpf, map(float, row)))) for row in zip(K1, K2, C, strict=True)])
        largest = np.array([float(mp.sqrt(exact(*[mp.mpf(float(a))] * 3) * exact(*[mp.mpf(float(b))] * 3)))
                            for a, b in zip(K1, K2, strict=True)])  # fmt: skip
    fits = np.maximum(np.abs(expected), 1e-4 * largest) > 2e-38  # no float flushed to 0
    function = MODULES[formula, target].covariance_map
    found = np.asarray(function(*(single(target, a) for a in (K1, K2, C)), 1.0, 0.0), dtype=float)
    assert (np.abs(found - expected)[fits] <= 1e-5 * np.abs(expected)[fits] + 1e-6 * largest[fits]).all()
    matrix = MODULES[formula, target].covariance_map(  # in tiles, with some kernels in range and some beyond
        single(target, np.array(KERNELS)[:, None]), single(target, np.array(KERNELS)), single(target, [[0.0]]), 1.0, 0.0
    )
    np.testing.assert_allclose(np.asarray(matrix).ravel(), found[cosines == 0.0], rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("target", ["torch", "jax"])
def test_gradients_of_large_kernels(target):
    """dC'/dC of relu is (pi - angle)/(2*pi), at every size."""
    function = MODULES["relu", target].covariance_map
    for size in (1e-25, 1.0, 1e25):
        K, C = single(target, size), single(target, 0.5 * size)
        if target == "torch":
            C.requires_grad_()
            function(K, K, C, 1.0, 0.0).backward()
            found = float(C.grad)
        else:
            found = float(__import__("jax").grad(lambda c, K=K: function(K, K, c, 1.0, 0.0))(C))
        assert found == pytest.approx(1 / 3, rel=1e-5)
