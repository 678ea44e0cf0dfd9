"""Sums over all powers of a number, against mpmath."""

import mpmath as mp
import pytest
import sympy as sp
from flint import arb, ctx

from symres.core.symbols import gamma
from symres.functions.balls import evaluate
from symres.theory.aspect_ratio.geometric_sum import GeometricSum, PowerSeries, interpolant, sum_of_powers

r = sp.Symbol("r", real=True)
TERM = sp.asin(r) + 3 * r * sp.sqrt(1 - r**2)  # sum of |c_k| below 6


@pytest.mark.sample(3)
@pytest.mark.parametrize("rho", ["1/10", "-1/2", "9/10", "-99/100", "999/1000"])
def test_the_sum(rho):
    made = GeometricSum(TERM, r, gamma, sp.Integer(6))
    value, radius = evaluate(made, {gamma: sp.Rational(rho)}, 25)
    with mp.workdps(30):
        x = mp.mpf(sp.Rational(rho).p) / sp.Rational(rho).q
        count = int(75 / -mp.log(abs(x)))
        expected = mp.fsum(mp.asin(x**d) + 3 * x**d * mp.sqrt(1 - x ** (2 * d)) for d in range(count))
        assert abs(value - expected) < radius + mp.mpf(10) ** -24 * abs(expected)


def test_powers_are_summed_at_once():
    assert GeometricSum(2 * r**2 + r, r, gamma, sp.Integer(3)) == 2 / (1 - gamma**2) + 1 / (1 - gamma)
    assert GeometricSum(TERM, r, sp.Integer(0), sp.Integer(6)) == TERM.subs(r, 1)


def test_it_diverges_at_one():
    with pytest.raises(Exception, match="not finite"):
        evaluate(GeometricSum(TERM, r, gamma, sp.Integer(6)), {gamma: sp.Integer(1)}, 15)


@pytest.mark.parametrize("rho", ["999/1000", "-9999999/10000000", "9999999/10000000"])
def test_sums_of_many_powers(rho):
    """r/(2 - r) is the sum of (r/2)^k, so its sum over powers is one over k."""
    ratio = sp.Rational(rho)
    made = GeometricSum(r / (2 - r), r, gamma, sp.Integer(1), gamma)
    value, radius = evaluate(made, {gamma: ratio}, 20)
    with mp.workdps(60):
        x = mp.mpf(ratio.p) / ratio.q
        expected = mp.fsum((x / 2) ** k / (1 - x**k) for k in range(1, 140))
    assert abs(value - expected) <= radius <= mp.mpf(10) ** -20 * abs(value)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("bits", [30, 60])
def test_the_error_of_an_interpolant(bits, level):
    """It is a bound, and not far from what is seen of a function that is singular just outside of the disc."""
    near = sp.Rational(1001, 1000)
    function = PowerSeries(r / (near - r), (r,), (), bits)
    own = interpolant(function, 1, level)
    bound, worst = 1000, 0.0  # the sum of 1.001^-k
    with ctx.workprec(200):
        for k in range(-50, 51):
            x = arb(k) / 50
            place = own.centre + own.half * x
            seen = abs(own.polynomial(x) - place / (arb(1001) / 1000 - place))
            assert seen <= own.error * bound + own.inexact
            worst = max(worst, float(seen / (own.error * bound)))
        assert worst > 1e-3


def test_what_is_not_known_of_the_ratio_is_in_the_result():
    """A sum of a million powers whose ratio is a ball contains the sums for both of its ends."""
    function = PowerSeries(r / (2 - r), (r,), (), 120)

    def summed(ratio):
        with ctx.workprec(120):
            return sum_of_powers(function, arb(1), ratio, arb(1))

    low, high = arb(1) - arb(10) ** -6 - arb(10) ** -16, arb(1) - arb(10) ** -6 + arb(10) ** -16
    whole = summed(low.union(high))
    assert whole.contains(summed(low)) and whole.contains(summed(high)) and whole.rad() < 1e-2 * whole.mid()
