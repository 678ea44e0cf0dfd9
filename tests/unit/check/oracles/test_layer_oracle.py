"""The oracle of quadrature against results by hand, and what it says where it cannot tell."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.check import Outcome, check
from symres.check.oracles.comparison import compared
from symres.check.oracles.layer_oracle import QuadratureOracle, _extrapolated
from symres.core.errors import SymresError
from symres.core.symbols import C_W, C_b, gamma, z
from symres.layers.nodes import Dense
from symres.results.observable import OracleValue
from symres.results.verdict import QUADRATURE
from symres.theory.observables.registry import observables
from tests.oracles.kernels import KERNELS, PHI, FakeTheory, theory
from tests.oracles.nodes import Normed, Shaped, Sorting

STEP = Activation("step", sp.Heaviside(z))
NUMBERS = {C_W: sp.Rational(13, 10), C_b: sp.Rational(1, 5), gamma: sp.Rational(3, 5)}


@pytest.mark.sample(1)
@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("name", PHI)
def test_right_theories_pass_and_the_eye_is_sharp(name, skip):
    report = check(theory(name, skip), "quadrature", seed=3, points=3)
    assert report.outcome is Outcome.PASSED
    measured = [record for record in observables.values() if record.oracle is not None]
    assert {v.quantity for v in report.verdicts} == {record.name for record in measured}
    assert len(report.verdicts) == sum(2 if record.costly else 3 for record in measured)
    assert sum(record.costly for record in measured) == 2
    sharpness = {"phi_squared": 1e-10, "kernel_map": 1e-10, "covariance_map": 1e-8}
    sharpness |= {"chi_parallel": 1e-6, "chi_perp": 1e-5, "h": 2e-3}
    sharpness |= {"ntk_map": 1e-4, "chi_delta": 1e-3, "parameter_norm": 1e-6}
    for verdict in report.verdicts:
        if verdict.claimed != 0:
            assert verdict.detectable < sharpness[verdict.quantity], verdict


@pytest.mark.parametrize("quantity", ["chi_parallel", "chi_perp", "h"])
@pytest.mark.parametrize("K", [1e-3, 0.7, 40.0])
@pytest.mark.parametrize("name", PHI)
def test_the_error_is_no_smaller_than_the_truth(name, K, quantity):
    claim = theory(name).quantities[quantity]
    expected = float(claim.evalf(25, K=K, C_W=sp.Rational(13, 10), C_b=sp.Rational(1, 5), gamma=sp.Rational(3, 5)))
    found = getattr(QuadratureOracle(gamma * z + Dense(PHI[name](z)), NUMBERS), quantity)(K)
    assert abs(found.value - expected) <= found.error
    assert found.error < 1e-3 * max(abs(expected), 1e-3 * found.scale)


def test_a_nested_layer_by_hand():
    erf, slope = KERNELS["erf"]

    def inner(K):
        return 0.2 + 1.3 * erf(K, K, K)

    K = mp.mpf("1.7")
    oracle = QuadratureOracle(gamma * z + Dense(PHI["erf"](Dense(PHI["erf"](z)))), NUMBERS)
    S = inner(K)
    parallel = 0.36 + 1.3 * mp.diff(lambda s: erf(s, s, s), S) * mp.diff(inner, K)
    perpendicular = 0.36 + 1.3 * slope(S, S, S) * 1.3 * slope(K, K, K)
    assert oracle.chi_parallel(1.7).value == pytest.approx(float(parallel), rel=1e-11)
    assert oracle.chi_perp(1.7).value == pytest.approx(float(perpendicular), rel=1e-11)


def test_a_normalised_branch_by_hand():
    # with the branch normalised, K' - gamma^2 K does not depend on K, and phi' is averaged at unit variance
    oracle = QuadratureOracle(gamma * z + Dense(PHI["relu"](Normed(z))), NUMBERS)
    assert oracle.chi_parallel(1.7).value == pytest.approx(0.36, rel=1e-11)
    assert oracle.chi_perp(1.7).value == pytest.approx(0.36 + 1.3 * 0.5 / 1.7, rel=1e-10)
    assert oracle.h(1.7).value == pytest.approx(-1.3 * 0.25 / 1.7**2, rel=1e-5)


def test_a_jump_makes_the_susceptibility_infinite():
    for forward in (Dense(STEP(z)), gamma * z + Dense(STEP(z)), Dense(PHI["relu"](Dense(STEP(z))))):
        found = QuadratureOracle(forward, NUMBERS).chi_perp(80.0)
        assert found.value == math.inf
        assert "-0.50" in found.remark
    assert math.isnan(QuadratureOracle(Dense(STEP(z)), NUMBERS).h(1.0).value)


@pytest.mark.exhaustive
def test_a_jump_too_far_away_to_be_seen_does_not_refute():
    """At K = 1e-3 a jump at z = 1 lies 30 deviations out: no difference of neighbours reaches it."""
    far = sr.derive(sr.mlp("where(z>1, 1, where(z<-1, -1, 0))"))
    for seed in (0, 3):
        outcomes = {v.outcome for v in check(far, "quadrature", points=2, seed=seed).verdicts}
        assert Outcome.REFUTED not in outcomes


@pytest.mark.parametrize(("node", "word"), [(Sorting, "sort"), (Shaped, "shape")])
def test_a_node_that_needs_a_finite_network_is_inconclusive(node, word):
    claims = {name: claim for name, claim in theory("relu", skip=False).quantities.items() if name != "phi_squared"}
    report = check(FakeTheory(Dense(node(z)), claims), "quadrature", points=1)
    assert report.outcome is Outcome.INCONCLUSIVE
    assert all(v.outcome is Outcome.INCONCLUSIVE and word in v.reason for v in report.verdicts)


@pytest.mark.parametrize("branch", [Dense(z), Dense(PHI["relu"](z)) + Dense(PHI["erf"](z))])
def test_a_square_that_no_single_activation_has_is_inconclusive(branch):
    claims = {"phi_squared": theory("relu").quantities["phi_squared"]}
    (row,) = check(FakeTheory(branch, claims), "quadrature", points=1).verdicts
    assert row.outcome is Outcome.INCONCLUSIVE and "activations" in row.reason


def test_the_square_is_that_of_the_declared_activation_wherever_it_stands():
    """Inside or outside of other nodes, twice or once, with the values of its parameters."""
    slope = sp.Symbol("slope", positive=True)
    leaky = Activation("leaky", sp.Max(z, 0) + slope * sp.Min(z, 0), (slope,))
    for forward in (Dense(leaky(gamma * z + Dense(leaky(z)))), leaky(Normed(z)) * Dense(z)):
        found = QuadratureOracle(forward, NUMBERS | {slope: sp.Rational(1, 2)}).phi_squared(1.7)
        assert abs(found.value - 1.7 * (1 + 0.25) / 2) <= found.error < 1e-13


def test_five_dimensions_are_inconclusive():
    tangled = PHI["erf"](z * Dense(z) * Dense(z)) * Dense(z) * z + PHI["erf"](z + Dense(z) * Dense(z))
    claims = theory("relu", skip=False).quantities
    report = check(FakeTheory(Dense(tangled), {"covariance_map": claims["covariance_map"]}), "quadrature", points=1)
    assert report.outcome is Outcome.INCONCLUSIVE
    assert "dimensional" in report.verdicts[0].reason


def test_a_quantity_without_an_oracle_is_inconclusive():
    right = theory("relu")
    extra = FakeTheory(right.forward, right.quantities | {"nu": right.quantities["kernel_map"]})
    rows = check(extra, "quadrature", points=1, quantities=["nu"]).verdicts
    assert [row.outcome for row in rows] == [Outcome.INCONCLUSIVE]


def test_an_integrand_beyond_resolution_is_refused():
    oracle = QuadratureOracle(sr.mlp("sin(1000*z)").forward, NUMBERS)
    with pytest.raises(SymresError, match="varies too fast"):
        oracle.kernel_map(50.0)


GROWING = ["exp(z)", "exp(2*z)", "z*exp(z)", "z**2*exp(z)", "cosh(z)"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", GROWING)
def test_closed_forms_of_growing_activations_are_not_refuted(formula):
    rows = check(sr.derive(formula), "quadrature", points=4, seed=2).verdicts
    assert not [row for row in rows if row.outcome is Outcome.REFUTED]
    kernels = [row for row in rows if row.quantity == "covariance_map"]
    assert sum(row.outcome is Outcome.PASSED for row in kernels) >= 3
    right = sr.derive(formula)
    claim = right.covariance_map
    wrong = FakeTheory(right.layer.forward, {claim.name: replace(claim, body=claim.body * sp.Rational(101, 100))})
    assert {row.outcome for row in check(wrong, "quadrature", points=2, seed=2).verdicts} == {Outcome.REFUTED}


@pytest.mark.exhaustive
def test_numbers_out_of_range_say_so_and_refute_nothing():
    oracle = QuadratureOracle(sr.mlp("exp(2*z)").forward, NUMBERS)
    with pytest.raises(SymresError, match="range"):
        oracle.chi_parallel(95.0)
    for seed in (0, 4):
        rows = check(sr.derive("exp(2*z)"), "quadrature", seed=seed).verdicts
        assert {row.outcome for row in rows} == {Outcome.PASSED}


@pytest.mark.sample(2)
@pytest.mark.parametrize("K", [0.1, 30.0, 1e3])
@pytest.mark.parametrize("slope", [1, 30, 1000])
def test_steep_activations_by_hand(slope, K):
    """A slope of 1000 looks like a jump from afar: the steps of the limit must go on until it does not."""
    oracle = QuadratureOracle(Dense(Activation("steep", sp.erf(slope * z))(z)), NUMBERS)
    ratio = slope**2 * K
    if ratio > 1e6:
        return
    expected = 1.3 * 4 / math.pi * slope**2 / math.sqrt(1 + 4 * ratio)
    found = oracle.chi_perp(K)
    assert abs(found.value - expected) <= found.error < 1e-7 * expected
    found, expected = oracle.h(K), -expected * slope**2 / (1 + 4 * ratio)
    assert abs(found.value - expected) <= found.error < 1e-3 * abs(expected)


@pytest.mark.parametrize("rho", [-0.99, -0.9, -0.5, 0.1])
@pytest.mark.parametrize("K", [0.5, 3.0, 8.0])
def test_a_covariance_far_below_the_kernels_keeps_its_digits(K, rho):
    """<exp(x1) exp(x2)> = exp(K (1 + rho)), below its scale exp(2 K) by up to ten orders."""
    forward = Dense(Activation("growing", sp.exp(z))(z), C_W=1, C_b=0)
    found = QuadratureOracle(forward, {}).covariance_map(K, K, rho * K)
    expected = math.exp(K * (1 + rho))
    assert abs(found.value - expected) <= found.error < 1e-11 * expected


@pytest.mark.parametrize("rho", [-1e-3, 1e-6, 1e-9])
def test_a_covariance_that_nearly_cancels_knows_its_error(rho):
    """<erf erf> of nearly independent neurons: the integrand does not vanish, so the error is relative to its size."""
    forward = Dense(PHI["erf"](z), C_W=1, C_b=0)
    found = QuadratureOracle(forward, {}).covariance_map(1.0, 1.0, rho)
    expected = 2 / math.pi * math.asin(2 * rho / 3)
    assert abs(found.value - expected) <= found.error < 1e-13


@pytest.mark.exhaustive
def test_a_point_where_nothing_is_seen_is_moved():
    """For sin, h falls like exp(-2 K): at K = 20 nothing is left, and whatever is claimed there would agree."""
    right = sr.derive("sin")
    rows = [row for row in check(right, "quadrature").verdicts if row.quantity == "h"]
    assert {row.outcome for row in rows} == {Outcome.PASSED}
    assert any("moved here from K = " in row.reason for row in rows)
    assert not any("smaller kernel" in row.reason or "; " in row.reason.partition("moved")[2] for row in rows)
    assert max(row.detectable for row in rows) < 0.01
    wrong = replace(right.h, body=right.h.body * 2)
    rows = check(FakeTheory(right.layer.forward, {"h": wrong}), "quadrature").verdicts
    assert {row.outcome for row in rows} == {Outcome.REFUTED}


def test_a_divergence_without_a_jump_refutes_nothing():
    found = OracleValue(math.inf, math.inf, 1.0, "it grows", diverges=True)
    said = {
        steep: compared("chi_perp", "quadrature", "", mp.mpf(3), found, QUADRATURE, 0.001, steep=steep).outcome
        for steep in (None, True, False)
    }
    assert said == {None: Outcome.INCONCLUSIVE, True: Outcome.REFUTED, False: Outcome.INCONCLUSIVE}


def test_an_infinite_number_is_evidence_only_if_a_limit_diverges():
    def row(claim, **more):
        found = OracleValue(math.inf, 0.0, 1.0, **more)
        return compared("chi_perp", "quadrature", "", mp.mpf(claim), found, QUADRATURE, 0.001, steep=True)

    assert row(3).outcome is row("inf").outcome is Outcome.INCONCLUSIVE
    assert "range" in row(3).reason and row(3, remark="it grows").reason == "it grows"
    assert row(3, diverges=True).outcome is Outcome.REFUTED
    assert row("inf", diverges=True).outcome is Outcome.PASSED


@pytest.mark.exhaustive
def test_multiples_of_a_neuron_keep_their_digits_for_nearly_equal_inputs():
    """Their combination is exact: solved from a nearly singular covariance it cost half of the digits of chi_perp."""
    tanh = sr.activation("tanh")
    right = sr.derive(sr.Layer(sr.gamma * sr.z + sr.Dense(tanh(sr.gamma * sr.z) + tanh(sr.z))))
    rows = sr.check(right, against="quadrature").verdicts
    assert {str(row.outcome) for row in rows} == {"PASSED"}


@pytest.mark.parametrize("formula", ["asin(tanh(z))", "acos(tanh(z))"])
def test_digits_that_a_formula_loses_are_part_of_the_error(formula):
    """tanh(20) is 1 - 8e-18: half of the digits of its arcsine are gone at both resolutions alike."""
    theory = sr.derive(sr.mlp(formula))
    for K in (86, 40):
        expected = theory.kernel_map.evalf(20, K=K, C_W="1.3", C_b="0.2")
        found = QuadratureOracle(theory.layer.forward, NUMBERS).kernel_map(float(K))
        assert abs(found.value - expected) <= found.error < 1e-8 * expected
    pair = QuadratureOracle(theory.layer.forward, NUMBERS).covariance_map(25.0, 22.0, 13.0)
    expected = theory.covariance_map.evalf(15, K1=25, K2=22, C=13, C_W="1.3", C_b="0.2")
    assert abs(pair.value - expected) <= pair.error < 1e-10 * expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("power", [154, 157, 161])
def test_numbers_that_lose_digits_below_the_range_refute_nothing(power):
    """Squares of 1e-156 are numbers without all their digits; those of 1e-162 are 0."""
    right = sr.derive(f"1e-{power}*tanh(z)")
    rows = check(right, "quadrature", points=2, parameters={"C_b": 0}).verdicts
    assert Outcome.REFUTED not in {row.outcome for row in rows}
    open_ = [row.reason for row in rows if row.outcome is Outcome.INCONCLUSIVE]
    assert open_ and not any("not finite" in reason for reason in open_)


def test_a_logarithm_is_called_one():
    for formula in ("sqrt(abs(z))", "asin(max(min(z, 1), -1))"):
        found = QuadratureOracle(sr.mlp(formula).forward, NUMBERS).chi_perp(1.0)
        assert found.diverges and "like the logarithm of K-C" in found.remark


STEPS = range(7)


@pytest.mark.parametrize("size", [1e-4, 1e-8])
@pytest.mark.parametrize("place", [*STEPS, "all"])
def test_what_one_ratio_is_off_by_is_part_of_the_error(place, size):
    """The last of them alone leaves the last extrapolations close together; all of them, equal."""
    right = 1 + 0.3 * 2.0 ** -np.arange(7.0) - 0.1 * 4.0 ** -np.arange(7.0)
    off = np.zeros(7)
    off[slice(None) if place == "all" else place] = size
    one_resolution = _extrapolated(right, right + off, STEPS, 1.0, 0.0)
    assert abs(one_resolution.value - 1) <= one_resolution.error
    if place != "all":  # at both resolutions alike
        both = _extrapolated(right + off, right + off, STEPS, 1.0, 0.0)
        assert abs(both.value - 1) <= both.error
    exact = _extrapolated(right, right, STEPS, 1.0, 0.0)
    assert abs(exact.value - 1) <= exact.error < 1e-11
