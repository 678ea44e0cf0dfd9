"""Numba: the functions of NumPy's modules, compiled."""

import numpy as np
import pytest

import symres as sr
from symres.codegen.strategy import choose

rng = np.random.default_rng(0)


@pytest.mark.exhaustive
def test_networks_of_series_are_those_of_numpy(monkeypatch):
    monkeypatch.setattr(choose, "_measured_in", lambda component, target: component)
    network = sr.network([sr.mlp("tanh"), sr.mlp("relu"), sr.mlp("silu")])
    x = rng.normal(size=(300, 9))
    mine, theirs = (sr.export(network, target=t).load() for t in ("numba", "numpy"))
    pairs = zip(
        mine.dual_kernel_matrix(x, C_W=1.7, C_b=0.1), theirs.dual_kernel_matrix(x, C_W=1.7, C_b=0.1), strict=True
    )
    for found, exact in pairs:
        assert np.abs(found - exact).max() < 1e-12
        assert np.array_equal(found, found.T)
    k1, k2 = rng.uniform(0.1, 3, (2, 300))
    given = (k1, k2, 0.4 * np.sqrt(k1 * k2), [1.5, 1.6, 1.7], 0.1)
    for found, exact in zip(mine.dual_kernel(*given), theirs.dual_kernel(*given), strict=True):
        assert found == pytest.approx(exact, rel=1e-12)
