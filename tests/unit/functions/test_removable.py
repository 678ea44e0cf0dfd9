"""Formulas that are 0/0 at 0 as they are written: values, enclosures, averages and code beside the functions."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from flint import acb, arb, ctx

import symres as sr
from symres.core.symbols import z
from symres.functions.balls import compile_ball
from symres.functions.removable import quotient_beside_zero, value_at_zero
from tests.languages import ALL, lanes, language
from tests.oracles.average import average_of, average_of_pair

FORMULAS = {
    "sin(z)/z": lambda u: mp.sin(u) / u if u else mp.mpf(1),
    "tanh(z)/z": lambda u: mp.tanh(u) / u if u else mp.mpf(1),
    "z/(exp(z) - 1)": lambda u: u / mp.expm1(u) if u else mp.mpf(1),
    "(cos(z) - 1)/z^2": lambda u: -2 * (mp.sin(u / 2) / u) ** 2 if u else mp.mpf(-1) / 2,
}
FLOATS = {"sin(z)/z": lambda u: np.sinc(u / np.pi), "z/(exp(z) - 1)": lambda u: u / np.expm1(u)}
SLOPES = {  # as series at 0 have them, to 1e-25 for |z| < 0.01
    "sin(z)/z": lambda u: -u / 3 + u**3 / 30 - u**5 / 840 + u**7 / 45360 - u**9 / 3991680,
    "z/(exp(z) - 1)": lambda u: -mp.mpf(1) / 2 + u / 6 - u**3 / 180 + u**5 / 5040 - u**7 / 151200 + u**9 / 4790016,
}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        (sp.sin(z) / z, 1),
        (z / (sp.exp(z) - 1), 1),
        ((sp.cos(z) - 1) / z**2, sp.Rational(-1, 2)),
        (sp.cos(z) / z - sp.sin(z) / z**2, 0),  # the slope of the first
        ((z / (sp.exp(z) - 1)).diff(z), sp.Rational(-1, 2)),
        ((z - sp.sin(z)) / (z - sp.tanh(z)), sp.Rational(1, 2)),
        (z**2 + 1, 1),
    ],
)
def test_the_value_at_0_is_the_limit(formula, value):
    assert value_at_zero(formula, z) == value


@pytest.mark.parametrize("formula", [1 / z, sp.sin(z) / z**2, sp.cos(z) / z, 1 / (sp.exp(z) - 1)])
def test_poles_have_none(formula):
    assert quotient_beside_zero(formula, z) is None


@pytest.mark.parametrize("text", SLOPES)
@pytest.mark.parametrize("place", [0.0, 2.0**-133, 2.0**-40, -(2.0**-17), 2.0**-8])
def test_balls_near_0_keep_their_digits(text, place):
    slope = compile_ball(sr.activation(text).expr.diff(z), (z,))
    with ctx.workprec(100), mp.workdps(40):
        ball = slope([arb(place)])
        exact = SLOPES[text](mp.mpf(place))
        assert abs(mp.mpf(ball.mid().str(35, radius=False)) - exact) < mp.mpf(10) ** -26
        assert ball.rad() < 1e-25


@pytest.mark.parametrize("text", FORMULAS)
def test_wide_balls_contain_the_values(text):
    function = compile_ball(sr.activation(text).expr, (z,))
    for middle, radius in ((0, 0.5), (0.3, 0.31), (0.01, 0.001), (-0.2, 0.4)):
        ball, around = function([arb(middle, radius)]), function([acb(arb(middle, radius), arb(0, 0.2))], True)
        assert ball.is_finite() and around.is_finite() and ball.rad() < 1 and around.real.rad() < 4
        for share in (-0.99, -0.3, 0, 0.5, 0.99):
            value = float(FORMULAS[text](mp.mpf(middle + share * radius)))
            assert ball.contains(arb(value, 1e-15)) and around.real.contains(arb(value, 1e-15))


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("kernel", ["0.0003", "1.7", "60"])
def test_averages_are_those_of_the_declaration(text, kernel):
    function = FORMULAS[text]
    assert sr.expect(text).evalf(18, K=kernel) == pytest.approx(average_of(function, kernel), rel=1e-16)
    small = mp.mpf("1e-8")  # central differences, whose error is 1e-16

    def steepness(u):
        return ((function(u + small) - function(u - small)) / (2 * small)) ** 2

    steep = average_of(steepness, kernel, digits=12)
    assert sr.derive(text).chi_perp.evalf(15, K=kernel, C_W=1) == pytest.approx(steep, rel=1e-9)


def test_the_average_of_sinc_is_an_error_function():
    """sin(z)/z is the average of cos(t*z) over 0 < t < 1, and <cos(t*z)> = exp(-K*t^2/2)."""
    k = mp.mpf("2.3")
    exact = mp.sqrt(mp.pi / (2 * k)) * mp.erf(mp.sqrt(k / 2))
    assert sr.expect("sin(z)/z").evalf(18, K=k) == pytest.approx(exact, rel=1e-17)


def test_a_wrong_quotient_is_seen(monkeypatch):
    right = quotient_beside_zero.__wrapped__

    def wrong(formula, variable):
        quotient = right(formula, variable)
        return quotient and (quotient[0] * sp.Rational(11, 10), quotient[1])

    monkeypatch.setattr("symres.functions.balls.compiler.quotient_beside_zero", wrong)
    assert not compile_ball(sp.sin(2 * z) / z, (z,))([arb(0)]).contains(2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", lanes(*ALL, slow={"numba", "c", "jax"}))
@pytest.mark.parametrize("text", ["sin(z)/z", "z/(exp(z) - 1)"])
def test_generated_code_has_their_averages(text, target):
    theory, tool, function = sr.derive(text), language(target), FORMULAS[text]
    module = tool.load({"kernel_map": theory.kernel_map, "covariance_map": theory.covariance_map})
    exact = average_of(lambda u: function(u) ** 2, "1.3")
    assert float(tool.value(module.kernel_map, 1.3, 1.0, 0.0)) == pytest.approx(exact, rel=1e-12)
    pair = average_of_pair(FLOATS[text], FLOATS[text], 1.3, 0.8, 0.5)
    assert float(tool.value(module.covariance_map, 1.3, 0.8, 0.5, 1.0, 0.0)) == pytest.approx(pair, rel=1e-11)
