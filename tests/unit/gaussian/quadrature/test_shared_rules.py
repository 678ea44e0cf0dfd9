"""One rule for many variances: right at each of them, planned once, and left where one Gaussian needs its own."""

import math
import random

import mpmath as mp
import pytest
import sympy as sp
from flint import arb

from symres.activations.piecewise import split
from symres.core.errors import DeclarationError
from symres.core.symbols import z
from symres.functions.balls import to_ball
from symres.gaussian.quadrature import univariate
from symres.gaussian.quadrature.panels import LOG2_E, Weight

BUMP = sp.exp(-((z - 40) ** 2))
SHARING = {  # formula, its average in closed form
    "sin squared": (sp.sin(z) ** 2, lambda K: -mp.expm1(-2 * K) / 2),
    "fourth power": (z**4, lambda K: 3 * K**2),
    "Gaussian": (z**2 * sp.exp(-(z**2)), lambda K: K / (1 + 2 * K) ** mp.mpf("1.5")),
    "far bump": (BUMP, lambda K: mp.exp(-1600 / (1 + 2 * K)) / mp.sqrt(1 + 2 * K)),
    "steep": (sp.exp(z**2 / 10), lambda K: 1 / mp.sqrt(1 - K / 5)),
}


@pytest.fixture
def planned(monkeypatch):
    """The variances, or balls of them, that rules were planned for."""
    univariate._shared_rule.cache_clear()
    found, plan = [], univariate._rule

    def counted(factor, weight, bits, variances):
        rule = plan(factor, weight, bits, variances)
        found.append(weight.variance)
        return rule

    monkeypatch.setattr(univariate, "_rule", counted)
    yield found
    univariate._shared_rule.cache_clear()


def deviation(name, variance, bits):
    """Relative error of an average and its own bound of that."""
    formula, closed = SHARING[name]
    ball = univariate.univariate_average(split(formula), to_ball(variance, bits + 20), bits)
    with mp.workdps(bits):
        exact = closed(mp.mpf(sp.Rational(variance).p) / sp.Rational(variance).q)
        assert ball.contains(to_ball(exact, 3 * bits))
        return abs(mp.mpf(str(ball.mid().str(60, radius=False))) / exact - 1)


@pytest.mark.parametrize("bits", [24, 60])
@pytest.mark.parametrize("name", ["sin squared", "fourth power", "Gaussian"])
def test_a_rule_is_right_from_end_to_end_of_its_reach(planned, name, bits):
    variances = ["1/16", "1/10", "1/3", "1", "7/2", "12", "159/10"]
    assert all(deviation(name, K, bits) < 2.0 ** (1 - bits) for K in variances)
    assert len(planned) == 1


def test_the_next_variances_have_a_rule_of_their_own(planned):
    for K in ("1/100", "1/20", "1", "20", "200"):
        deviation("Gaussian", K, 24)
    assert len(planned) == 3


def test_more_bits_have_a_rule_of_their_own(planned):
    for bits in (24, 60, 64, 65, 128):
        deviation("Gaussian", "1", bits)
    assert len(planned) == 2


def test_sizes_that_differ_too_much_are_not_shared(planned):
    for K in ("1/8", "2", "10"):
        deviation("far bump", K, 40)
    assert len(planned) == 3
    assert all(ball.rad() < 1e-9 for ball in planned)


def test_an_average_that_not_all_variances_have(planned):
    for K in ("1/10", "1", "3"):
        deviation("steep", K, 40)
    assert len(planned) == 3
    with pytest.raises(DeclarationError, match="outgrows"):
        univariate.univariate_average(split(SHARING["steep"][0]), arb(6), 40)


def test_a_bound_of_many_weights_is_the_largest_and_hardly_more():
    draw = random.Random(3)
    for _ in range(300):
        low, high = sorted(2 ** draw.uniform(-4, 4) for _ in range(2))
        left, right = sorted(draw.uniform(-6, 6) for _ in range(2))
        height = draw.choice([0.0, draw.uniform(0, 4)])
        bound = Weight(arb(low).union(arb(high)), arb(1)).log2_sup(left, right, height)
        nearest = 0.0 if left <= 0 <= right else min(abs(left), abs(right))
        worst = max((height**2 - nearest**2) / (2 * v) * LOG2_E for v in (low, math.sqrt(low * high), high))
        assert worst <= bound <= worst + 1e-6 * (1 + abs(worst))
