"""Powers of |z| with exponents that are symbols or fractions, against quadrature by mpmath."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import K, z
from symres.results.quantity import Status
from tests.oracles.average import average_of

p = sp.Symbol("p", positive=True)
NUMBERS = {"K": sp.Rational(5, 3), "p": sp.Rational(7, 10)}
CASES = {
    "power": (abs(z) ** p, lambda x, q: abs(x) ** q),
    "times a square": (abs(z) ** p * z**2, lambda x, q: abs(x) ** q * x**2),
    "another exponent": (3 * abs(z) ** (2 * p + 1) - abs(z), lambda x, q: 3 * abs(x) ** (2 * q + 1) - abs(x)),
    "one side": (sp.Max(z, 0) ** p, lambda x, q: max(x, 0) ** q),
    "two sides": (
        sp.Piecewise((z ** sp.Rational(3, 2), z > 0), (-5 * (-z) ** sp.Rational(1, 3), True)),
        lambda x, q: x**1.5 if x > 0 else -5 * mp.cbrt(-x),
    ),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CASES)
def test_averages_of_powers_are_exact_and_those_of_quadrature(name):
    formula, function = CASES[name]
    found = sr.expect(formula)
    assert found.status is Status.EXACT
    assert {v.oracle for v in found.verifications} >= {"quadrature", "Stein's lemma"}
    assert found.proof.replay() == found.expr
    value = average_of(lambda x: function(x, mp.mpf("0.7")), "5/3")
    own = {name: number for name, number in NUMBERS.items() if name in map(str, found.symbols)}
    assert abs(found.evalf(20, **own) - value) < 1e-12 * abs(value)


def test_the_moment_is_that_of_the_literature():
    expected = 2 ** (p / 2) * sp.gamma((p + 1) / 2) * K ** (p / 2) / sp.sqrt(sp.pi)
    assert sp.simplify(sr.expect(abs(z) ** p).expr - expected) == 0
    assert sr.expect(abs(z) ** p * z).expr == 0


@pytest.mark.parametrize("formula", [abs(z) ** p * sp.tanh(z) ** 2, abs(z - 1) ** p, abs(z) ** p * sp.exp(-abs(z))])
def test_other_integrands_are_numbers(formula):
    assert sr.expect(formula).status is Status.NUMERIC
