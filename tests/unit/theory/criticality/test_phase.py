"""Where deep networks end, by hand and by iterated integrals: fixed points and their phases, correlations."""

import itertools
import json
import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from tests.command_line import page
from tests.shared import derived

R = sp.Rational
OFFSETS = {"5e-4": "chaotic", "-5e-4": "ordered", "1e-9": "chaotic", "-1e-9": "ordered", "0": "critical"}


def erf_with(slope, kernel):
    """C_W and C_b with which erf preserves a kernel, where chi_perp = 4 C_W/(pi sqrt(1 + 4 K)) is the slope."""
    weight = slope * sp.pi * sp.sqrt(1 + 4 * kernel) / 4
    return {"C_W": weight, "C_b": kernel - weight * 2 / sp.pi * sp.asin(2 * kernel / (1 + 2 * kernel))}


@pytest.mark.sample(3)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("kernel", [R(1, 10), R(1), R(30)])
def test_the_phase_is_read_off_the_slope_alone(kernel, offset):
    """A chi_perp of 1 + 5e-4 multiplies gradients by 10^4 within 20000 layers: that is not critical."""
    slope = 1 + R(offset)
    numbers = erf_with(slope, kernel)
    assert sp.N(numbers["C_b"]) > 0
    found = derived("erf").fixed_points(**numbers)
    (point,) = [p for p in found if abs(p.K / float(kernel) - 1) < 1e-9]
    assert point.chi_perp == pytest.approx(float(slope), abs=1e-14)
    assert point.phase == OFFSETS[offset]
    assert point.chi_parallel < 1  # the slope of asin(2K/(1+2K)) is below that of its chord
    with mp.workdps(20):
        weight = mp.mpf(sp.N(numbers["C_W"], 20))
        k = mp.mpf(kernel.p) / kernel.q
        parallel = weight * 4 / mp.pi / ((1 + 2 * k) * mp.sqrt(1 + 4 * k))
    assert point.chi_parallel == pytest.approx(float(parallel), rel=1e-13)


@pytest.mark.sample(3)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("formula", ["relu", "tanh", "erf(z)", "leaky_relu(slope=1/10)", "z"])
def test_the_phase_at_vanishing_kernel(formula, offset):
    """Without biases all of these preserve K = 0; chi_perp is C_W <phi'^2> there."""
    square = {"relu": R(1, 2), "tanh": 1, "erf(z)": 4 / sp.pi, "leaky_relu(slope=1/10)": R(101, 200), "z": 1}[formula]
    found = derived(formula).fixed_points(C_W=(1 + R(offset)) / square, C_b=0)
    linear = formula not in ("tanh", "erf(z)")
    assert found[0].phase == OFFSETS[offset]
    assert found[0].K == (sr.K if linear and offset == "0" else 0.0)
    assert found[0].chi_parallel == pytest.approx(found[0].chi_perp, rel=1e-14)


@pytest.mark.parametrize("offset", ["5e-4", "-5e-4"])
def test_the_phase_of_a_skip_connection(offset):
    """gamma^2 + C_W/2 at every kernel; with biases only what shrinks has a fixed point."""
    theory = derived(sr.residual("relu"))
    numbers = {"gamma": R(3, 5), "C_W": 2 * (1 + R(offset)) - 2 * R(9, 25)}
    phase = OFFSETS[offset]
    assert [(p.K, p.phase) for p in theory.fixed_points(C_b=0, **numbers)] == [(0.0, phase)]
    with_bias = theory.fixed_points(C_b=R(1, 10), **numbers)
    assert [p.phase for p in with_bias] == (["ordered"] if phase == "ordered" else [])
    assert all(p.K == pytest.approx(200.0, rel=1e-9) for p in with_bias)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["erf", "tanh", "softsign"])
def test_critical_values_that_were_rounded_are_still_critical(name):
    """The 12 digits of a page, typed in again: pi/4 is no longer exact."""
    theory = derived(name)
    point = theory.critical_points[0]
    weight, bias = (R(str(sp.N(value, 12))) for value in (point.C_W, point.C_b))
    assert "critical" in {found.phase for found in theory.fixed_points(C_W=weight, C_b=bias)}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("offset", "phase"), OFFSETS.items())
def test_the_page_gives_the_same_phase(capsys, offset, phase):
    weight = str(2 * (1 + R(offset)))
    words = ("derive", "relu", "--set", f"C_W={weight}", "--set", "C_b=0")
    assert phase in page(capsys, *words).split("Fixed points")[1]
    (point,) = json.loads(page(capsys, *words, "--json"))["fixed_points"]
    assert point["phase"] == phase
    assert point["chi_perp"] == pytest.approx(float(1 + R(offset)), abs=1e-14)


def test_zeros_beside_an_extremum():
    """Near the end of a critical line two fixed points meet: a product of balls contains 0 where neither does."""
    gate = sr.activation("gelu")
    theory = derived(sr.Layer(sr.gamma * sr.z + sr.Dense(gate(sr.Dense(sr.z)) * sr.Dense(sr.z))))
    point = theory.critical_line("0.5", gamma="0.6")[0]
    found = theory.phase(C_W="0.5", C_b=float(point), gamma="0.6", K=point.K)
    assert found.name == "critical" and found.K == pytest.approx(point.K, rel=1e-9)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["relu", "leaky_relu", "erf"])
def test_correlation_lengths_of_blocks_with_biases(name):
    """K = 0 is no fixed point where biases stand inside of averages: one coefficient shows it."""
    phi = sr.activation(name)
    phi = phi.subs(slope="1/5") if name == "leaky_relu" else phi
    theory = derived(sr.two_layer_block(phi, sr.gamma))
    numbers = {"C_W": "1.3", "C_b": "0.2", "gamma": "0.6", "xi": "0.5"}
    (point,) = theory.fixed_points(**numbers)
    kernel = theory.kernels(400, 1, **numbers)[-1]
    assert point.K == pytest.approx(float(kernel), rel=1e-12)
    chi = theory.chi_perp(K=point.K, **numbers)
    assert theory.correlation_length(**numbers) == pytest.approx(1 / abs(mp.log(chi)), rel=1e-9)


def test_kernels_that_diverge_without_a_limit_that_is_known():
    """The tail of z (1 - z)^(3/2), z < 1, has no expansion here; the kernel grows all the same."""
    theory = derived("z*max(1-z,0)^(3/2)")
    kernels = [float(k) for k in theory.kernels(4, K=1, C_W=1, C_b=0)]
    assert all(after > 2 * before for before, after in itertools.pairwise(kernels))
    found = theory.phase(K=1, C_W=1, C_b=0)
    assert (found.name, found.K) == ("diverging", math.inf)
    assert math.isnan(found.chi_perp)
    with pytest.raises(sr.NoClosedForm, match="limit of chi_perp is not known"):
        theory.correlation_length(K=1, C_W=1, C_b=0)


# ---- correlations of two inputs, and the depths over which they end ------------------------------------------------

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
