"""Fixed points of the kernel at given parameters: where they are, what they attract, and their phase, by hand."""

import itertools
import json
import math

import mpmath as mp
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
