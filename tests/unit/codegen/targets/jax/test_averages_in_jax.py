"""Averages of smooth functions in JAX: where series end, many entries, single precision."""

import jax
import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.targets.jax import TARGET
from symres.core.symbols import K1, K2, C, z
from tests.languages import integrated
from tests.oracles.average import average_of_pair
from tests.oracles.closed_forms import WILLIAMS
from tests.shared import Lazily

try:
    from jax import enable_x64
except ImportError:  # before JAX 0.8
    from jax.experimental import enable_x64

jnp = jax.numpy


@pytest.fixture(autouse=True)
def double_precision():
    with TARGET.in_double_precision():
        yield


@pytest.fixture(scope="module")
def erf():
    return integrated("jax", sp.erf(z / sp.sqrt(2)))


def gram():
    x = np.random.default_rng(1).normal(size=(12, 5))
    x[1], x[3] = x[0], -x[2]  # on the diagonal
    x[5] = (1 + 1e-7) * x[4]
    products = x @ x.T / 5
    kernels = np.diagonal(products)
    return kernels[:, None], kernels[None, :], products


@pytest.mark.exhaustive
def test_many_entries_with_kernels_of_their_own(erf):
    """In chunks; mapped entries are one call; only those without a number are none."""
    generator = np.random.default_rng(2)
    k1, k2 = 10 ** generator.uniform(-6, 1.2, (2, 5000))
    c = np.sqrt(k1 * k2) * generator.uniform(-1, 1, 5000)
    k1[7], k2[8], c[9], k1[10] = np.nan, np.inf, np.nan, -1.0
    found = np.array(jax.jit(jax.vmap(erf))(k1, k2, c))
    assert np.isnan(found[7:11]).all()
    numbers = [np.delete(a, range(7, 11)) for a in (k1, k2, c)]
    exact = sp.lambdify((K1, K2, C), WILLIAMS, "numpy")(*numbers)
    np.testing.assert_allclose(np.delete(found, range(7, 11)), exact, atol=3e-15)


def test_single_precision_without_float64(erf):
    """And no more than a float32 result of float32 arrays where float64 is switched on."""
    arguments = [np.float32(a) for a in gram()]
    exact = sp.lambdify((K1, K2, C), WILLIAMS, "numpy")(*map(np.float64, arguments))
    with enable_x64(False):
        found = jax.jit(erf)(*arguments)
        assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, exact, atol=2e-6)
    assert jax.eval_shape(erf, *arguments).dtype == jnp.float32


# ---- what is exported --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def modules():
    def load(name):
        with TARGET.in_double_precision():
            return sr.export(sr.expect2(name, name), target="jax")

    return Lazily(load)


SHAPES = {
    "silu": lambda u: u / (1 + mp.exp(-u)),
    "tanh": mp.tanh,
    "mish": lambda u: u * mp.tanh(mp.log1p(mp.exp(u))),
    "softplus": lambda u: mp.log1p(mp.exp(u)),
    "z*sigmoid(1.702*z)": lambda u: u / (1 + mp.exp(-mp.mpf("1.702") * u)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHAPES)
def test_exported_averages_have_values_at_all_kernels(modules, name):
    """Right ones, at nearly parallel inputs too, where series are too long; or none, never a wrong one."""
    module = modules[name]
    assert not module.warnings
    function = jax.jit(module.load().expect2)
    assert float(function(0.7, 1.9, 0.8)) == pytest.approx(average_of_pair(SHAPES[name], 0.7, 1.9, 0.8), rel=1e-13)
    exact = sr.export(sr.expect2(name, name), target="numpy").load().expect2
    kernels = np.array([[0.01], [1.0], [60.0], [1e4], [1e6]])
    nearly = np.array([0.0, 0.3, -0.9, 0.99, -0.999, 1 - 1e-12, 1.0, -1.0])
    found = np.asarray(function(kernels, 1.0001 * kernels, nearly * kernels))
    assert np.isfinite(found[:4]).all()
    wrong = np.abs(found - exact(kernels, 1.0001 * kernels, nearly * kernels)) / exact(kernels, kernels, kernels)
    assert np.nanmax(wrong) < 2e-14


@pytest.mark.exhaustive
def test_residual_covariances_of_huge_kernels_are_right():
    """Beyond the end of what series alone reach, numbers once were wrong."""
    layer = sr.residual("silu")
    found, exact = (sr.export(sr.derive(layer).covariance_map, target=target).load() for target in ("jax", "numpy"))
    given = {"K1": 1e6, "K2": 1e6, "C": 0.9e6, "C_W": 1.0, "C_b": 0.0, "gamma": 0.0}
    value = float(jax.jit(found.covariance_map)(**given))
    assert value == pytest.approx(float(exact.covariance_map(**given)), rel=1e-13)
