"""Where the correlation length is compared: at fixed points that attract, along the flow of the kernel."""

import pytest
import sympy as sp

import symres as sr
from symres.check import Budget, Outcome, check
from symres.check.rows.claims import contraction, fixed_point
from symres.core.symbols import C_W, C_b, K
from tests.oracles.kernels import Claim, FakeTheory

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
