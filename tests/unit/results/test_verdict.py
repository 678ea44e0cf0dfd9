"""Verdicts: thresholds, what counts, how it prints."""

import math

import mpmath as mp
import pytest

from symres.check.oracles.comparison import require_sensitivity
from symres.core.errors import CheckRefuted
from symres.results.verdict import QUADRATURE, SIMULATION, CheckReport, Outcome, inconclusive, judge

PASSED, REFUTED, INCONCLUSIVE = Outcome.PASSED, Outcome.REFUTED, Outcome.INCONCLUSIVE


def row(claimed, value, error, thresholds=SIMULATION, **more):
    return judge("kernel_map", "simulation", "K = 1", claimed, value, error, thresholds, **more)


@pytest.mark.parametrize(
    ("distance", "outcome"),
    [(0, PASSED), (3.9, PASSED), (-3.9, PASSED), (4.5, INCONCLUSIVE), (5.1, REFUTED), (-6, REFUTED)],
)
def test_standard_errors_decide(distance, outcome):
    verdict = row(1 + 0.002 * distance, 1.0, 0.002)
    assert verdict.outcome is outcome
    assert verdict.z == pytest.approx(distance)


def test_agreement_of_a_blunt_oracle_does_not_count():
    assert row(1.0, 1.0, 0.007).outcome is PASSED
    blunt = row(1.0, 1.0, 0.008)
    assert blunt.outcome is INCONCLUSIVE and "5%" in blunt.reason
    assert blunt.detectable == pytest.approx(0.056)
    assert row(1.5, 1.0, 0.008).outcome is REFUTED  # but it sees what is far away


def test_an_error_of_the_detectable_size_is_refuted():
    for thresholds in (SIMULATION, QUADRATURE):
        size = row(2.0, 2.0, 1e-4, thresholds).detectable
        assert row(2.0 * (1 + size), 2.0, 1e-4, thresholds).outcome is REFUTED
        assert row(2.0 * (1 - size), 2.0, 1e-4, thresholds).outcome is REFUTED


def test_a_claim_of_zero_is_judged_on_its_scale():
    assert row(0.0, 1e-9, 1e-8).outcome is INCONCLUSIVE
    zero = row(0.0, 1e-9, 1e-8, scale=1.0)
    assert zero.outcome is PASSED and "scale 1" in zero.reason
    assert zero.detectable == pytest.approx(7e-8)
    assert row(0.0, 1e-6, 1e-8, scale=1.0).outcome is REFUTED


@pytest.mark.parametrize("claim", [1e-9, 1e-300, mp.mpf(10) ** -900, -1e-12])
def test_a_small_claim_stands_by_itself(claim):
    """On any other scale than its own every small formula would pass."""
    small = row(claim, 1e-9, 1e-8, scale=1.0)
    assert small.outcome is INCONCLUSIVE
    seen = "would go unnoticed; the smallest noticeable error is" if abs(claim) > 1e-308 else "every error would go"
    assert seen in small.reason and "inf" not in small.reason
    assert small.detectable == pytest.approx(float(7e-8 / abs(claim)) if abs(claim) > 1e-308 else math.inf)
    assert row(0.1, 0.0, 1e-8, scale=1.0).outcome is REFUTED


@pytest.mark.parametrize("numbers", [(math.nan, 1, 1), (1, math.nan, 1), (1, 1, math.nan), (1, math.inf, 1), (1, 1, 0)])
def test_what_is_no_number_is_inconclusive(numbers):
    assert row(*numbers).outcome is INCONCLUSIVE


def test_an_oracle_without_an_error_says_why():
    """0 against 0 +- 0 is finite, and no agreement: what is averaged may be below the range of doubles."""
    silent = row(mp.mpf(10) ** -400, 0.0, 0.0)
    assert silent.outcome is INCONCLUSIVE
    assert "range of floating-point numbers" in silent.reason and "not finite" not in silent.reason
    assert "not finite: +inf against 1.0 +- 1.0e+00" in row(mp.inf, 1.0, 1.0).reason


@pytest.mark.parametrize("thresholds", [SIMULATION, QUADRATURE])
def test_numbers_smaller_than_any_float_are_compared(thresholds):
    small = mp.mpf(10) ** -400
    for factor, outcome in ((1, PASSED), (1.01, REFUTED), (-1, REFUTED)):
        found = row(small * factor, small, small / 10**5, thresholds)
        assert found.outcome is outcome
        assert found.detectable == pytest.approx(thresholds.margin * 1e-5, rel=0.02)
    blunt = row(small, 0.0, 1e-300)
    assert blunt.outcome is INCONCLUSIVE and "below the range of floating-point numbers" in blunt.reason
    with pytest.raises(CheckRefuted, match=r"1.01e-400, simulation finds 1.0e-400 \+- 1.0e-405"):
        CheckReport((row(small * mp.mpf("1.01"), small, small / 10**5),)).raise_if_refuted()
    zero = row(mp.mpf(0), small, small / 10**5, scale=small)
    assert zero.outcome is REFUTED and "scale 1.0e-400" in zero.reason


def test_thirty_digits_are_kept():
    with mp.workdps(35):
        exact = mp.mpf(1) / 3
        verdict = judge("expect", "quadrature", "", exact * (1 + mp.mpf(10) ** -25), exact, 1e-30, QUADRATURE)
    assert verdict.outcome is REFUTED


def test_the_worst_row_decides():
    good, bad, open_ = row(1, 1, 1e-3), row(2, 1, 1e-3), inconclusive("h", "quadrature", "", ("no digits",))
    assert CheckReport((good, good)).outcome is PASSED
    assert CheckReport((good, open_)).outcome is INCONCLUSIVE
    assert CheckReport((good, open_, bad)).outcome is REFUTED
    assert CheckReport(()).outcome is INCONCLUSIVE


def test_only_refuted_rows_raise():
    good, bad, open_ = row(1, 1, 1e-3), row(2, 1, 1e-3), inconclusive("h", "quadrature", "", ("no digits",))
    CheckReport((good, open_)).raise_if_refuted()
    with pytest.raises(CheckRefuted, match=r"kernel_map at K = 1: claimed 2.0, simulation finds 1.0 \+- 1.0e-03"):
        CheckReport((good, bad)).raise_if_refuted()


def test_the_oracles_number_ends_where_its_error_begins():
    found = {(0.5450000000003155, 1.3e-10): 0.545, (8.3e-12, 4.4e-10): 0.0, (-0.019795124, 9e-8): -0.01979512}
    for (value, error), shown in found.items():
        assert row(value, value, error).found == pytest.approx(shown, rel=1e-14)
    assert row(2, 1.25, 0).found == row(2, 1.25, math.inf).found == 1.25


def test_the_table_fits_eighty_columns():
    long = "K1 = 0.00123, K2 = 0.00456, C = 0.000789, C_W = 1.23, C_b = 0.456, gamma = 0.789, alpha = 1.11, beta = 1.2"
    rows = [
        judge("covariance_map", "quadrature", long, -1.23456789e-13, -1.2345e-13, 1e-25, QUADRATURE),
        judge("covariance_map", "simulation", long, -1.23456789e-13, 1e30, 1e-25, SIMULATION),
        inconclusive("covariance_map", "quadrature", long, ("it is " + "long " * 30,), claimed=-1e-13, value=1e-13),
        row(1, 1, 1e-3, widths=(64, 128, 256, 512), samples=123456, seed=1),
    ]
    rows.append(row(mp.mpf("-1.23456789e-400"), mp.mpf("-1.23456789e-1000"), mp.mpf("1e-1010")))
    text = CheckReport(tuple(rows)).table()
    assert " -1.2346e-400 -1.235e-1000 " in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text and "\t" not in text
    for number, verdict in enumerate(rows):
        assert str(verdict.outcome) in text, number
    for fact in ("-1.23457e-13", "1.0e+30", "123456 nets of width 64, 128, 256, 512", "REFUTED: 1 passed, 3 refuted"):
        assert fact in text
    assert text.splitlines()[-3:-1] == [
        "z: claimed minus found, in units of the oracle's error",
        "sees: the smallest relative error of the claim that would have been noticed",
    ]


def test_a_comparison_that_hardly_sees_the_branch_does_not_count():
    seen = row(1.0, 1.0, 1e-3)  # sees 0.7 %
    for bare, outcome in ((None, PASSED), (0.97, PASSED), (0.99, INCONCLUSIVE), (mp.inf, PASSED), (1.0, PASSED)):
        assert require_sensitivity(seen, bare and mp.mpf(bare)).outcome is outcome, bare
    assert "the branch is only 0.01 of the claim" in require_sensitivity(seen, mp.mpf("0.99")).reason
    assert require_sensitivity(row(2.0, 1.0, 1e-3), mp.mpf("1.999")).outcome is REFUTED
