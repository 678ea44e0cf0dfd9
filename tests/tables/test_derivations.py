"""The literature: every claim of every document is judged; what is confirmed stays confirmed."""

import dataclasses

import mpmath as mp
import pytest

from derivations import pdlt_appendix_b

CLAIMS = {claim.equation: claim for claim in pdlt_appendix_b.claims()}


@pytest.mark.parametrize("equation", CLAIMS)
def test_section_b2_is_confirmed(equation):
    judgement = CLAIMS[equation].judge()
    assert judgement.confirmed, str(judgement)


@pytest.mark.parametrize("equation", CLAIMS)
def test_a_misprint_would_be_seen(equation):
    """Sabotage: the printed side off by one part in a million, where the comparison allows no more than that."""
    claim = CLAIMS[equation]
    wrong = dataclasses.replace(claim, printed=lambda *point: claim.printed(*point) * (1 + mp.mpf("1e-6")))
    assert not wrong.judge().confirmed
