"""Zeros on a grid of kernels: all of them, none twice, and with few evaluations."""

import math

import pytest
import sympy as sp

from symres.core.symbols import kappa
from symres.functions.roots.bracketing import BITS, GRID, at_kappa, scan, zeros


def found(expression):
    """The zeros of an expression in kappa, and how often it and its slope were evaluated."""
    calls = {"value": 0, "slope": 0}

    def counted(name, e):
        def function(k, bits):
            calls[name] += 1
            return at_kappa(e, k, bits)

        return function

    slope = kappa * sp.diff(expression, kappa)
    return zeros(counted("value", expression), counted("slope", slope)), calls


def test_a_simple_zero_costs_little_more_than_the_grid():
    result, calls = found(kappa ** sp.Rational(1, 3) - 7)
    ((low, high),) = result.crossings
    assert low < 343 < high
    assert (result.touches, result.unseen) == ((), "")
    assert calls["value"] <= len(GRID) + 5
    assert calls["slope"] <= 12


@pytest.mark.parametrize("apart", [1.4, 1.1, 1.01, 1.0001])
def test_pairs_of_zeros_in_one_cell_are_seen(apart):
    places = sp.Rational("0.0031"), sp.Rational("0.0031") * sp.Rational(str(apart))
    result, _ = found((sp.log(kappa / places[0])) * (sp.log(kappa / places[1])) / (1 + kappa))
    assert len(result.crossings) == 2
    for (low, high), place in zip(result.crossings, places, strict=True):
        assert low <= place <= high


def test_three_zeros_in_one_cell_are_seen():
    places = [sp.Rational("20") * sp.Rational(r) for r in ("1.1", "1.2", "1.32")]
    result, _ = found(sp.Mul(*(sp.log(kappa / place) for place in places)))
    assert [low < place < high for (low, high), place in zip(result.crossings, places, strict=True)] == [True] * 3


def test_a_double_zero_is_a_touch():
    result, _ = found(sp.log(kappa / 5) ** 2 / (1 + kappa))
    assert not result.crossings
    assert math.isclose(float(result.touches[0]), 5, rel_tol=1e-6)


def test_a_steep_function_between_flat_ends_has_its_zero():
    result, _ = found(sp.tanh(40 * sp.log(kappa / sp.Rational("3.7"))) + sp.Rational(1, 2))
    (ends,) = result.crossings
    assert ends[0] < 3.7 * math.exp(math.atanh(-0.5) / 40) < ends[1]


def test_signs_that_few_bits_leave_open_are_decided():
    cancelling = sp.sqrt(1 + kappa**2) - 1 - kappa**2 / 2 + kappa**4 / 9
    rows = scan(lambda k, bits: at_kappa(cancelling, k, bits)).rows
    decided = [k for k, value in rows if value < 0 or value > 0]
    assert decided[0] < sp.Rational(1, 1000)
    assert all(value < 0 for k, value in rows if k in decided and k < sp.Rational(1, 10))  # -kappa**4/72
    levels = []
    scan(lambda k, bits: levels.append(bits) or at_kappa(cancelling, k, bits))
    assert set(levels) == set(BITS)
    assert len(levels) <= 1.6 * len(GRID)
