"""Decimals of exact numbers."""

import sympy as sp

from symres.notation.decimals import decimal


def test_decimals_are_correct():
    assert decimal((3 + sp.sqrt(17)) / 2, 30) == "3.56155281280883027491070492799"
    assert decimal(sp.Integer(2)) == "2"
    assert decimal(sp.Rational(1, 3), 20) == "0.33333333333333333333"
