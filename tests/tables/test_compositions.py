"""Every composition of two functions of the grammar: its average is right, or the reason why it has none is true."""

from itertools import product

import mpmath as mp
import pytest

import symres as sr
from tests.oracles.compositions import FUNCTIONS, Composition, judge

PAIRS = [Composition(outer, inner) for outer, inner in product(FUNCTIONS, FUNCTIONS)]
_REACH = 13  # standard deviations: beyond, the weight is below 1e-36
_DIGITS = 60  # 1 - erf(z) within that reach is above 1e-39


def by_quadrature(composition, breaks, k):
    """The average, and that of the absolute value."""
    with mp.workdps(_DIGITS):
        s = mp.sqrt(mp.mpf(k))
        places = sorted({*(mp.mpf(t) for t in (-_REACH, -6, -2, 0, 2, 6, _REACH)), *(b / s for b in breaks)})
        places = [p for p in places if abs(p) <= _REACH]
        values = [mp.quad(lambda t: g(composition(s * t)) * mp.npdf(t), places) for g in (lambda v: v, abs)]
    return values


@pytest.mark.sample(60)
@pytest.mark.parametrize("composition", PAIRS, ids=[pair.text for pair in PAIRS])
def test_the_average_is_right_or_the_reason_of_the_refusal_true(composition):
    try:
        phi = sr.activation(composition.text)
        average = sr.expect(phi).evalf(15, K="1/2")
    except sr.SymresError as refusal:
        with mp.workdps(_DIGITS):
            assert judge(composition, f"{refusal};"), str(refusal)
        return
    breaks = [mp.mpf(str(b.evalf(_DIGITS))) for b in phi.breakpoints]
    exact, size = by_quadrature(composition, breaks, "0.5")
    assert abs(average - exact) <= 1e-12 * size

