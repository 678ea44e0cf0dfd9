"""Where maxima and zeros are looked for, of functions whose maxima are known."""

import numpy as np
import pytest

import symres as sr
from symres.theory.response.scan import REACH, maxima, number_or_end, root, zeros

START = [0.1, 1.0, 10.0]


@pytest.mark.parametrize("place", [1e-9, 0.5, 3e5, 1e140])
def test_one_maximum_anywhere(place):
    """Of x exp(-x/a) at a: the logarithmic slope is 1 - x/a."""
    (ends,) = maxima(lambda x: 1 - x / place, START).tops
    assert root(lambda x: 1 - x / place, *ends) == pytest.approx(place, rel=1e-13)
    (ends,) = zeros(lambda x: np.log(x / place), START).crossings
    assert root(lambda x: np.log(x / place), *ends) == pytest.approx(place, rel=1e-13)


def test_maxima_behind_a_plain():
    """The function hardly rises for many decades, and falls behind them; signs of rounding errors are none of it."""

    def slope(x):
        return 1e-12 * np.cos(1e3 * x) if 1e3 < x < 1e9 else 1 / x - (x > 1e9)

    (ends,) = maxima(slope, START).tops
    assert ends[0] < 1e3 and 1e9 < ends[1] < 1e10
    saturating = maxima(lambda x: 1 / x if x < 1e12 else 1e-16 * np.cos(x), START)
    assert not saturating.tops
    assert saturating.instead("x", "without it").endswith("it rises throughout")


def test_places_below_are_left_alone():
    assert not maxima(lambda x: 1e-3 - x, START, down=False).tops
    found = maxima(lambda x: -x, START)
    assert found.rows[0][0] == pytest.approx(REACH * START[0], rel=3.1)
    assert "it falls, and without it it is largest" in found.instead("x", "without it")
    assert "it is constant" in maxima(lambda x: 0.0, START).instead("x", "without it")
    assert "it never turns" in maxima(lambda x: x - 1.5, START).instead("x", "without it")


def test_the_highest_numbers_end_the_search():
    def slope(x):
        if x > 1e4:
            raise sr.NoClosedForm("a value", "it overflows", "stop")
        return 1.0

    found = maxima(number_or_end(slope), START)
    assert 1e3 < found.rows[-1][0] <= 1e4
    with pytest.raises(sr.NoClosedForm, match=r"no finite numbers between 0\.1 and 10"):
        maxima(lambda x: float("nan"), START)
