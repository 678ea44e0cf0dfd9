"""Roots inside of roots: written without them, and as the same number to 50 digits."""

import pytest
import sympy as sp

import symres as sr
from symres.notation.decimals import denested

S17 = sp.sqrt(17)


@pytest.mark.parametrize(
    "number",
    [
        sp.sqrt(3 + 2 * sp.sqrt(2)),
        sp.sqrt(S17 - 1) / sp.sqrt(4 + S17),  # neither of the two denests alone
        sp.sqrt(S17 - 1) * sp.sqrt(4 + S17) ** 3,
        sp.asin(sp.Rational(1, 3)) + sp.pi * sp.sqrt(3 + 2 * sp.sqrt(2)),
    ],
)
def test_what_denests(number):
    found = denested(number)
    assert len(str(found)) < len(str(number))
    assert abs(sp.N(found - number, 50)) < 1e-45
    assert max(len(power.base.atoms(sp.Pow)) for power in found.atoms(sp.Pow)) == 0


@pytest.mark.parametrize(
    "number", [sp.sqrt(1 + sp.sqrt(3)), sp.Integer(3), sp.pi / 4, sp.sqrt(sr.K + 1), sp.sqrt(2) * sr.gamma]
)
def test_what_does_not_is_left_as_it_is(number):
    assert denested(number) == number


def test_a_form_that_is_another_number_is_not_believed(monkeypatch):
    number = 1 / (1 + sp.sqrt(3 + 2 * sp.sqrt(2)))
    assert denested(number) != number
    monkeypatch.setattr("symres.notation.decimals.sp.radsimp", lambda e: sp.Integer(2))
    assert abs(sp.N(denested(number) - number, 40)) < 1e-35


def test_the_exponent_of_gelu_is_exact_and_short():
    """Doshi et al. (169) print 66.668."""
    assert sr.derive("gelu").exponents.jacobian.expand() == -8 * S17 - 32
