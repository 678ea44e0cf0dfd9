"""Layers that average over a batch: both oracles find out by themselves, and agree with what is done by hand."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.check import Budget, Outcome, check
from symres.check.nets import GramNet, LimitBatch, LimitNet, WeightNet
from symres.check.nets.forward_walk import Forward
from symres.check.nets.gram_net import root
from symres.check.nets.random_field import OracleLimit
from symres.check.nets.source_law import Rules
from symres.check.oracles.layer_oracle import QuadratureOracle
from symres.check.oracles.natural_scales import needs_batch
from symres.check.simulation.simulate import Simulation
from symres.check.simulation.width_extrapolation import extrapolated
from symres.core.symbols import C_W, C_b, gamma, z
from symres.layers.nodes import Node
from tests.oracles.kernels import FakeTheory
from tests.oracles.nodes import Sorting

NUMBERS = {C_W: sp.Rational(13, 10), C_b: sp.Rational(1, 5), gamma: sp.Rational(3, 5)}
RELU, ERF = sr.activation("relu"), sr.activation("erf")
ONE = gamma * z + sr.Dense(RELU(sr.BatchNorm(z)))
K, C = 1.7, 0.6


class CentredOfTests(Node):
    """A user's node: what a neuron has more than its average over the inputs."""

    def sample(self, net, u, *rest):
        return u - net.batch(u)


def by_hand(K, C):
    """BatchNorm leaves independent neurons of variance 1: <relu^2> = 1/2, <relu>^2 = 1/(2 pi), <relu'^2> = 1/2."""
    private = K - C
    return {
        "kernel_map": 0.36 * K + 0.2 + 1.3 / 2,
        "covariance_map": 0.36 * C + 0.2 + 1.3 / (2 * math.pi),
        "chi_parallel": 0.36,
        "chi_perp": 0.36 + 1.3 / 2 / private,
        "h": -1.3 / 4 / private**2,
    }


@pytest.mark.parametrize(
    "forward", [ONE, sr.Dense(ERF(CentredOfTests(z))), sr.Dense(ERF(sr.BatchNorm(sr.Dense(ERF(z)))))]
)
def test_a_batch_is_found_from_the_declaration(forward):
    assert needs_batch(forward, NUMBERS, 0, {})


@pytest.mark.parametrize("forward", [sr.Dense(RELU(sr.LayerNorm(z))), sr.Dense(Sorting(z)), sr.Dense(sr.C * z)])
def test_no_batch_where_none_is_asked_for(forward):
    assert not needs_batch(forward, NUMBERS, 0, {})


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", by_hand(K, C))
def test_quadrature_by_hand(name):
    oracle = QuadratureOracle(ONE, NUMBERS, shared=C)
    found = oracle.covariance_map(K, K, C) if name == "covariance_map" else getattr(oracle, name)(K)
    assert abs(found.value - by_hand(K, C)[name]) <= found.error < 1e-6 * abs(found.value)


def test_two_units_by_hand():
    """The second unit sees what the first one does not share: S - S' with S = C_b + C_W/2, S' = C_b + C_W/(2 pi)."""
    forward = sr.Dense(RELU(sr.BatchNorm(sr.Dense(RELU(sr.BatchNorm(z))))))
    oracle = QuadratureOracle(forward, NUMBERS, shared=C)
    apart = 1.3 * (0.5 - 1 / (2 * math.pi))
    assert oracle.kernel_map(K).value == pytest.approx(0.2 + 1.3 / 2, rel=1e-12)
    assert oracle.chi_perp(K).value == pytest.approx(1.3 / 2 / (K - C) * 1.3 / 2 / apart, rel=1e-9)


def test_an_average_over_a_batch_of_a_function_is_out_of_reach():
    oracle = QuadratureOracle(sr.Dense(ERF(sr.BatchNorm(RELU(z)))), NUMBERS, shared=C)
    with pytest.raises(OracleLimit, match="not linear"):
        oracle.kernel_map(K)
    with pytest.raises(OracleLimit, match="not a batch"):
        LimitNet([[K]]).batch(0)


def test_constants_are_their_own_average():
    net = LimitBatch([[K]], C, Rules())
    assert net.batch(3.0) == 3.0
    assert net.batch(np.array([2.0, 2.0])) == 2.0


@pytest.mark.parametrize("net", [GramNet, WeightNet])
def test_networks_with_a_batch_by_hand(net):
    budget = Budget(precision=0.01, neurons=60_000, widths=(32, 64, 128))
    simulation, claims = Simulation(Forward(ONE, NUMBERS), net, shared=C), by_hand(K, C)
    samplers = {
        ("kernel_map", "covariance_map"): simulation.kernels(K, K, C, 1),
        ("chi_parallel",): simulation.chi_parallel(K),
        ("chi_perp",): simulation.chi_perp(K, 1e-10),
    }
    for names, sampler in samplers.items():
        found = extrapolated(sampler, np.abs, np.random.default_rng(1), budget, ladder=simulation.ladder)
        for value, error, name in zip(found.values, found.errors, names, strict=True):
            assert abs(value - claims[name]) < 4 * error < 0.2 * claims[name], name


def test_the_finite_batch_is_extrapolated_away():
    """The networks themselves are off by about 1/B, which no standard error of one width covers."""
    simulation = Simulation(Forward(ONE, NUMBERS), shared=C)
    sampler, expected = simulation.chi_perp(K, 1e-10), by_hand(K, C)["chi_perp"]
    one = extrapolated(sampler, np.abs, np.random.default_rng(0), Budget(widths=(32,)))
    assert one.values[0] - expected > 0.02 * expected
    all_of_them = extrapolated(sampler, np.abs, np.random.default_rng(0), Budget(), ladder=simulation.ladder)
    assert abs(all_of_them.values[0] - expected) < 4 * all_of_them.errors[0] < 0.02 * expected


def test_roots_of_many_inputs():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(3, 20, 40))
    for gram in (
        np.matmul(wide, wide.transpose(0, 2, 1)),
        np.matmul(wide.transpose(0, 2, 1), wide),
    ):  # regular, rank 20
        factor = root(gram)
        assert np.allclose(np.matmul(factor, factor.transpose(0, 2, 1)), gram, atol=1e-6)
        assert np.all(np.triu(factor[0], 1) == 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("layer", [sr.batch_norm("relu", gamma), sr.batch_norm("tanh")], ids=["skip", "vanilla"])
def test_derived_layers_pass_quadrature(layer):
    report = check(sr.derive(layer), "quadrature", points=1, seed=1)
    assert report.outcome is Outcome.PASSED, report.table()
    assert all(" C = " in row.point for row in report.verdicts)


@pytest.mark.exhaustive
def test_a_derived_layer_passes_simulation():
    rows = check(sr.derive(sr.batch_norm("relu", gamma)), "simulation", depth=1).verdicts
    assert {row.outcome for row in rows} == {Outcome.PASSED}
    assert {row.quantity for row in rows} >= {"kernel_map", "covariance_map", "chi_parallel", "chi_perp", "jacobian"}
    assert all(abs(row.z) < 4 for row in rows)


@pytest.mark.parametrize("oracle", ["quadrature", "simulation"])
def test_the_theory_of_layer_norm_is_not_that_of_a_batch(oracle):
    """Without the covariance: phi at variance K instead of K - C under the branch."""
    right = sr.derive(sr.batch_norm("relu", gamma)).chi_perp
    wrong = {"chi_perp": _Shifted(right)}
    rows = check(FakeTheory(ONE, wrong), oracle, points=2).verdicts
    assert {row.outcome for row in rows} == {Outcome.REFUTED}


class _Shifted:
    """chi_perp at C = 0 whatever C is."""

    def __init__(self, right):
        self.name, self.symbols, self.status, self._right = right.name, right.symbols, right.status, right

    def evalf(self, digits=15, **values):
        return mp.mpf(self._right.evalf(digits, **(values | {"C": 0})))


def test_places_of_batches_are_covariances():
    kernel_map = sr.derive(sr.batch_norm("relu", gamma)).kernel_map
    rows = check(FakeTheory(ONE, {"kernel_map": kernel_map}), "quadrature", points=4).verdicts
    kernels = [{part.split(" = ")[0]: float(part.split(" = ")[1]) for part in row.point.split(", ")} for row in rows]
    assert len(kernels) == 7 and all(0 <= place["C"] < place["K"] for place in kernels)
    assert any(place["C"] == 0 for place in kernels) and any(place["C"] > 0.85 * place["K"] for place in kernels)
