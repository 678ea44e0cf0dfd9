"""What networks compute of one input alone contains nothing of the pair, in every language."""

from __future__ import annotations

import numpy as np
import pytest

import symres as sr

LAYERS = ["step(z)+relu(z)", "relu(z)+z"]


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("phi", LAYERS)
def test_compiled_networks_agree(phi):
    network = sr.network([sr.Layer(sr.Dense(sr.z)), phi])
    X = np.random.default_rng(0).normal(size=(4, 3))
    expected = sr.export(network, "numpy").load().dual_kernel_matrix(X, C_W=2, C_b=0.1)
    found = sr.export(network, "c").load().dual_kernel_matrix(X, C_W=2, C_b=0.1)
    for a, b in zip(found, expected, strict=True):
        off = ~np.eye(4, dtype=bool)  # the tangent kernel of a step is infinite on the diagonal
        assert np.allclose(a[off], b[off], rtol=1e-12, atol=1e-13)
