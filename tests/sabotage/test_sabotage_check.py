"""Test the tests: wrong theories must be refuted, whatever the seed."""

from dataclasses import replace

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.check import CheckReport, Outcome, check
from symres.core.errors import CheckRefuted
from symres.core.symbols import gamma, z
from symres.layers.nodes import Dense
from symres.theory.observables.registry import observables
from tests.oracles.kernels import FORMULAS, FakeTheory, residual_theory

PHI = {name: Activation(name, formula) for name, formula in FORMULAS.items()}
CHANGES = {
    "1 % up": lambda v: v * mp.mpf("1.01"),
    "1 % down": lambda v: v * mp.mpf("0.99"),
    "sign": lambda v: -v,
    "factor 2": lambda v: 2 * v,
}


def theory(name, skip=True):
    return residual_theory(name, (gamma * z if skip else 0) + Dense(PHI[name](z)), skip)


def only(wrong, name):
    return FakeTheory(wrong.forward, {name: wrong.quantities[name]})


@pytest.mark.sample(4)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", [name for name, record in observables.items() if record.oracle is not None])
@pytest.mark.parametrize("phi", ["gelu", "erf"])
def test_quadrature_refutes_every_point(phi, name, change):
    wrong = only(theory(phi).spoilt(name, CHANGES[change]), name)
    report = check(wrong, "quadrature", points=3, seed=len(change))
    assert {v.outcome for v in report.verdicts} == {Outcome.REFUTED}
    assert len(report.verdicts) >= 2
    with pytest.raises(CheckRefuted, match=name):
        report.raise_if_refuted()


@pytest.mark.parametrize("name", ["kernel_map", "covariance_map", "chi_parallel", "chi_perp"])
def test_quadrature_refutes_one_part_in_a_million(name):
    wrong = only(theory("relu").spoilt(name, lambda v: v * (1 + mp.mpf(10) ** -6)), name)
    assert {v.outcome for v in check(wrong, "quadrature", points=3).verdicts} == {Outcome.REFUTED}


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("factor", ["1.05", "0.95"])
def test_simulation_refutes_a_kernel_map_that_is_five_percent_wrong(factor, skip, seed):
    wrong = theory("gelu", skip).spoilt("kernel_map", lambda v: v * mp.mpf(factor))
    wrong = FakeTheory(wrong.forward, {n: wrong.quantities[n] for n in ("kernel_map", "covariance_map")})
    rows = check(wrong, "simulation", seed=seed).verdicts
    refuted = [v for v in rows if v.outcome is Outcome.REFUTED]
    assert {(v.quantity, "3 layers" in v.point) for v in refuted} >= {("kernel_map", False), ("kernel_map", True)}
    assert abs(refuted[0].z) > 15


@pytest.mark.parametrize("name", ["covariance_map", "chi_parallel", "chi_perp"])
def test_simulation_refutes_five_percent_elsewhere(name):
    wrong = theory("relu").spoilt(name, lambda v: v * mp.mpf("1.05"))
    needed = {name, "kernel_map"} if name == "covariance_map" else {name}  # to iterate one map takes the other
    kept = {key: quantity for key, quantity in wrong.quantities.items() if key in needed}
    rows = check(FakeTheory(wrong.forward, kept), "simulation").verdicts
    assert {v.outcome for v in rows if v.quantity == name} == {Outcome.REFUTED}
    assert {v.outcome for v in rows if v.quantity != name} <= {Outcome.PASSED}


def test_a_wrong_declaration_is_noticed():
    # right formulas for another layer: ReLU instead of leaky ReLU, one draw instead of two
    leaky = Activation("leaky", sp.Max(z, 0) - sp.Max(-z, 0) / 100)
    claims = theory("relu").quantities
    assert check(FakeTheory(gamma * z + Dense(leaky(z)), claims), "quadrature", points=1).outcome is Outcome.REFUTED
    draw = Dense(PHI["relu"](z))
    for forward, outcome in (
        (draw, Outcome.PASSED),
        ((draw + Dense(PHI["relu"](z))) / 2, Outcome.REFUTED),
        ((draw + draw) / 2, Outcome.PASSED),
    ):
        wrong = FakeTheory(forward, {"kernel_map": theory("relu", skip=False).quantities["kernel_map"]})
        assert check(wrong, points=1).outcome is outcome


REAL = {
    "mlp tanh": lambda: sr.mlp("tanh"),
    "mlp gelu": lambda: sr.mlp("gelu"),
    "residual gelu": lambda: sr.residual("gelu"),
    "nested": lambda: sr.Layer(gamma * z + Dense(sr.activation("tanh")(Dense(sr.activation("erf")(z))))),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("name", REAL)
def test_simulation_refutes_derived_maps_that_are_five_percent_wrong(name, seed):
    """At these seeds a wrong claim after one layer is no covariance: its other rows must be judged all the same."""
    right = sr.derive(REAL[name]())
    maps = {quantity.name: quantity for quantity in (right.kernel_map, right.covariance_map)}
    assert outcomes(right, maps, seed) == {"kernel_map": Outcome.PASSED, "covariance_map": Outcome.PASSED}
    for wrong in maps:
        spoilt = replace(maps[wrong], body=maps[wrong].body * sp.Rational(95, 100))
        assert outcomes(right, maps | {wrong: spoilt}, seed)[wrong] is Outcome.REFUTED


def outcomes(theory, maps, seed):
    """Of the rows after one layer."""
    rows = check(FakeTheory(theory.layer.forward, maps), "simulation", seed=seed).verdicts
    return {row.quantity: row.outcome for row in rows if "layers" not in row.point}


def test_a_claim_that_is_no_covariance_is_refuted_as_such():
    right = sr.derive(sr.mlp("tanh"))
    kernel = replace(right.kernel_map, body=right.kernel_map.body * sp.Rational(1, 2))
    report = check(FakeTheory(right.layer.forward, {"kernel_map": kernel, "covariance_map": right.covariance_map}))
    rows = [row for row in report.verdicts if row.oracle == "simulation"]
    assert {row.outcome for row in rows} == {Outcome.REFUTED}
    told = [row for row in rows if "no covariance" in row.reason]
    assert {row.quantity for row in told} == {"covariance_map"}
    with pytest.raises(CheckRefuted, match=r"C\*\*2 > K1\*K2"):
        CheckReport(tuple(told)).raise_if_refuted()
