"""Where correlations of two inputs end, and over which depths: against iterated integrals, and published numbers."""

import math

import numpy as np
import pytest

import symres as sr

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / math.sqrt(2 * math.pi)


def next_covariance(phi, C_W, C_b, K, c):
    """C' of two inputs of kernel K and correlation c, by a Gauss-Hermite rule in two variables."""
    first = math.sqrt(K) * NODES
    second = math.sqrt(K) * (c * NODES[:, None] + math.sqrt(1 - c * c) * NODES)
    return C_b + C_W * np.einsum("i,ij,j", WEIGHTS * phi(first), phi(second), WEIGHTS)


def iterated(phi, C_W, C_b, c, layers=600):
    """The kernel and correlations of the last layers."""
    K = 1.0
    for _ in range(layers):
        K = next_covariance(phi, C_W, C_b, K, 1.0)
    path = [c]
    for _ in range(layers):
        path.append(next_covariance(phi, C_W, C_b, K, path[-1]) / K)
    return K, np.array(path)


@pytest.mark.parametrize(("C_W", "xi_c"), [(1.6, 27.03), (2, 25.2), (3, 9.05), (4, 6.98)])
def test_depth_scales_of_tanh(C_W, xi_c):
    """Schoenholz et al. (2017), figure 3 shows them for a C_b of 0.05; here from the map's own iteration."""
    scales = sr.derive("tanh").depth_scales(C_W=C_W, C_b=0.05)
    K, path = iterated(np.tanh, C_W, 0.05, 0.1)
    assert scales.c == pytest.approx(path[-1], abs=1e-5)
    layer = math.ceil(8 * xi_c)  # other rates have died out, and digits are left
    slope = math.log((path[layer + 1] - path[-1]) / (path[layer] - path[-1]))
    assert scales.xi_c == pytest.approx(-1 / slope, rel=1e-3)
    assert scales.xi_c == pytest.approx(xi_c, rel=1e-3)  # the digits printed
    above, below = (next_covariance(np.tanh, C_W, 0.05, K * (1 + step), 1) for step in (1e-5, -1e-5))
    assert scales.xi_q == pytest.approx(
        -1 / math.log((above - below) / (2e-5 * K)), rel=1e-4
    )  # the rule sees tanh's poles


def test_gradients_and_correlations_have_one_depth_in_the_ordered_phase_only():
    theory = sr.derive("tanh")
    for C_W, equal in ((1.6, True), (2, False)):
        depth = theory.depth_scales(C_W=C_W, C_b=0.05).xi_c
        assert (depth == pytest.approx(theory.correlation_length(C_W=C_W, C_b=0.05))) is equal


@pytest.mark.parametrize(
    ("layer", "params", "kept"),
    [
        ("relu", {"C_W": 2, "C_b": 0}, (1.0,)),  # critical: every kernel is kept
        ("sign", {"C_W": 1, "C_b": 0}, (-1.0, 0.0, 1.0)),  # 2/pi asin(c)
        ("tanh", {"C_W": 2, "C_b": 0}, (-1.0, 0.0, 1.0)),
        ("cos", {"C_W": 4, "C_b": 0}, None),  # even: one inside, none below 0
        ("sin(z)+z^2/8", {"C_W": 2, "C_b": 0}, None),
    ],
)
def test_all_correlations_that_a_layer_keeps(layer, params, kept):
    """A scan finds as many zeros of f(c) - c."""
    theory = sr.derive(layer)
    found = theory.correlation_fixed_points(K=1, **params)
    assert kept is None or found == pytest.approx(kept)
    kernel = theory.phase(K=1, **params).kernel
    kernel = 1.0 if math.isnan(kernel) else kernel
    maps = {
        "relu": lambda x: np.maximum(x, 0),
        "sign": np.sign,
        "tanh": np.tanh,
        "cos": np.cos,
        "sin(z)+z^2/8": lambda x: np.sin(x) + x * x / 8,
    }
    scan = np.linspace(-0.999, 0.999, 200)
    if layer == "sign":  # no rule for a jump
        moved = 2 / math.pi * np.arcsin(scan) - scan
    else:
        moved = np.array([next_covariance(maps[layer], **params, K=kernel, c=c) / kernel - c for c in scan])
    zeros = scan[:-1][np.diff(np.sign(moved)) != 0]
    assert zeros == pytest.approx([c for c in found if abs(c) < 1], abs=0.011)  # a step of the scan


def test_correlations_with_a_normaliser_end_where_iterated_kernels_do():
    """z/2 + Dense(tanh(LayerNorm(z))): the skip keeps a quarter of both kernels."""
    theory = sr.derive(sr.pre_ln("tanh", gamma="1/2"))
    scales = theory.depth_scales(C_W=2, C_b="1/10")
    kernel, covariance, path = 1.0, 0.2, []
    for _ in range(500):
        branches = [next_covariance(np.tanh, 2, 0.1, 1.0, c) for c in (1.0, covariance / kernel)]
        kernel, covariance = kernel / 4 + branches[0], covariance / 4 + branches[1]
        path.append(covariance / kernel)
    distances = np.array(path[200:202]) - path[-1]
    assert scales.xi_c == pytest.approx(-1 / math.log(distances[1] / distances[0]), rel=5e-3)
    assert scales.c == pytest.approx(covariance / kernel, rel=1e-5)
    assert theory.correlation_fixed_points(C_W=2, C_b="1/10") == (scales.c, 1.0)
