"""The oracle of simulation: honest standard errors, right extrapolation, reproducible."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.check import Budget, Outcome, check
from symres.check.nets.forward_walk import Forward
from symres.check.oracles.layer_oracle import QuadratureOracle
from symres.check.rows import simulation_rows
from symres.check.rows.claims import iterated
from symres.check.sampling import random_points
from symres.check.simulation.partial_jacobians import depth_paths
from symres.check.simulation.simulate import Simulation
from symres.check.simulation.width_extrapolation import extrapolated, measured, pilot
from symres.core import symbols
from symres.core.errors import SymresError
from symres.core.symbols import C_W, C_b, gamma, xi, z
from symres.layers.nodes import Dense
from tests.oracles.kernels import PHI, Claim, FakeTheory, theory
from tests.oracles.nodes import Normed, Sorting

TANH = Activation("tanh", sp.tanh(z))
STEP = Activation("step", sp.Heaviside(z))
NUMBERS = {C_W: sp.Rational(13, 10), C_b: sp.Rational(1, 5), gamma: sp.Rational(3, 5), xi: sp.Rational(1, 2)}
ROUGH = Budget(precision=0.006)
DEEP = ("jacobian", "correlation_length")


def by_quadrature(forward):
    """The theory of any layer, read off the other oracle."""
    parameters = tuple(sorted(forward.free_symbols - {z}, key=str))

    def claim(name, arguments):
        def function(**values):
            numbers = {s: sp.Rational(mp.nstr(values[str(s)], 17)) for s in parameters}
            found = getattr(QuadratureOracle(forward, numbers), name)(*(float(values[str(a)]) for a in arguments))
            return mp.mpf(found.value if abs(found.value) > found.error else 0)  # rounding is no claim

        return Claim(name, (*arguments, *parameters), function)

    one, two = (symbols.K,), (symbols.K1, symbols.K2, symbols.C)
    names = {"kernel_map": one, "covariance_map": two, "chi_parallel": one, "chi_perp": one}
    return FakeTheory(forward, {name: claim(name, arguments) for name, arguments in names.items()})


@pytest.mark.exhaustive
def test_right_theories_pass_and_z_has_unit_variance():
    z_scores = []
    for seed in range(3):
        for name in ("gelu", "relu"):
            report = check(theory(name, skip=seed % 2 == 0), "simulation", seed=seed, budget=ROUGH)
            assert Outcome.REFUTED not in {v.outcome for v in report.verdicts}
            assert report.outcome is Outcome.PASSED, report.table()
            z_scores += [v.z for v in report.verdicts if v.quantity not in DEEP]
    assert len(z_scores) == 48
    assert 0.7 < np.sqrt(np.mean(np.square(z_scores))) < 1.4  # rows of one report share noise: some 30 are independent


LAYERS = {
    "nested": gamma * z + Dense(TANH(Dense(PHI["erf"](z)))),
    "block": z + xi * Dense(PHI["relu"](Dense(z, width=4))),
    "gated": gamma * z + Dense(TANH(Dense(z)) * PHI["erf"](Dense(z))),
    "normed": gamma * z + Dense(PHI["relu"](Normed(z))),
    "post-normed": Normed(gamma * z + Dense(PHI["relu"](z))),
    "shared": (lambda h: gamma * z + xi * h + Dense(PHI["erf"](h)))(Dense(TANH(z))),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LAYERS)
def test_the_two_oracles_agree_on_every_layer(name):
    report = check(by_quadrature(LAYERS[name]), "simulation", seed=5, budget=ROUGH)
    assert report.outcome is Outcome.PASSED, report.table()
    expected = ["kernel_map", "covariance_map", "kernel_map", "covariance_map", "chi_parallel", "chi_perp"]
    assert [v.quantity for v in report.verdicts if v.quantity not in DEEP] == expected
    assert sum("3 layers" in v.point for v in report.verdicts if v.quantity not in DEEP) == 2
    assert {v.quantity for v in report.verdicts} >= {"jacobian"}


def test_the_default_run_would_see_three_percent():
    rows = check(theory("gelu"), "simulation").verdicts
    assert all(v.detectable < (0.05 if v.quantity in DEEP else 0.03) for v in rows)
    assert all(len(v.widths) == (3 if "real weights" in v.point else 4) and v.samples > 1000 for v in rows)


def test_a_bias_of_order_one_over_n_is_removed():
    # K' of a nested layer is off by O(1/n): without the fit, width 16 alone is wrong
    forward = Forward(Dense(PHI["relu"](Dense(z)) ** 2), NUMBERS)
    S = 0.2 + 1.3 * 1.1
    expected = 0.2 + 1.3 * 1.5 * S**2
    sampler = Simulation(forward).kernels(1.1, 1.1, 0.5, 1)
    rng = np.random.default_rng(0)
    alone = extrapolated(sampler, np.abs, rng, Budget(precision=0.006, widths=(16,)))
    fitted = extrapolated(sampler, np.abs, rng, Budget(precision=0.006, widths=(256, 512, 1024)))
    statistical = 0.006 * expected
    assert alone.values[0] - expected > 6 * statistical
    assert abs(fitted.values[0] - expected) < 4 * fitted.errors[0] < 0.06 * expected


@pytest.mark.parametrize("widths", [(32, 64, 128, 256), (64, 128, 256), (64, 128)])
def test_an_error_allows_for_what_narrow_networks_add(widths):
    """A term (20/n)^2 of networks that fluctuate by 20/n: two widths cannot show it at all."""

    def sampler(n, nets, rng):
        return 1 + (20 / n) ** 2 + math.sqrt(20 / n) * rng.normal(size=(nets, 1)), np.zeros((nets, 1))

    for seed in range(3):
        found = extrapolated(sampler, np.abs, np.random.default_rng(seed), Budget(precision=0.003, widths=widths))
        assert 0.5 * found.errors[0] < abs(found.values[0] - 1) < 1.8 * found.errors[0]


@pytest.mark.parametrize(
    ("law", "bound"),
    [
        (lambda n: 3 / n, 3),  # a line: nothing is stretched
        (lambda n: 300 / n**2, 3),
        (lambda n: 50 / n**1.3, 5),
        (lambda n: 0.1 / math.sqrt(n), 10),
    ],
    ids=["line", "square", "steep power", "root"],
)
def test_an_error_is_stretched_where_no_line_fits(law, bound):
    """Without the stretching these laws are up to 300 errors away from their limit: a right claim would be refuted."""

    def sampler(n, nets, rng):
        return 1 + law(n) + 1e-3 * rng.normal(size=(nets, 1)), np.zeros((nets, 1))

    found = extrapolated(sampler, np.abs, np.random.default_rng(0), Budget(precision=0.003))
    distance = abs(found.values[0] - 1)
    assert distance < bound * found.errors[0]
    straight = abs(law(128) - 3 / 128) < 1e-12
    assert found.errors[0] < 1e-4 if straight else distance > 10 * 5e-5


def test_the_error_of_one_width_is_the_scatter_of_repetitions():
    sampler = Simulation(Forward(LAYERS["nested"], NUMBERS)).kernels(1.1, 0.9, 0.5, 2)
    budget = Budget(precision=0.05, neurons=30_000, widths=(64, 128))
    runs = [extrapolated(sampler, np.abs, np.random.default_rng(seed), budget) for seed in range(30)]
    scatter = np.std([run.values for run in runs], axis=0, ddof=1)
    claimed = np.mean([run.errors for run in runs], axis=0)
    assert np.all(scatter / claimed < 1.4) and np.all(scatter / claimed > 0.6)


def test_fluctuations_choose_widths_and_depth():
    cube = Activation("cube", z**3)
    tame, wild = (
        pilot(Simulation(Forward(Dense(phi(z)), NUMBERS)).kernels(1, 1, 0.5, 3), np.abs, np.random.default_rng(0))
        for phi in (PHI["erf"], cube)
    )
    assert tame.max() < 20 < 400 < wild.max()
    right = FakeTheory(
        Dense(cube(z)),
        {"kernel_map": Claim("kernel_map", (symbols.K, C_W, C_b), lambda K, C_W, C_b: C_b + 15 * C_W * K**3)},
    )
    report = check(right, "simulation", budget=Budget(precision=0.006))
    assert report.outcome is Outcome.PASSED
    assert not any("layers" in v.point for v in report.verdicts)
    assert all("fluctuate" in v.reason and v.widths[0] >= 256 for v in report.verdicts)


@pytest.mark.parametrize(("claim", "outcome"), [(mp.inf, Outcome.PASSED), (mp.mpf(3), Outcome.REFUTED)])
def test_a_jump_diverges_in_networks_too(claim, outcome):
    step = FakeTheory(
        gamma * z + Dense(STEP(z)), {"chi_perp": Claim("chi_perp", (symbols.K, C_W, C_b, gamma), lambda **_: claim)}
    )
    report = check(step, "simulation", budget=ROUGH)
    assert [v.outcome for v in report.verdicts] == [outcome]
    assert math.isinf(report.verdicts[0].value)


def test_what_does_not_fluctuate_has_no_error():
    # the sign of a neuron does not depend on K: K' is the same in every network, and its derivative exactly 0
    sign = Activation("sign", sp.sign(z))
    parameters = (symbols.K, C_W, C_b)
    right = FakeTheory(Dense(sign(z)), {"chi_parallel": Claim("chi_parallel", parameters, lambda **_: mp.mpf(0))})
    report = check(right, "simulation", budget=ROUGH)
    assert report.outcome is Outcome.PASSED and report.verdicts[0].value == 0
    assert check(right.spoilt("chi_parallel", lambda _: mp.mpf("0.01")), "simulation").outcome is Outcome.REFUTED


def test_networks_can_do_what_the_infinite_one_cannot():
    claims = {"kernel_map": theory("relu", skip=False).quantities["kernel_map"]}
    report = check(FakeTheory(Dense(PHI["relu"](Sorting(z))), claims), budget=ROUGH, points=1)
    by_oracle = {o: {v.outcome for v in report.verdicts if v.oracle == o} for o in ("quadrature", "simulation")}
    assert by_oracle["quadrature"] == {Outcome.INCONCLUSIVE}
    assert by_oracle["simulation"] == {Outcome.PASSED}  # sorting the neurons changes no average


def test_too_little_work_is_inconclusive():
    report = check(theory("gelu"), "simulation", budget=Budget(precision=0.2, neurons=100_000, widths=(64, 128)))
    assert report.outcome is Outcome.INCONCLUSIVE
    assert "would go unnoticed" in report.table()


@pytest.mark.exhaustive
def test_progress_is_told():
    seen = []
    check(theory("erf"), budget=ROUGH, points=1, progress=lambda what, share: seen.append((what, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares) and shares[0] == 0 and 0.95 < shares[-1] <= 1
    assert {what.split()[-1] for what, _ in seen} == {"quadrature", "simulation"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [0, 3])
def test_a_tail_that_was_not_sampled_refutes_nothing(seed, monkeypatch):
    # the average of exp(4 z) hangs on neurons that a few networks in thousands contain
    monkeypatch.setattr(simulation_rows, "natural_units", lambda *_: random_points.ORDINARY)
    rows = check(sr.derive("exp(2*z)"), "simulation", seed=seed, depth=1).verdicts
    assert {row.outcome for row in rows} == {Outcome.INCONCLUSIVE}
    assert any("a few networks" in row.reason for row in rows)


def test_the_networks_that_carry_the_variance_are_counted():
    def sampler(draw):
        return lambda n, nets, rng: (draw(rng, (nets, 1)), np.zeros((nets, 1)))

    def carriers(draw):
        return measured(sampler(draw), 64, 9000, np.random.default_rng(0)).carriers[0]

    assert carriers(lambda rng, shape: rng.normal(size=shape)) == pytest.approx(3000, rel=0.1)  # kurtosis 3
    assert carriers(lambda rng, shape: np.exp(4 * rng.normal(size=shape))) < 10
    assert carriers(lambda rng, shape: np.full(shape, 0.1)) == math.inf


def iterated_claims(kernel, mixed, depth=2):
    claims = {
        "kernel_map": Claim("kernel_map", (symbols.K,), kernel),
        "covariance_map": Claim("covariance_map", (symbols.K1, symbols.K2, symbols.C), mixed),
    }
    return iterated(claims, {symbols.K1: sp.S.One, symbols.K2: sp.S.One, symbols.C: sp.S.Half}, {}, depth)


def test_claims_stand_alone():
    def failing(**_):
        raise SymresError("a number", "no digits", "ask for fewer")

    first, second = iterated_claims(lambda K: 2 * K, failing)
    assert first.numbers == {"kernel_map": 2} and second.numbers == {"kernel_map": 4}
    assert all("no digits" in layer.reasons["covariance_map"][0] for layer in (first, second))
    assert not first.contradiction


def test_rounding_is_no_contradiction_but_more_is():
    for excess, contradicts in ((0, False), (mp.mpf(10) ** -14, False), (mp.mpf(10) ** -9, True), (-3, True)):
        seen = []

        def mixed(K1, K2, C, excess=excess, seen=seen):
            seen.append(abs(C) <= mp.sqrt(K1 * K2))
            return 1 + excess

        layers = iterated_claims(lambda K: K, mixed, 3)
        assert [bool(layer.contradiction) for layer in layers] == [contradicts] * 3
        assert all(seen) and len(seen) == (1 if contradicts else 3)
        if contradicts:
            assert all("after 1 layer C**2 > K1*K2" in layer.contradiction for layer in layers)


STEEP = {"tanh": sp.tanh(1000 * z), "erf": sp.erf(300 * z), "clip": sp.Max(sp.Min(1000 * z, 1), -1)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", STEEP)
def test_a_steep_slope_is_no_jump(name, seed, monkeypatch):
    """(K'-C')/(K-C) of tanh(1000 z) grows from 51 to 303 between the distances 1e-4 and 1e-6, and then to its limit."""
    monkeypatch.setattr(simulation_rows, "natural_units", lambda *_: random_points.ORDINARY)
    forward = Dense(Activation(name, STEEP[name])(z))
    limit = {"tanh": 4000 / 3, "erf": 1200 / math.pi / 2, "clip": 2000}[name]  # int phi'(z)^2 dz, or nearly
    scale = {"erf": math.sqrt(2 * math.pi)}.get(name, 1.0)
    claim = Claim("chi_perp", (symbols.K, C_W), lambda K, C_W: C_W * limit * scale / mp.sqrt(2 * mp.pi * K))
    rows = check(FakeTheory(forward, {"chi_perp": claim}), "simulation", seed=seed, budget=ROUGH).verdicts
    assert [row.outcome for row in rows] == [Outcome.INCONCLUSIVE]  # too few neurons lie on the slope
    assert not rows[0].z > 4


@pytest.mark.parametrize("claim", ["1e-20", "inf"])
def test_rounding_that_grows_is_no_divergence(claim):
    """Neurons of size 1 that differ by 1e-20 differ by nothing but rounding, whose share grows as K - C falls."""
    faint = FakeTheory(
        Dense(sp.Rational(1, 10**20) * STEP(z)),
        {"chi_perp": Claim("chi_perp", (symbols.K, C_W, C_b), lambda **_: mp.mpf(claim))},
    )
    (row,) = check(faint, "simulation", parameters={"C_W": 1, "C_b": 1}).verdicts
    assert row.outcome is Outcome.INCONCLUSIVE and "do not tell" in row.reason


def test_a_jump_that_networks_do_not_reach_does_not_refute():
    far = FakeTheory(
        Dense(Activation("far", z + sp.Heaviside(z - 9))(z)),
        {"chi_perp": Claim("chi_perp", (symbols.K, C_W), lambda **_: mp.inf)},
    )
    assert [row.outcome for row in check(far, "simulation", budget=ROUGH).verdicts] == [Outcome.INCONCLUSIVE]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("formula", "seed"), [("gaussian_slope", 1), ("gaussian_slope", 2), ("exp(-abs(z))", 2), ("1/(1+z^2)", 1)]
)
def test_a_susceptibility_that_nearly_vanishes_is_compared_elsewhere(formula, seed):
    phi = sr.activation(formula)
    theory = sr.derive(sr.mlp(phi) if formula == "gaussian_slope" else sr.residual(phi))
    only = FakeTheory(theory.layer.forward, {"chi_parallel": theory.chi_parallel})
    (row,) = check(only, "simulation", seed=seed).verdicts
    assert row.outcome is Outcome.PASSED and "moved here from K = " in row.reason
    wrong = replace(theory.chi_parallel, body=theory.chi_parallel.body * sp.Rational(11, 10))
    (row,) = check(FakeTheory(theory.layer.forward, {"chi_parallel": wrong}), "simulation", seed=seed).verdicts
    assert row.outcome is Outcome.REFUTED


def test_relu_networks_grow_by_half_of_the_weight_variance():
    kernels, jacobians = depth_paths(sr.mlp("relu"), {sr.C_W: 2.2, sr.C_b: 0.0}, 3.0, 4, 200, 400, seed=1)
    assert kernels.shape == jacobians.shape == (400, 5)
    for found, start in ((kernels, 3.0), (jacobians, 1.0)):
        error = found.std(axis=0, ddof=1) / np.sqrt(400)
        assert np.all(np.abs(found.mean(axis=0) - start * 1.1 ** np.arange(5)) <= 4 * error + 1e-12)


def test_they_are_the_same_for_one_seed():
    arguments = sr.residual("tanh"), {sr.C_W: 1.0, sr.C_b: 0.1, sr.gamma: 0.5}, 1.0, 3, 32, 4
    one, other, next_ = depth_paths(*arguments), depth_paths(*arguments), depth_paths(*arguments, seed=1)
    assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])
    assert not np.array_equal(one[0], next_[0])


def test_a_batch_is_normalised_over_its_inputs():
    """Dense(BatchNorm(z)): the kernel becomes C_W whatever it was."""
    layer = sr.Layer(sr.Dense(sr.BatchNorm(sr.z)))
    kernels, _ = depth_paths(layer, {sr.C_W: 3.0, sr.C_b: 0.0}, 50.0, 1, 400, 50, batch=True)
    assert kernels[:, 1].mean() == pytest.approx(3.0, rel=0.02)
