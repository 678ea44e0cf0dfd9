"""Averages that a user asks for directly: ways to write them, and what is refused."""

import pytest
import sympy as sp

import symres as sr


def test_two_ways_to_the_same_quantity():
    phi = sr.activation("gelu")
    assert sr.expect(phi(sr.z) ** 2).expr == sr.expect("gelu(z)^2").expr


@pytest.mark.parametrize("expression", [1 / sr.z, sp.log(sr.z), sp.Symbol("z") ** 2, sp.I * sr.z, sp.DiracDelta(sr.z)])
def test_averages_of_expressions_are_validated(expression):
    with pytest.raises(sr.SymresError):
        sr.expect(expression)
