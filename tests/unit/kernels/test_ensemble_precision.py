"""Predictions where targets are whole numbers, and where kernels have half of the digits."""

import numpy as np
import pytest

import symres as sr
from symres.core.errors import DeclarationError
from symres.kernels import predict

RNG = np.random.default_rng(0)


def blocks(name, X, tests, dtype=np.float64):
    kernels = sr.export(sr.network([name] * 2)).load().dual_kernel_matrix
    given = ((X,), (tests, X), (tests,))
    return [tuple(a.astype(dtype) for a in kernels(*some, C_W=2, C_b=0.1)) for some in given]


@pytest.mark.parametrize("kind", [int, bool, np.uint8])
@pytest.mark.parametrize("t", [0.9, 1.9, np.inf])
def test_labels_may_be_whole_numbers(kind, t):
    made, y = blocks("relu", RNG.standard_normal((6, 5)), RNG.standard_normal((3, 5))), np.array([1, 0, 1, 1, 0, 1])
    found, expected = (predict(*made, labels).gradient_descent(t) for labels in (y.astype(kind), 1.0 * y))
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.covariance, expected.covariance)


def test_kernels_of_single_precision_are_singular_earlier():
    X, tests = RNG.uniform(-1, 1, (40, 2)), RNG.uniform(-1, 1, (5, 2))
    y = np.sin(3 * X[:, 0])
    with pytest.raises(DeclarationError, match="singular"):
        predict(*blocks("erf", X, tests, np.float32), y.astype(np.float32)).gradient_descent()
    few = blocks("relu", X[:6], tests), blocks("relu", X[:6], tests, np.float32)
    exact, single = (predict(*made, y[:6].astype(made[0][0].dtype)).gradient_descent() for made in few)
    assert np.abs(single.mean - exact.mean).max() < 1e-3
