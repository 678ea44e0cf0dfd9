"""Zeros on a grid of kernels: all of them, none twice, and with few evaluations."""

import math

import pytest
import sympy as sp

from symres.core.errors import SymresError
from symres.core.symbols import kappa
from symres.functions.roots.bracketing import BITS, GRID, at_kappa, float_values, scan, zeros

pytestmark = pytest.mark.parametrize("floats", [None, float_values], ids=["balls", "floats"])


def found(expression, floats):
    """The zeros of an expression in kappa, and how often it and its slope were evaluated."""
    calls = {"value": 0, "slope": 0}

    def counted(name, e):
        def function(k, bits):
            calls[name] += 1
            return at_kappa(e, k, bits)

        return function

    slope = kappa * sp.diff(expression, kappa)
    seen = floats and floats(expression)
    return zeros(counted("value", expression), counted("slope", slope), seen), calls


def test_a_simple_zero_costs_little_more_than_the_grid(floats):
    result, calls = found(kappa ** sp.Rational(1, 3) - 7, floats)
    ((low, high),) = result.crossings
    assert low < 343 < high
    assert (result.touches, result.unseen) == ((), "")
    assert calls["value"] <= (len(GRID) + 5 if floats is None else 12)
    assert calls["slope"] <= 12


R, LARGE = sp.Rational, sp.Integer(10) ** 8


def logarithms(*places):
    return sp.Mul(*(sp.log(kappa / place) for place in places))


ZEROS = {
    **{f"{apart} apart": (logarithms(R("0.0031"), R("0.0031") * R(apart)) / (1 + kappa),
                          [R("0.0031"), R("0.0031") * R(apart)]) for apart in ("1.4", "1.1", "1.01", "1.0001")},
    "three in a cell": (logarithms(22, 24, R("26.4")), [22, 24, R("26.4")]),
    "steep between flat ends": (sp.tanh(40 * logarithms(R("3.7"))) + R(1, 2),
                                [3.7 * math.exp(math.atanh(-0.5) / 40)]),
    # in floats sqrt(1 + k^2) - 1 is 0 up to k = 1e-8, so that the function seems to be negative there
    "lost digits": (sp.sqrt(1 + kappa**2) - 1 - kappa**2 / 3, [math.sqrt(3)]),
    "digits that balls see": (sp.sqrt(kappa**2 + LARGE**2) - sp.sqrt(9 + LARGE**2), [3]),
}  # fmt: skip


@pytest.mark.parametrize("name", ZEROS)
def test_all_zeros_are_seen_and_no_others(name, floats):
    expression, places = ZEROS[name]
    result, _ = found(expression, floats)
    assert not result.touches and not result.unseen
    for (low, high), place in zip(result.crossings, places, strict=True):
        assert low <= place <= high


def test_a_double_zero_is_a_touch(floats):
    result, _ = found(sp.log(kappa / 5) ** 2 / (1 + kappa), floats)
    assert not result.crossings
    assert math.isclose(float(result.touches[0]), 5, rel_tol=1e-6)


def test_signs_that_few_bits_leave_open_are_decided(floats):
    cancelling = sp.sqrt(1 + kappa**2) - 1 - kappa**2 / 2 + kappa**4 / 9
    rows, _ = scan(lambda k, bits: at_kappa(cancelling, k, bits), floats and floats(cancelling))
    decided = [k for k, value in rows if value < 0 or value > 0]
    assert decided[0] < sp.Rational(1, 1000)
    assert all(value < 0 for k, value in rows if k in decided and k < sp.Rational(1, 10))  # -kappa**4/72
    levels = []
    scan(lambda k, bits: levels.append(bits) or at_kappa(cancelling, k, bits))
    assert set(levels) == set(BITS)
    assert len(levels) <= 1.6 * len(GRID)


def test_kernels_without_a_number_are_reported(floats):
    def function(k, bits):
        if k > 1000:
            raise SymresError("a value", "the function varies too fast", "use a smaller variance")
        return at_kappa(kappa - 7, k, bits)

    result = zeros(function, lambda k, bits: at_kappa(kappa, k, bits), floats and floats(kappa - 7))
    assert result.unseen == "kernels above 1e+03: the function varies too fast"
    (ends,) = result.crossings
    assert ends[0] < 7 < ends[1]
