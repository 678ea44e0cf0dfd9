"""Where a formula jumps or rises like a root, by how little so ever: chi_perp is infinite there, and nowhere else."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.check import Outcome, check
from symres.check.formulas.steepness import infinitely_steep
from symres.check.oracles.layer_oracle import QuadratureOracle
from symres.core import symbols
from symres.core.symbols import C_W, C_b, z
from tests.oracles.kernels import Claim, FakeTheory

SYMBOLS = (symbols.K, C_W, C_b)
NUMBERS = {C_W: sp.Rational(13, 10), C_b: sp.Rational(1, 5)}
SMALL_JUMP = "where(abs(z)<1/1000, 1-z^2/6, sin(z)/z)"  # 8e-15
TINY_JUMP = "where(abs(z)<1, exp(-1/max(1-z^2,1e-9)), 0)"  # exp(-1e9)

STEEP = [
    "sign",
    SMALL_JUMP,
    TINY_JUMP,
    "z + 1e-300*step(z)",
    "1e-200*step(z - 1)*exp(z)",
    "sign((z-1)^2*(z+2))",
    "where(tanh(z/1000) > 0.99, 1, 0)",
    "where(exp(z) > 3, exp(z) - 3, 1e-250)",
    "step(z - 1e-5)*sin(z)",
    "sqrt(abs(z))",
    "abs(z)^(2/5)",
    "max(z, 0)^(1/100)",
    "asin(max(min(z, 1), -1))",
]
FINITE = [
    "relu",
    "erf(z)",
    "tanh(1000*z)",
    "relu6",
    "cos(abs(z))",
    "abs(z)^(51/100)",
    "max(z, 0)^(3/2)",
    "1e150*max(z, 0)",
    "1e-200*abs(z)",
    "where(exp(z) > 3, exp(z) - 3, 0)",
    "where(z > 0, z, exp(z) - 1)",
    "where(abs(z) < 1, (1 - z^2)^2, 0)",
    "exp(-1/max(1 - z^2, 1e-9))",
]


@pytest.mark.sample(5)
@pytest.mark.parametrize("formula", STEEP)
def test_jumps_and_roots_are_seen_at_every_size(formula):
    assert infinitely_steep(sr.mlp(formula).forward, NUMBERS) is True
    assert infinitely_steep(sr.residual("relu").forward + sr.Dense(sr.activation(formula)(z)), NUMBERS) is True


@pytest.mark.parametrize("formula", FINITE)
def test_kinks_and_slopes_are_neither(formula):
    assert infinitely_steep(sr.mlp(formula).forward, NUMBERS) is False


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("against", ["quadrature", "simulation"])
@pytest.mark.parametrize("formula", [SMALL_JUMP, TINY_JUMP, "asin(max(min(z, 1), -1))"])
def test_a_finite_number_does_not_refute_what_is_infinite(formula, against):
    theory = sr.derive(formula)
    assert theory.chi_perp.evalf(K=1, C_W=1) == mp.inf
    only = FakeTheory(theory.layer.forward, {"chi_perp": theory.chi_perp})
    rows = check(only, against, points=2).verdicts
    assert Outcome.REFUTED not in {row.outcome for row in rows}
    assert any("jumps or rises like a root" in row.reason for row in rows)


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", [SMALL_JUMP, TINY_JUMP])
def test_a_finite_number_does_not_confirm_what_may_be_infinite(formula):
    forward = sr.mlp(formula).forward

    def found(K, C_W, C_b):
        numbers = {symbols.C_W: sp.Rational(mp.nstr(C_W, 17)), symbols.C_b: sp.Rational(mp.nstr(C_b, 17))}
        return QuadratureOracle(forward, numbers).chi_perp(float(K)).value

    rows = check(FakeTheory(forward, {"chi_perp": Claim("chi_perp", SYMBOLS, found)}), "quadrature", points=2).verdicts
    assert {row.outcome for row in rows} == {Outcome.INCONCLUSIVE}
    assert all(abs(row.z) < 1 for row in rows)


def claims(formula, name, value):
    arguments = (symbols.K1, symbols.K2, symbols.C) if name == "covariance_map" else (symbols.K,)
    claim = Claim(name, (*arguments, C_W, C_b), lambda **_: mp.mpf(value))
    return FakeTheory(sr.mlp(formula).forward, {name: claim})


@pytest.mark.sample(2)
@pytest.mark.parametrize("against", ["quadrature", "simulation"])
@pytest.mark.parametrize("formula", ["erf(z)", "relu", "where(z > 0, z, exp(z) - 1)", "abs(z)^(4/5)"])
def test_an_infinite_claim_about_a_continuous_activation_is_refuted(formula, against):
    rows = check(claims(formula, "chi_perp", "inf"), against, points=2).verdicts
    assert {row.outcome for row in rows} == {Outcome.REFUTED}


def test_a_jump_excuses_nothing_but_chi_perp():
    for name in ("kernel_map", "covariance_map", "chi_parallel"):
        rows = check(claims("sign", name, "inf"), "quadrature", points=2).verdicts
        assert {row.outcome for row in rows} == {Outcome.REFUTED}, name


@pytest.mark.parametrize("against", ["quadrature", "simulation"])
def test_a_finite_claim_about_a_jump_is_refuted(against):
    rows = check(claims("sign", "chi_perp", 3), against, points=2).verdicts
    assert {row.outcome for row in rows} == {Outcome.REFUTED}
