"""Vertices at more than two inputs, against moments of Gaussians, quadrature in four dimensions and pairs of inputs."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import erf

import symres as sr
from symres.functions.floats.float_averages import FloatFunction, pair_coefficients
from symres.numerics.gauss_rules import hermite_rows
from tests.oracles.isserlis import Polynomial
from tests.oracles.layers import BUILD
from tests.shared import derived

KERNEL = np.array([[1.0, 0.4, -0.3, 0.2], [0.4, 1.5, 0.25, -0.1], [-0.3, 0.25, 0.8, 0.35], [0.2, -0.1, 0.35, 1.2]])
SETTING = {"C_W": "1.3", "C_b": "0.1", "gamma": "0.7", "xi": "0.6"}


def own(layer):
    return {s.name: SETTING[s.name] for s in layer.parameters}


def part(V, inputs):
    return V[np.ix_(*[inputs] * V.ndim)]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("power", "p"), [(1, 4), (2, 4), (3, 3), pytest.param(3, 4, marks=pytest.mark.exhaustive)])
def test_polynomials_by_isserlis(power, p):
    K = part(KERNEL, range(p)) / 2
    layer = sr.residual(f"z^{power}" if power > 1 else "linear", xi=sr.xi)
    network = Polynomial(power, K.tolist(), 1.3, 0.1, 0.7, 0.6, 2)
    found = derived(layer).fluctuations(2, K.tolist(), **own(layer))
    expected = network.vertex()
    assert np.allclose(found.states[2].V, expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())
    assert found.errors[2] < 1e-8 * np.abs(expected).max()


def test_what_a_neuron_remembers_at_another_pair_of_inputs():
    """Without it components of three inputs and more are wrong by more than a part in a thousand: it is seen."""
    K = KERNEL[:3, :3] / 2
    layer = sr.residual("z^2", xi=sr.xi)
    network = Polynomial(2, K.tolist(), 1.3, 0.1, 0.7, 0.6, 2)
    forgetful = network.vertex(remembering=lambda one, other: len({*one, *other}) <= 2)
    V = derived(layer).vertex(2, K.tolist(), **own(layer))[-1]
    assert V[0, 1, 0, 2] == pytest.approx(network.vertex()[0, 1, 0, 2], rel=1e-11)
    assert abs(V[0, 1, 0, 2] / forgetful[0, 1, 0, 2] - 1) > 1e-3
    assert V[0, 1, 0, 1] == pytest.approx(forgetful[0, 1, 0, 1], rel=0.1)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "phi"), [("erf", erf), ("tanh", np.tanh)])
def test_one_layer_by_quadrature_in_four_dimensions(name, phi):
    K = KERNEL / 5
    nodes, weights = hermegauss(24)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(*[nodes] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    weight = np.einsum("i,j,k,l->ijkl", *[weights] * 4).ravel()
    values = phi(grid @ np.linalg.cholesky(K).T)
    squares = (values[:, :, None] * values[:, None, :]).reshape(-1, 16)
    mean = weight @ squares
    expected = 1.3**2 * ((squares * weight[:, None]).T @ squares - np.outer(mean, mean)).reshape((4,) * 4)
    V = derived(sr.mlp(name)).vertex(1, K.tolist(), C_W="1.3", C_b="0.1")[1]
    assert np.allclose(V, expected, atol=1e-8)


CASES = [
    ("residual", "relu"),
    ("residual", "erf"),
    ("pre_ln", "gelu"),
    ("two_layer_block", "relu"),
    ("glu", "erf"),
    ("post_ln", "relu"),
    ("ln_act", "tanh"),  # the mean stands inside of a square, at each input with its own number
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "phi"), CASES)
def test_pairs_and_orders_of_inputs(kind, phi):
    """Two of four inputs have the vertices of a network of two, and inputs have no order."""
    layer = BUILD[kind](phi)
    theory = derived(layer)
    V = theory.vertex(2, KERNEL.tolist(), **own(layer))[-1]
    size = np.abs(V).max()
    for pair in ([0, 1], [1, 3]):
        two = theory.vertex(2, part(KERNEL, pair).tolist(), **own(layer))[-1]
        assert np.allclose(part(V, pair), two, rtol=0, atol=1e-11 * size)
    order = [2, 0, 3, 1]
    assert np.allclose(
        theory.vertex(2, part(KERNEL, order).tolist(), **own(layer))[-1], part(V, order), rtol=0, atol=1e-9 * size
    )


def scale_invariant_moment(K, count=400):
    """``<relu_1^2 relu_2 relu_3>`` as an integral over z_1 of averages of two, these by a rule of many points."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    b, c = K[0, 1] / K[0, 0], K[0, 2] / K[0, 0]
    rest = K[1:, 1:] - np.outer(K[0, 1:], K[0, 1:]) / K[0, 0]
    total = 0.0
    for x, w in zip(6 * (1 + nodes), 6 * weights, strict=True):  # in standard deviations, up to 12
        z = np.sqrt(K[0, 0]) * x
        density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        total += w * density * z**2 * relu_pair(b * z, c * z, rest)
    return total


def relu_pair(m, n, S, count=120):
    """``<relu(m + u) relu(n + v)>`` for u, v of covariance S: over u by Gauss-Legendre, over v in closed form."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    s = np.sqrt(S[0, 0])
    low, high = max(-m / s, -12.0), 12.0
    if low >= high:
        return 0.0
    x = low + (high - low) / 2 * (1 + nodes)
    mean, left = n + S[0, 1] / s * x, np.sqrt(S[1, 1] - S[0, 1] ** 2 / S[0, 0])
    t = mean / left
    inner = mean * (1 + erf(t / np.sqrt(2))) / 2 + left * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    return (high - low) / 2 * np.sum(weights * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (m + s * x) * inner)


@pytest.mark.sample(1)
@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_kinks_at_three_inputs(correlation):
    """The stated error covers the truth, and is small, although kinks have a long tail of Hermite coefficients."""
    K = np.array([[1, correlation, 0.2], [correlation, 1.2, 0.3], [0.2, 0.3, 0.9]])
    found = derived(sr.mlp("relu")).fluctuations(1, K.tolist(), C_W=1, C_b=0)
    S = found.states[1].kernel
    expected = scale_invariant_moment(K) - S[0, 1] * S[0, 2]
    V = found.states[1].V
    assert abs(V[0, 1, 0, 2] - expected) <= found.errors[1] + 1e-12
    assert found.errors[1] < 1e-6 * np.abs(V).max()


def test_inputs_in_a_plane():
    """The kernel of more inputs than dimensions is singular; only parallel inputs are refused."""
    X = np.array([[1.0, 0.2], [0.3, 1.1], [-0.8, 0.7]])
    theory = derived(sr.mlp("erf"))
    V = theory.vertex(2, (X @ X.T).tolist(), C_W="1.3", C_b=0)[-1]
    two = theory.vertex(2, (X[:2] @ X[:2].T).tolist(), C_W="1.3", C_b=0)[-1]
    assert np.allclose(part(V, [0, 1]), two, rtol=1e-10)


def test_lists_of_layers():
    listed = sr.network([sr.residual("tanh"), sr.mlp("erf")])
    K = KERNEL[:3, :3].tolist()
    P = listed.kernel_fluctuation(K, C_W=[1.0, 1.5], C_b=0.1, gamma=[0.5, 0])
    assert [p.shape for p in P] == [(3, 3, 3, 3)] * 3
    assert not P[0].any()


@pytest.mark.exhaustive
def test_products_that_are_too_long():
    """A function of z + y at two inputs, and z*y at two others, depend on six Gaussian variables at once."""
    z = sr.z
    y = sr.Dense(z)
    theory = derived(sr.Layer(sr.Dense(z * y) + sr.Dense(sr.activation("erf")(z + y))))
    assert theory.vertex(1, KERNEL[:2, :2].tolist(), C_W=1, C_b=0)[-1].shape == (2, 2, 2, 2)
    with pytest.raises(sr.UnsupportedLayer, match="correlated Gaussian variables at once; ask for pairs of inputs"):
        theory.vertex(1, KERNEL.tolist(), C_W=1, C_b=0)


def test_coefficients_of_two_kinks_in_one_panel():
    """``f(shift + x)`` of a function with two breakpoints, against the derivative of a smoothed one."""
    function = FloatFunction(sr.activation("hard_tanh").pieces)
    root = np.array([[1.0, 0.0], [0.3, 8.0]])  # breakpoints 1/4 standard deviation apart
    found = pair_coefficients((function, function), root, 24, {})
    nodes, weights = np.polynomial.legendre.leggauss(1200)
    x = 12 * nodes
    density = 12 * weights * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    rows = hermite_rows(x, 24) * density
    clip = [np.clip(x, -1, 1), np.clip(0.3 * x[:, None] + 8 * x, -1, 1)]
    expected = (rows * clip[0]) @ (clip[1] @ rows.T)
    inside = np.add.outer(np.arange(25), np.arange(25)) <= 24
    assert np.allclose(found[inside], expected[inside], atol=2e-5)  # the even rule does not know of the kinks
    assert not found[~inside].any()
