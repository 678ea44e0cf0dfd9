"""Sums over all powers of a number, against mpmath."""

import mpmath as mp
import pytest
import sympy as sp

from symres.core.symbols import gamma
from symres.numerics.balls import evaluate
from symres.theory.aspect_ratio.geometric_sum import GeometricSum

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
