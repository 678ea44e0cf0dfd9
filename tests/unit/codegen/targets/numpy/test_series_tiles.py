"""Series over matrices: the rest that their terms leave, and what measures them."""

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from symres.codegen.arrays.hermite import hermite_series
from tests.oracles.average import average_of


def test_the_rest_is_what_the_terms_leave():
    kernels = np.array([0.5, 2.0])
    coefficients, rest, worst = hermite_series._hermite_pair(np.tanh, np.tanh, kernels, kernels, 0.5 * kernels)[0]
    assert coefficients.shape == (2, 64)
    with mp.workdps(30):
        for k, row, left in zip(kernels, coefficients, rest, strict=True):
            total = average_of(lambda x: mp.tanh(x) ** 2, k)
            assert abs(1 - sum(mp.mpf(a) ** 2 for a in row) / total) <= mp.mpf(left) ** 2 + 1e-15
            for n in (1, 3):
                hermite = (lambda x: x) if n == 1 else (lambda x: (x**3 - 3 * x) / mp.sqrt(6))
                exact = average_of(lambda x, k=k, h=hermite: mp.tanh(mp.sqrt(k) * x) * h(x))
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
