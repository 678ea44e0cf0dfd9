"""When a comparison of claim and oracle counts."""

import mpmath as mp

from symres.check import Outcome
from symres.check.oracles.comparison import require_sensitivity
from symres.results.verdict import SIMULATION, judge

PASSED, REFUTED, INCONCLUSIVE = Outcome.PASSED, Outcome.REFUTED, Outcome.INCONCLUSIVE


def row(claimed, value, error, thresholds=SIMULATION, **more):
    return judge("kernel_map", "simulation", "K = 1", claimed, value, error, thresholds, **more)


def test_a_comparison_that_hardly_sees_the_branch_does_not_count():
    seen = row(1.0, 1.0, 1e-3)  # sees 0.7 %
    for bare, outcome in ((None, PASSED), (0.97, PASSED), (0.99, INCONCLUSIVE), (mp.inf, PASSED), (1.0, PASSED)):
        assert require_sensitivity(seen, bare and mp.mpf(bare)).outcome is outcome, bare
    assert "the branch is only 0.01 of the claim" in require_sensitivity(seen, mp.mpf("0.99")).reason
    assert require_sensitivity(row(2.0, 1.0, 1e-3), mp.mpf("1.999")).outcome is REFUTED
