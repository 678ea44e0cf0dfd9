"""Kernels are differentiable four times, as u_xx of a differential equation needs: d2/dx2 d2/dy2 of maps of two inputs.

Two inputs x and y of one feature have K1 = C_b + C_W*x**2, K2 = C_b + C_W*y**2, C = C_b + C_W*x*y.
"""

import itertools

import jax
import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

from symres.codegen.targets.jax import TARGET
from symres.core.errors import SymresError
from symres.core.symbols import K1, K2, C
from symres.report.export import export
from tests.oracles.closed_forms import PAIRS
from tests.shared import Lazily, derived

X, Y, C_W, C_B = 0.7, -0.4, 2.0, 0.3
OF_TANH = -2.0654063207


def kernels(x, y):
    return C_B + C_W * x * x, C_B + C_W * y * y, C_B + C_W * x * y


def fourth_in_torch(function, x=X, y=Y):
    x, y = (torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, y))
    value = function(*kernels(x, y))
    for place in (x, x, y, y):
        (value,) = torch.autograd.grad(value, place, create_graph=True)
    return float(value.detach())


def fourth_in_jax(function, x=X, y=Y):
    def of_inputs(x, y):
        return function(*kernels(x, y))

    for place in (0, 0, 1, 1):
        of_inputs = jax.grad(of_inputs, place)
    with TARGET.in_double_precision():
        return float(jax.jit(of_inputs)(x, y))


FOURTH = {"torch": fourth_in_torch, "jax": fourth_in_jax}


@pytest.fixture(scope="module")
def modules():
    return Lazily(lambda key: export(derived(key[0]).covariance_map, key[1]).load())


def fourth(modules, name, language):
    module = modules[name, language]
    return FOURTH[language](lambda *given: module.covariance_map(*given, C_W, C_B))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


SECOND = {  # derivatives of activations, by hand
    "tanh": lambda z: -2 * np.tanh(z) * (1 - np.tanh(z) ** 2),
    "silu": lambda z: sigmoid(z) * sigmoid(-z) * (2 + z * (1 - 2 * sigmoid(z))),
    "gelu": lambda z: (2 - z * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi),
    "erf": lambda z: -4 * z * np.exp(-z * z) / np.sqrt(np.pi),
    "sin": lambda z: -np.sin(z),
    "tanh(z)^2": lambda z: 2 * (1 - np.tanh(z) ** 2) * (1 - 3 * np.tanh(z) ** 2),  # a power of what vanishes
}


def by_weights(second):
    """C_W*<d2/dx2 phi(b + w*x) d2/dy2 phi(b + w*y)> over a bias and a weight, by the trapezoidal rule in the plane."""
    t = np.arange(-160, 161) / 16
    mass = np.exp(-t * t / 2) / np.sqrt(2 * np.pi) / 16
    b, w = np.sqrt(C_B) * t[:, None], np.sqrt(C_W) * t
    return float(C_W * mass @ (w**4 * second(b + w * X) * second(b + w * Y)) @ mass)


def test_the_value_of_tanh():
    assert by_weights(SECOND["tanh"]) == pytest.approx(OF_TANH, abs=5e-11)


CASES = [  # JAX compiles derivatives of series for half a minute
    *((name, "torch") for name in ("tanh", "silu", "gelu")),
    ("gelu", "jax"),
    *(pytest.param(name, "jax", marks=pytest.mark.exhaustive) for name in ("tanh", "silu")),
    *(pytest.param(*row, marks=pytest.mark.exhaustive) for row in itertools.product(("erf", "sin"), FOURTH)),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "language"), CASES)
def test_maps(modules, name, language):
    assert fourth(modules, name, language) == pytest.approx(by_weights(SECOND[name]), rel=1e-12)


@pytest.mark.parametrize("language", FOURTH)
def test_a_kink_off_the_diagonal(modules, language):
    """The arc-cosine kernel of relu (Cho and Saul, 2009)."""
    relu = sp.lambdify((K1, K2, C), PAIRS["relu"], "mpmath")
    with mp.workdps(40):
        exact = mp.diff(lambda x, y: C_W * relu(*kernels(x, y)), (X, Y), (2, 2))
    assert fourth(modules, "relu", language) == pytest.approx(float(exact), rel=1e-12)


def test_a_kink_that_is_integrated_refuses(modules):
    module = modules["softsign", "torch"]
    with pytest.raises(SymresError, match="derivative"):
        fourth_in_torch(lambda *given: module.covariance_map(*given, C_W=C_W, C_b=C_B))


@pytest.mark.exhaustive
@pytest.mark.parametrize("language", FOURTH)
def test_networks(language):
    """Two layers of tanh, by Cauchy's formula for the sums in the plane at complex inputs."""
    t = np.arange(-80, 81) / 8
    mass = np.exp(-t * t / 2) / np.sqrt(2 * np.pi) / 8

    def layer(k1, k2, c):
        root = np.sqrt(k1)
        other = c / root * t[:, None] + np.sqrt(k2 - c * c / k1) * t
        return C_B + C_W * (mass * np.tanh(root * t)) @ np.tanh(other) @ mass

    def one(k):
        return C_B + C_W * mass @ np.tanh(np.sqrt(k) * t) ** 2

    def deep(x, y):
        k1, k2, c = kernels(x, y)
        return layer(one(k1), one(k2), layer(k1, k2, c))

    circle = 0.1 * np.exp(2j * np.pi * np.arange(16) / 16)
    values = np.array([[deep(X + u, Y + v) for v in circle] for u in circle])
    expected = 4 * np.fft.fft2(values)[2, 2].real / 16**2 / 0.1**4
    module = export(derived("tanh").network(2), language).load()
    found = FOURTH[language](lambda *given: module.dual_kernel(*given, C_W=C_W, C_b=C_B)[0])
    assert found == pytest.approx(expected, rel=1e-8)
