"""Tangent kernels: the oracles against gradients in real weights, and what they say of right and of known claims."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.check import Budget, Outcome, check
from symres.check.nets.forward_walk import Forward
from symres.check.oracles.layer_oracle import QuadratureOracle
from symres.check.simulation.simulate import Simulation
from symres.check.simulation.width_extrapolation import extrapolated
from symres.core.errors import DeclarationError, NoClosedForm
from tests.oracles.layers import BUILD, VALUES

NEW = ("ntk_map", "chi_delta", "parameter_norm")
LAYERS = ("mlp", "residual", "pre_ln", "ln_act", "two_layer_block", "post_ln", "glu", "branch_twice", "batch_norm")


def numbers(layer):
    return {s: sp.Rational(VALUES[str(s)]) for s in layer.forward.free_symbols if s is not sr.z}


def after_a_layer(name, z, w, b):
    """What the two layers below do to streams of shape (nets, n, inputs), in PyTorch."""
    branch = (VALUE["C_W"] / z.shape[1]) ** 0.5 * w @ torch.relu(z) + VALUE["C_b"] ** 0.5 * b
    out = VALUE["gamma"] * z + branch
    if name == "residual":
        return out
    apart = out - out.mean(dim=2, keepdim=True)
    return apart / (apart**2).mean(dim=1, keepdim=True).sqrt()


VALUE = {name: float(value) for name, value in VALUES.items()}
RELU = sr.activation("relu")
SMALL = {
    "residual": sr.residual("relu"),
    "batch norm after": sr.Layer(sr.BatchNorm(sr.gamma * sr.z + sr.Dense(RELU(sr.z)))),
}


@pytest.mark.parametrize("name", SMALL)
def test_random_changes_give_the_sum_over_all_gradients(name):
    """Networks of width 8: (1/n) sum_i sum_theta (dz_i1/dtheta)(dz_i2/dtheta), by autograd for every weight."""
    n, nets, K, C = 8, 20_000, 1.1, 0.4
    rng = np.random.default_rng(0)
    z = torch.from_numpy(rng.standard_normal((nets, n, 2)) @ np.linalg.cholesky([[K, C], [C, K]]).T)
    own = [torch.from_numpy(rng.standard_normal((nets, n, size))).requires_grad_() for size in (n, 1)]
    out = after_a_layer(name, z, *own)
    exact = np.zeros(nets)
    for neuron in range(n):
        ends = [torch.autograd.grad(out[:, neuron, a].sum(), own, retain_graph=True) for a in (0, 1)]
        exact += sum((one * other).sum(dim=(1, 2)).numpy() for one, other in zip(*ends, strict=True)) / n
    layer = SMALL[name]
    shared = None if name == "residual" else C
    simulation = Simulation(Forward(layer.forward, numbers(layer)), shared=shared)
    observed, _ = simulation.tangent_kernel(K, K, C, 0.0)(n, 4 * nets, rng)
    error = np.hypot(exact.std() / np.sqrt(nets), observed.std() / np.sqrt(4 * nets))
    assert abs(exact.mean() - observed.mean()) < 4 * error
    assert error < 0.02 * abs(exact.mean())


def relu_map(K1, K2, C):
    size = mp.sqrt(K1 * K2)
    angle = mp.acos(C / size)
    return size * (mp.sin(angle) + (mp.pi - angle) * mp.cos(angle)) / (2 * mp.pi), (mp.pi - angle) / (2 * mp.pi)


@pytest.mark.parametrize("place", [(1.1, 0.7, 0.4, 0.9), (2.0, 3.0, -1.5, 0.3), (1.0, 1.0, 0.9999, 1.0)])
def test_quadrature_knows_the_tangent_kernel_of_relu(place):
    """Jacot et al.: Theta' = C_b + C_W (arc-cosine kernel 1 + Theta * kernel 0), written by hand."""
    K1, K2, C, Theta = place
    forward = sr.mlp("relu").forward
    oracle = QuadratureOracle(forward, {sr.C_W: sp.Rational("1.3"), sr.C_b: sp.Rational("0.2")})
    kernel, slope = relu_map(K1, K2, C)
    found = oracle.ntk_map(K1, K2, C, Theta)
    assert abs(found.value - float(0.2 + 1.3 * (kernel + slope * Theta))) < 5 * found.error < 1e-4
    own = oracle.ntk_map(K1, K1, K1, 0.0)
    assert abs(own.value - (0.2 + 1.3 * K1 / 2)) < 5 * own.error < 1e-9


def test_quadrature_knows_the_second_order_of_nearby_inputs():
    """Doshi et al. (36) for sin: C_W <phi''^2 + phi''' phi'> = -C_W <cos(2z)> = -C_W exp(-2K)."""
    oracle = QuadratureOracle(sr.mlp("sin").forward, {sr.C_W: sp.Rational("1.3"), sr.C_b: sp.Rational("0.2")})
    found = oracle.chi_delta(0.4)
    assert abs(found.value + 1.3 * np.exp(-0.8)) < 5 * found.error < 1e-6


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_both_oracles_agree(name):
    """Integrals over two networks that part, and finite networks with random changes: no code in common."""
    layer = BUILD[name]("erf")
    batch = "batch" in name
    K1, K2, C, Theta = 1.1, 1.1 if batch else 0.8, 0.4, 0.9
    shared = C if batch else None
    simulation = Simulation(Forward(layer.forward, numbers(layer)), shared=shared)
    oracle = QuadratureOracle(layer.forward, numbers(layer), shared)
    rows = (
        (simulation.tangent_kernel(K1, K2, C, Theta), oracle.ntk_map(K1, K2, C, Theta)),
        (simulation.parameter_norm(K1), oracle.ntk_map(K1, K1, K1, 0.0)),
    )
    for sampler, exact in rows:
        rng = np.random.default_rng(3)
        seen = extrapolated(sampler, np.abs, rng, Budget(precision=0.008), ladder=simulation.ladder)
        assert abs(seen.values[0] - exact.value) < 4 * seen.errors[0]
        assert seen.errors[0] < 0.03 * exact.value


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["residual", "post_ln", "glu", "batch_norm"])
def test_derived_tangent_kernels_pass(name):
    theory = sr.derive(BUILD[name]("relu" if name == "batch_norm" else "erf"))
    asked = NEW if name != "batch_norm" else ("ntk_map", "parameter_norm")
    report = check(theory, quantities=asked, points=2)
    assert report.outcome is Outcome.PASSED, report.table()
    simulated = {"ntk_map", "parameter_norm"}
    assert {(v.quantity, v.oracle) for v in report.verdicts} == {
        *((name, "quadrature") for name in asked),
        *((name, "simulation") for name in simulated),
    }


def test_biases_before_a_batch_normalisation_are_never_learned():
    """What moves all inputs of a batch alike is subtracted again; only what tells its inputs apart is left."""
    layer = sr.Layer(sr.BatchNorm(sr.gamma * sr.z + sr.Dense(sr.activation("relu")(sr.z))))
    theory = sr.derive(layer)
    assert theory.ntk_map.expr == 0
    one = {"K": 1, "C": "0.4", "C_W": "1.3", "gamma": "0.5"}
    assert sr.C_b not in theory.parameter_norm.symbols
    # C_W (<phi^2> - <phi phi'>) over the variance gamma^2 (K - C) + C_W (<phi^2> - <phi phi'>)
    apart = mp.mpf("1.3") * (mp.mpf(1) / 2 - relu_map(1, 1, mp.mpf("0.4"))[0])
    expected = apart / (mp.mpf("0.25") * mp.mpf("0.6") + apart)
    assert abs(theory.parameter_norm.evalf(20, **one) - expected) < 1e-15


def test_the_tangent_kernel_behind_a_batch_normalisation_is_fresh():
    theory = sr.derive(sr.batch_norm("relu", sr.gamma))
    expected = sr.gamma**2 * sp.Symbol("Theta") + sr.C_b + sr.C_W / (2 * sp.pi)
    found = theory.ntk_map.expr.xreplace({s: sp.Symbol("Theta") for s in theory.ntk_map.symbols if s.name == "Theta"})
    assert sp.expand(found - expected) == 0


def test_what_is_not_known_of_a_batch_is_refused():
    theory = sr.derive(sr.batch_norm("relu", "0.5"))
    assert theory.chi_delta.status is sr.Status.UNKNOWN
    with pytest.raises(NoClosedForm):
        theory.chi_delta.evalf(K=1, C="0.5", C_W=1)
    with pytest.raises(DeclarationError, match="normalises over a batch"):
        theory.network(2).gradient_norms(1, C="0.5", C_W=1, C_b=0)


def test_only_what_is_asked_for_is_compared():
    theory = sr.derive("erf")
    report = check(theory, "quadrature", quantities=["parameter_norm"], points=1)
    assert [v.quantity for v in report.verdicts] == ["parameter_norm"]
    assert set(theory._known) == {"parameter_norm"}  # nothing else is derived
    by_default = {v.quantity for v in check(theory, "quadrature", points=1).verdicts}
    assert by_default == {name for name, record in theory.observables.items() if record.oracle is not None}


def test_an_oracle_without_an_answer_says_so():
    report = check(sr.derive("erf"), "simulation", quantities=["h"])
    assert [(v.quantity, v.outcome) for v in report.verdicts] == [("h", Outcome.INCONCLUSIVE)]
    report = check(sr.derive("sign"), "quadrature", quantities=["h"])
    assert "left it unknown" in report.verdicts[0].reason
