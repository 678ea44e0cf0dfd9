"""Averages are computed once, and never given for another law, function, precision or budget.

One rule serves many variances: right at each of them, planned once, and left where one Gaussian needs its own.
"""

import math
import random

import mpmath as mp
import pytest
import sympy as sp
from flint import arb, ctx

from symres.activations.piecewise import PiecewiseFunction, split
from symres.core.disk_cache import DiskCache, caching
from symres.core.errors import DeclarationError, SymresError
from symres.core.symbols import z
from symres.core.work_budget import panel_budget
from symres.functions.balls import compile_ball, to_ball
from symres.gaussian.quadrature import average_ball as module
from symres.gaussian.quadrature import univariate
from symres.gaussian.quadrature.average_ball import average_ball
from symres.gaussian.quadrature.panels import LOG2_E, Weight, memoised


@pytest.fixture
def computed(monkeypatch):
    """The arguments of every average that is computed."""
    calls, compute = [], module._computed

    def counting(*arguments):
        calls.append(arguments)
        return compute(*arguments)

    module._kept.cache_clear()
    monkeypatch.setattr(module, "_computed", counting)
    yield calls
    module._kept.cache_clear()


def same(one, other):
    return one.mid() == other.mid() and one.rad() == other.rad()


def test_an_average_is_computed_once(computed):
    first, second = (average_ball((split(sp.tanh(z) ** 2),), (arb(3) / 7,), 60) for _ in range(2))
    assert same(first, second)
    assert len(computed) == 1


def test_other_arguments_have_averages_of_their_own(computed):
    sigmoid, tanh = split(z / (1 + sp.exp(-z))), split(sp.tanh(z) ** 2)
    third = arb(1) / 3
    asked = [
        ((tanh,), (third,), 60),
        ((sigmoid,), (third,), 60),
        ((tanh,), (arb(third.mid(), 1e-9),), 60),
        ((tanh,), (-(-third).lower(),), 60),
        ((tanh,), (third,), 40),
        ((tanh, sigmoid), (third, third / 2, third), 40),
        ((sigmoid, tanh), (third, third / 2, third), 40),
    ]
    found = [average_ball(*arguments) for arguments in asked]
    with ctx.workprec(100):
        found.append(average_ball(*asked[0]))
    assert len(computed) == len(asked) + 1
    for arguments, ball in zip(asked, found, strict=False):
        assert same(ball, module._computed(*arguments))


def test_what_a_large_budget_allows_is_refused_to_a_small_one(computed):
    function, law = (split(sp.sin(300 * z) ** 2),), (arb(1),)
    with panel_budget(5000):
        average_ball(function, law, 30)
    for _ in range(2):  # a refusal is none of the results
        with panel_budget(5), pytest.raises(SymresError):
            average_ball(function, law, 30)
    assert len(computed) == 3


def test_averages_of_very_many_digits_are_not_kept(computed, monkeypatch):
    monkeypatch.setattr(module, "_MOST_BITS", 50)
    for _ in range(2):
        average_ball((split(z**2),), (arb(1),), 51)
    assert len(computed) == 2


def test_averages_from_disk_are_those_that_were_computed(computed, tmp_path):
    functions = split(sp.tanh(z) ** 2), split(sp.Max(z - 1, 0)), split(z / (1 + sp.exp(-z)))
    third = arb(1) / 3
    asked = [((f,), (law,), bits) for f in functions for law in (third, arb(10**9)) for bits in (24, 200)]
    asked.append(((functions[0], functions[2]), (third, third / 2, third), 40))
    runs = []
    for _ in range(2):
        with caching(DiskCache(tmp_path)):
            runs.append([average_ball(*arguments) for arguments in asked])
        module._kept.cache_clear()
    assert len(computed) == len(asked)
    for first, second in zip(*runs, strict=True):
        assert first.mid() == second.mid()
        assert first.rad() <= second.rad() <= first.rad() * (1 + 1e-8)


def test_a_function_with_code_of_its_own_is_not_kept_on_disk(computed, tmp_path):
    class Bent(sp.Function):
        pass

    assert module._subject((split(sp.tanh(z)),)) is not None
    assert module._subject((split(sp.tanh(z)), PiecewiseFunction((), (Bent(z),)))) is None


def counted():
    calls = []

    @memoised(8)  # more than the places of a test: what is kept stays
    def value(function, place, shift=0.0):
        calls.append(place)
        return function([place + shift], False)

    return value, calls


EXP, SIN = (compile_ball(f(z), (z,)) for f in (sp.exp, sp.sin))


@pytest.mark.parametrize(
    ("function", "bits", "count"), [(EXP, 60, 1), (EXP, 1000, 2), (lambda values, analytic: values[0], 60, 2)]
)
def test_values_of_compiled_functions_are_computed_once_but_those_of_very_many_digits(function, bits, count):
    value, calls = counted()
    with ctx.workprec(bits):
        assert value(function, arb(3)).mid() == value(function, arb(3)).mid()
    assert len(calls) == count


def test_other_places_functions_shifts_and_precisions_are_their_own():
    value, calls = counted()
    others = [(EXP, -3, 0.0, 60), (EXP, 6, 0.0, 60), (SIN, 3, 0.0, 60), (EXP, 3, 3.0, 60), (EXP, 3, 0.0, 90)]
    for function, place, shift, bits in ((EXP, 3, 0.0, 60), *others):
        with ctx.workprec(bits):
            found, fresh = value(function, arb(place), shift), function([arb(place) + shift], False)
            assert (found.mid() - fresh.mid()).is_zero() and (found.rad() - fresh.rad()).is_zero()
    assert len(calls) == 6


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


SEVERAL = [  # averages that no one rule serves: their variances and bits, and the number of rules
    ("Gaussian", [(K, 24) for K in ("1/100", "1/20", "1", "20", "200")], 3),  # variances too far apart
    ("Gaussian", [("1", bits) for bits in (24, 60, 64, 65, 128)], 2),  # more bits
    ("far bump", [(K, 40) for K in ("1/8", "2", "10")], 3),  # sizes that differ too much
    ("steep", [(K, 40) for K in ("1/10", "1", "3")], 3),  # not all variances have this average
]


@pytest.mark.parametrize(("name", "asked", "count"), SEVERAL)
def test_others_have_rules_of_their_own(planned, name, asked, count):
    for variance, bits in asked:
        deviation(name, variance, bits)
    assert len(planned) == count
    assert name != "far bump" or all(ball.rad() < 1e-9 for ball in planned)


def test_an_average_that_a_variance_does_not_have_is_refused(planned):
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
