"""Slopes of functions that jump: their averages are the derivatives of averages, as differences of numbers show."""

from __future__ import annotations

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C, z
from symres.results.quantity import Status

R = sp.Rational
M, M2 = sp.symbols("m m2", real=True)
STEP = R(1, 10**8)
GATE = sr.Activation("gate", sp.Piecewise((z**2, z < 1), (3 * z + 1, True)))


def function(name):
    return GATE if name == "gate" else sr.activation(name)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["sign", "step", "gate"])
@pytest.mark.parametrize("weight", [lambda u: 1, lambda u: u**2 + 1, lambda u: sr.activation("gelu")(u)])
def test_the_average_of_a_slope_is_the_slope_of_the_average_in_the_mean(name, weight):
    """<f'(z) w(z)> = d/dm <f(z) w(z)> - <f(z) w'(z)>."""
    f, w = function(name), weight(z)
    found = sr.expect(f(z).diff(z) * w, mean=M)
    assert found.status is Status.EXACT
    bend = sp.diff(w, z)

    def value(quantity, mean):
        at = {"K": R(3, 2), "m": mean}
        return quantity.evalf(32, **{s.name: at[s.name] for s in quantity.symbols})

    with mp.workdps(40):
        whole = sr.expect(f(z) * w, mean=M)
        slope = (value(whole, R(1, 4) + STEP) - value(whole, R(1, 4) - STEP)) / (2 * mp.mpf(STEP.p) / STEP.q)
        if bend != 0:
            slope -= value(sr.expect(f(z) * bend, mean=M), R(1, 4))
        assert abs(value(found, R(1, 4)) - slope) < 1e-13


@pytest.mark.sample(1)
@pytest.mark.parametrize(("f", "g"), [("sign", "sign"), ("sign", "gate"), ("gate", "gelu"), ("step", "relu")])
def test_two_slopes_are_the_slope_in_the_covariance(f, g):
    """Price's theorem, deltas included: <f'(z1) g'(z2)> = d/dC <f(z1) g(z2)>."""
    f, g = function(f), function(g)
    found = sr.expect2(f(z).diff(z), g(z).diff(z), means=(M, M2))
    whole = sr.derivative(sr.expect2(f(z), g(z), means=(M, M2)), C)
    at = {"K1": 2, "K2": 1, "C": R(-1, 3), "m": R(1, 4), "m2": R(1, 2)}
    values = [q.evalf(25, **{s.name: at[s.name] for s in q.symbols}) for q in (found, whole)]
    assert abs(values[0] - values[1]) < mp.mpf(10) ** -22 * (1 + abs(values[1]))


@pytest.mark.parametrize("steepness", [-2, 3])
def test_a_jump_is_crossed_in_the_direction_of_the_argument(steepness):
    """d/dz step(1 + s z) = sign(s) delta(z + 1/s): a step of a decreasing argument goes down."""
    slope = sr.activation("step")(1 + steepness * z).diff(z)
    with mp.workdps(30):
        place, law = mp.mpf(-1) / steepness, mp.mpf(3) / 2
        density = mp.sign(steepness) * mp.npdf(place, 0, mp.sqrt(law))
        for weight, factor in ((sp.Integer(1), 1), (z, place), (z**2, place**2)):
            found = sr.expect(slope * weight).evalf(25, K=R(3, 2))
            assert abs(found - density * factor) < mp.mpf("1e-24")


def test_curvature_of_kinks():
    relu = sr.activation("relu")
    curvature = relu(z).diff(z, 2)
    assert sr.expect(curvature).expr == 1 / sp.sqrt(2 * sp.pi * sr.K)
    assert sr.expect(relu(z) * curvature).expr == 0
    pair = sr.expect2(curvature, curvature).expr
    assert sp.simplify(pair - 1 / (2 * sp.pi * sp.sqrt(sr.K1 * sr.K2 - C**2))) == 0


def test_the_square_of_a_delta_is_infinite():
    square = sr.expect(sr.activation("sign")(z).diff(z) ** 2)
    assert square.expr == sp.oo and square.evalf(K=1) == mp.inf
