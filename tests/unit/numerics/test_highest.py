"""Zeros, and the highest maximum of functions where it is known, and of random ones against a scan by values alone."""

import math

import numpy as np
import pytest
from scipy import optimize

from symres.core.errors import NoClosedForm
from symres.numerics.brent import brent
from symres.numerics.highest import _highest_maximum, _instead_of_maximum, _surveyed

START = np.geomspace(1e-3, 30, 24).tolist()


def rows_of(logarithm, step=1e-6):
    """Rows of a function of log(place), with slopes by differences."""

    def row(place):
        u = np.log(place)
        return place, float(logarithm(u)), float((logarithm(u + step) - logarithm(u - step)) / (2 * step))

    return lambda places: [row(place) for place in places]


def found(rows_at, start=START, **directions):
    rows, rough = _surveyed(rows_at, start, **directions)
    top = _highest_maximum(rows_at, rows, brent)
    return top, _instead_of_maximum(rows, rough, top, "x", "without it")


def humps(*parts, floor=-40.0):
    """log(sum of height*exp(-((u - centre)/width)^2))."""
    return lambda u: np.logaddexp.reduce([floor, *(np.log(h) - ((u - c) / w) ** 2 for c, h, w in parts)])


def exact(slope, height):
    return lambda places: [(x, height(x), slope(x)) for x in places]


@pytest.mark.parametrize("place", [1e-9, 0.5, 3e5, 1e140])
def test_one_maximum_anywhere(place):
    """Of x exp(-x/a) at a: the logarithmic slope is 1 - x/a."""
    top, instead = found(exact(lambda x: 1 - x / place, lambda x: np.log(x) - x / place))
    assert top[0] == pytest.approx(place, rel=1e-11)
    assert not instead


def test_ends_that_are_higher():
    low = found(rows_of(lambda u: np.logaddexp(humps((1, 0.1, 1))(u), np.log(0.6) - np.logaddexp(0, 2 * u + 4))))
    assert np.log(low[0][0]) == pytest.approx(1, abs=0.1)
    assert "without it it is 0.6" in low[1]
    high = found(rows_of(lambda u: np.logaddexp(humps((1, 0.1, 1))(u), np.log(0.6) - np.logaddexp(0, 6 - 2 * u))))
    assert "it is 0.6" in high[1] and "without" not in high[1]


@pytest.mark.parametrize(
    ("slope", "height", "said"),
    [
        (lambda x: -x, lambda x: -x, "it falls, and without it it is largest"),
        (lambda x: 0.0, lambda x: 0.0, "it is constant"),
        (lambda x: 1.0, np.log, "it rises throughout"),
        (lambda x: 1 / (1 + x), lambda x: -np.log1p(1 / x), "it rises throughout"),
        (lambda x: (x - 1) / (x + 1), lambda x: 2 * np.log1p(x) - np.log(x), "it never turns"),
    ],
)
def test_functions_without_a_maximum(slope, height, said):
    top, instead = found(exact(slope, height))
    assert top is None
    assert said in instead


def test_places_that_are_left_alone():
    assert "it falls" in found(exact(lambda x: 1e-3 - 1000 * x, lambda x: 1e-3 * np.log(x) - 1000 * x), below=False)[1]
    assert "rises" in found(exact(lambda x: 1 - x / 1e3, lambda x: np.log(x) - x / 1e3), above=False)[1]


def test_a_plain_whose_slopes_are_rounding_errors():
    """The function hardly rises for many decades; signs of rounding errors are no maxima."""
    top, instead = found(exact(lambda x: 1 / x if x < 1e12 else 1e-16 * np.cos(x), lambda x: -1 / x))
    assert top is None
    assert "it rises throughout" in instead


def test_values_that_have_lost_their_digits_are_not_compared():
    """Beyond 1e6 nothing is left but noise, which is much higher than the maximum at 1."""
    noise = np.random.default_rng(1)

    def row(x):
        return (x, np.log(x) - x, 1 - x) if x < 100 else (x, 5 * noise.standard_normal(), noise.standard_normal())

    top, instead = found(lambda places: [row(x) for x in places])
    assert top[0] == pytest.approx(1, rel=1e-9)
    assert not instead


@pytest.mark.exhaustive
def test_waves_that_cannot_be_followed_are_refused():
    _, instead = found(exact(lambda x: 1e7 * np.cos(1e7 * np.log(x)), lambda x: np.sin(1e7 * np.log(x))))
    assert "changes too fast" in instead or "not a finite number" in instead


@pytest.mark.parametrize("seed", range(12))
def test_random_functions_against_a_scan(seed):
    """Sums of humps and powers: the highest maximum, or the end that is higher, as a scan of values sees it."""
    draw = np.random.default_rng(seed)
    parts = [(draw.uniform(-12, 8), draw.uniform(0.1, 1), draw.uniform(0.4, 2)) for _ in range(draw.integers(1, 6))]
    left, right = draw.uniform(0.05, 1, 2)
    ends = draw.integers(0, 2, 2)

    def logarithm(u):
        terms = [humps(*parts)(u)]
        terms += [np.log(left) - np.logaddexp(0, 2 * (u + 10))] if ends[0] else []
        terms += [np.log(right) - np.logaddexp(0, 2 * (6 - u))] if ends[1] else []
        return np.logaddexp.reduce(terms)

    u = np.linspace(-30, 25, 55001)
    values = np.array([logarithm(x) for x in u])
    k = int(np.argmax(values))
    top, instead = found(rows_of(logarithm))
    inside = values[k] > max(values[0], values[-1]) + 1e-6
    assert bool(instead) != inside
    if inside:
        assert top[1] == pytest.approx(values[k], abs=1e-5)
        assert np.log(top[0]) == pytest.approx(u[k], abs=0.01)


# ---- zeros --------------------------------------------------------------------------------------------------------
def test_equal_signs_what_is_no_number_and_too_many_steps_are_refused():
    with pytest.raises(NoClosedForm, match="a zero between -1 and 1"):
        brent(lambda x: x * x + 1, -1.0, 1.0)
    with pytest.raises(NoClosedForm, match="a zero between 0 and 1"):
        brent(lambda x: math.nan if 0 < x < 1 else x - 0.5, 0.0, 1.0)
    with pytest.raises(NoClosedForm, match="a zero between -1 and 2"):
        brent(lambda x: x**9, -1.0, 2.0, xtol=1e-300, rtol=1e-15)


@pytest.mark.parametrize("steepness", [0.1, 1.0, 40.0, -3.0])
@pytest.mark.parametrize("place", [1e-3, 0.3, 2.7, 50.0])
def test_steps_are_those_of_scipy(steepness, place):
    def function(x):
        return math.tanh(steepness * (x - place)) + 0.1 * steepness * (x - place) ** 3

    for high in (60.0, 123.4, 1e3):
        expected = optimize.brentq(function, 1e-6, high, xtol=1e-300, rtol=1e-15)
        assert brent(function, 1e-6, high, xtol=1e-300, rtol=1e-15) == expected
