"""Where a check compares: points from a seed, of all magnitudes, and special ones."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from symres.check import Outcome, check
from tests.oracles.kernels import FakeTheory, theory


@pytest.mark.exhaustive
def test_points_depend_on_the_seed_only():
    first, again, other = (
        [(v.point, v.value) for v in check(theory("erf"), "quadrature", seed=s, points=2).verdicts] for s in (0, 0, 1)
    )
    assert first == again
    assert not {p for p, _ in first} & {p for p, _ in other}


def test_given_parameters_are_used_exactly():
    report = check(theory("erf"), "quadrature", points=1, parameters={"gamma": "1/3", "C_W": 2})
    assert all("gamma = 1/3" in v.point and "C_W = 2" in v.point for v in report.verdicts)
    assert report.outcome is Outcome.PASSED


@pytest.mark.exhaustive
def test_a_full_check_has_special_points():
    rows = check(theory("erf"), "quadrature", seed=2).verdicts
    pairs = [
        [float(part.split("=")[1]) for part in row.point.split(",")[:3]]
        for row in rows
        if row.quantity == "covariance_map"
    ]
    correlations = [C / math.sqrt(K1 * K2) for K1, K2, C in pairs[4:]]
    np.testing.assert_allclose(correlations, [-0.99, 0, 1 - 1e-6, 1], atol=1e-8)
    assert pairs[-1][0] == pairs[-1][1] == pairs[-1][2]
    for name in ("kernel_map", "chi_parallel", "chi_perp", "h"):
        kernels = [float(row.point.split(",")[0].split("=")[1]) for row in rows if row.quantity == name]
        assert len(kernels) == 6 and 1e-6 <= kernels[4] <= 1e-3 and 1e2 <= kernels[5] <= 1e3
    assert {row.outcome for row in rows} == {Outcome.PASSED}
    assert sum(row.quantity == "covariance_map" for row in check(theory("erf"), "quadrature", points=1).verdicts) == 1


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("condition", "special"),
    [
        (lambda K1, K2, C: C == 0, "C = 0"),
        (lambda K1, K2, C: K1 == K2 == C, "one input"),
        (lambda K1, K2, C: C < -0.98 * mp.sqrt(K1 * K2), "C = -"),
        (lambda K1, K2, C: 1 - 1e-5 < C / mp.sqrt(K1 * K2) < 1, "C = "),
    ],
)
def test_a_claim_that_is_wrong_only_at_a_special_point_is_refuted(condition, special):
    right = theory("erf")
    claim = right.quantities["covariance_map"]

    def wrong(**values):
        value = claim.function(**values)
        return value * mp.mpf("1.001") if condition(values["K1"], values["K2"], values["C"]) else value

    only = FakeTheory(right.forward, {"covariance_map": replace(claim, function=wrong)})
    refuted = [row for row in check(only, "quadrature").verdicts if row.outcome is Outcome.REFUTED]
    assert len(refuted) == 1 and special in refuted[0].point + refuted[0].reason


@pytest.mark.parametrize("end", [lambda K: K < 1e-3, lambda K: K > 1e2])
def test_a_claim_that_is_wrong_only_far_out_is_refuted(end):
    right = theory("erf")
    claim = right.quantities["kernel_map"]

    def wrong(K, **values):
        return claim.function(K=K, **values) * (mp.mpf("1.001") if end(K) else 1)

    only = FakeTheory(right.forward, {"kernel_map": replace(claim, function=wrong)})
    assert check(only, "quadrature").outcome is Outcome.REFUTED
