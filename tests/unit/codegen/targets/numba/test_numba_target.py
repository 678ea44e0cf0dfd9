"""Numba: the functions of NumPy's modules, compiled."""

import numpy as np
import pytest

import symres as sr
from symres.codegen.strategy import choose
from tests.oracles.smooth_pairs import FUNCTIONS, average
from tests.shared import derived

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def module():
    theory = derived(sr.mlp("relu"))
    return sr.export({"covariance_map": theory.covariance_map}, target="numba")


@pytest.mark.exhaustive
def test_matrices_entries_and_float32(module):
    x = rng.normal(size=(20, 5))
    c = x @ x.T / 5
    k = np.diag(c).copy()
    function = module.load().covariance_map
    exact = sr.export(derived(sr.mlp("relu")).covariance_map).load().covariance_map(k[:, None], k, c, 1.7, 0.1)
    assert function(k[:, None], k, c, 1.7, 0.1) == pytest.approx(exact, rel=1e-13)
    assert function(k[:, None] + 0 * c, k, c, 1.7, 0.1) == pytest.approx(exact, rel=1e-13)
    single = function(*(a.astype(np.float32) for a in (k[:, None], k, c)), 1.7, 0.1)
    assert single.dtype == np.float32
    assert single == pytest.approx(exact, rel=1e-5)
    assert np.isnan(function(-1.0, 1.0, 0.0, 1.0, 0.0))


def test_errors_are_those_of_this_code(module):
    assert "measured on this code" in " ".join(module.text.split())


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["relu", "gelu", "erf"])
def test_networks_are_those_of_numpy(name):
    network = sr.network([sr.mlp(name)] * 3)
    x = np.concatenate([rng.normal(size=(60, 5)), [[1, 0, 0, 0, 0], [1, 1e-8, 0, 0, 0]]])
    mine, theirs = (sr.export(network, target=t).load() for t in ("numba", "numpy"))
    pairs = zip(
        mine.dual_kernel_matrix(x, C_W=1.7, C_b=0.1), theirs.dual_kernel_matrix(x, C_W=1.7, C_b=0.1), strict=True
    )
    for found, exact in pairs:
        assert np.allclose(found, exact, rtol=1e-13)
        assert np.array_equal(found, found.T)
    found = mine.dual_kernel(1.0, 2.0, 0.5, [1.5, 1.6, 1.7], 0.1, every_layer=True)
    exact = theirs.dual_kernel(1.0, 2.0, 0.5, [1.5, 1.6, 1.7], 0.1, every_layer=True)
    assert np.allclose(found, exact, rtol=1e-13)


@pytest.mark.exhaustive
def test_series_are_sums_over_the_plane(monkeypatch):
    monkeypatch.setattr(choose, "_measured_in", lambda component, target: component)
    function = sr.export(sr.expect2("mish", "tanh"), target="numba").load().expect2
    for k1, k2, rho in [(1e-6, 1e-6, 0.3), (1.0, 2.0, -0.99), (0.3, 30.0, 0.9), (1.0, 1.0, 1.0)]:
        exact = average(FUNCTIONS["mish"], FUNCTIONS["tanh"], k1, k2, rho)
        assert function(k1, k2, rho * np.sqrt(k1 * k2)) == pytest.approx(exact, rel=1e-12)
    x = rng.normal(size=(90, 40))
    c = x @ x.T / 40
    k = np.diag(c).copy()
    whole = function(k[:, None], k, c)
    assert function(k[:, None] + 0 * c, k + 0 * c, c) == pytest.approx(whole, rel=1e-12)
    theirs = sr.export(sr.expect2("mish", "tanh"), target="c").load().expect2(k[:, None], k, c)
    assert np.abs(whole - theirs).max() < 1e-14
    k[3] = np.nan
    lost = np.isnan(function(k[:, None], k, c))
    assert lost[3].all() and lost[:, 3].all() and lost.sum() == 2 * k.size - 1


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
