"""Rows about deep networks of finite width: what networks show, and what wrong claims they refute."""

import pytest
import sympy as sp

import symres as sr
from symres.check import Budget, Outcome, check
from symres.check.rows.claims import contraction, fixed_point
from symres.check.rows.depth_rows import depth_rows, growth_rows
from symres.check.rows.simulation_case import Task
from symres.check.sampling.random_points import ORDINARY
from symres.core.symbols import C_W, C_b, K
from symres.theory.observables.deep_networks import KERNEL_FLUCTUATION, NU, RESPONSE
from tests.oracles.kernels import Claim, FakeTheory
from tests.shared import derived


def task(layer, **setting):
    theory = derived(layer)
    numbers = {s: sp.Rational(setting[s.name]) for s in layer.parameters}
    return Task(theory, {"nu": theory.nu}, numbers, 0, Budget(), ORDINARY, False, {})


def wrong(values, factor):
    return [factor * value for value in values]


@pytest.mark.exhaustive
@pytest.mark.parametrize("observable, factor", [(KERNEL_FLUCTUATION, 1.2), (RESPONSE, 0.9)])
def test_networks_know_what_is_claimed(observable, factor):
    layer, setting = sr.residual("erf"), {"C_W": "3/2", "C_b": "1/10", "gamma": "4/5"}
    K, case = sp.Integer(1), task(layer, **setting)

    def claims(place):
        return observable.claims(derived(layer), 3, K, {s.name: value for s, value in place.items()})

    assert {row.outcome for row in depth_rows(case, observable, claims, K)} == {Outcome.PASSED}
    rows = depth_rows(case, observable, lambda place: wrong(claims(place), factor), K)
    assert {row.outcome for row in rows} == {Outcome.REFUTED}


def test_the_conditional_kernel_of_a_normalised_stream():
    """After LayerNorm of the stream n Var of the conditional kernel is 2, as its empirical kernel is 1."""
    layer = sr.Layer(sr.LayerNorm(sr.z + sr.Dense(sr.activation("relu")(sr.z))))
    case = task(layer, C_W="13/10", C_b="1/10")
    rows = depth_rows(case, KERNEL_FLUCTUATION, lambda place: [0.0, 2.0, 2.0], sp.Integer(1))
    assert {row.outcome for row in rows} == {Outcome.PASSED}


@pytest.mark.exhaustive
def test_growth_at_the_critical_point():
    layer = sr.residual("relu")
    case = task(layer, C_W="1", C_b="1/5", gamma="3/4")
    (row,) = growth_rows(case, NU, derived(layer))
    assert row.outcome is Outcome.PASSED
    assert "gamma = 0.4" in row.point and "C_b = 0" in row.point


def test_growth_that_comes_late_is_not_claimed_to_be_seen():
    layer = sr.mlp("tanh")
    (row,) = growth_rows(task(layer, C_W="1", C_b="0"), NU, derived(layer))
    assert row.outcome is Outcome.INCONCLUSIVE


@pytest.mark.exhaustive
def test_what_cannot_be_seen_is_told_to_those_who_ask():
    theory = derived(sr.pre_ln("erf"))
    asked = check(theory, "simulation", quantities=["vertex"])
    assert {row.outcome for row in asked.verdicts} == {Outcome.INCONCLUSIVE}
    everything = check(theory, "simulation", quantities=["vertex", "nu"])
    assert {row.quantity for row in everything.verdicts} == {"vertex", "nu"}


@pytest.mark.exhaustive
def test_growth_of_long_memories_is_not_refuted():
    """At gamma = 0.9 neurons remember more layers than are simulated."""
    theory = sr.derive(sr.residual("relu")).subs(gamma="0.9")
    rows = check(theory, quantities=["nu"]).verdicts
    assert [(row.oracle, row.outcome) for row in rows] == [("simulation", Outcome.INCONCLUSIVE)]
    fixed = check(derived(sr.residual("relu")), quantities=["nu"], parameters={"gamma": "0.9"}).verdicts
    assert [row.outcome for row in fixed] == [Outcome.INCONCLUSIVE]
    assert "gamma = 0.9" in fixed[0].point


ROUGH = Budget(precision=0.008)


def at(kernel):
    return {K: sp.Rational(str(kernel))}


def test_the_contraction_of_a_batch_is_the_larger_one():
    right = sr.derive(sr.batch_norm("relu", sr.gamma))
    numbers = {C_W: sp.Rational(13, 10), C_b: sp.Rational(1, 5), sr.gamma: sp.Rational(3, 5)}
    place = fixed_point(right.quantities, {K: sp.Integer(2), sr.C: sp.Integer(1)}, numbers)
    assert contraction(right.quantities, place, numbers) == pytest.approx(0.36, rel=1e-6)


def length_row(theory, seed):
    rows = check(theory, "simulation", seed=seed, depth=1, budget=ROUGH, quantities=["kernel_map", "chi_perp"]).verdicts
    (row,) = (row for row in rows if row.quantity == "correlation_length")
    return row


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("formula", ["max(z,0)^2", "0.8944*max(z,0)^2-0.4472"])
def test_a_right_length_is_not_refuted_where_another_fixed_point_repels(formula, seed):
    row = length_row(sr.derive(formula), seed)
    assert row.outcome is not Outcome.REFUTED
    assert abs(row.z) < 4 and row.claimed > 0


def test_where_every_kernel_is_kept_nothing_decides_and_the_row_says_so():
    kept = {"kernel_map": Claim("kernel_map", (K,), lambda K: K), "chi_perp": Claim("chi_perp", (K,), lambda K: 0.5)}
    row = length_row(FakeTheory(sr.mlp("relu").forward, kept), 0)
    assert row.outcome is Outcome.INCONCLUSIVE
    assert "no clearly attracting fixed point" in row.reason
