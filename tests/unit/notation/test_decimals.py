"""Decimals of exact numbers."""

import pytest
import sympy as sp

from symres.core.symbols import gamma
from symres.notation.decimals import decimal, rounded_law

A = sp.Symbol("A", positive=True)


def test_decimals_are_correct():
    assert decimal((3 + sp.sqrt(17)) / 2, 30) == "3.56155281280883027491070492799"
    assert decimal(sp.Integer(2)) == "2"
    assert decimal(sp.Rational(1, 3), 20) == "0.33333333333333333333"


@pytest.mark.parametrize("power", [-4, sp.Rational(-1, 2), sp.Rational(3, 2), 2])
def test_a_law_is_its_number_without_a_skip_connection_times_a_power(power):
    """Written so that sympy sees no power: the square stands multiplied out beside 1."""
    hidden = sp.sqrt(1 - 2 * gamma**2 + gamma**4)
    assert rounded_law(3 * A * hidden**power) == 3 * A * (1 - gamma**2) ** power


@pytest.mark.parametrize("law", [gamma**2, 1 + gamma, A + gamma, gamma - 1, (1 - gamma**2) ** sp.Rational(1, 3)])
def test_other_laws_stay_as_they_are(law):
    """Also one that is 0 without a skip connection."""
    assert rounded_law(law) == law
