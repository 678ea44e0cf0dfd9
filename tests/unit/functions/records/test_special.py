"""S2, Q2, T4, S4 against their definitions, their own derivatives, and the values that are elementary."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.functions.balls import evaluate
from symres.functions.records.gaussian_signs import Q2, S2, S4, T4
from symres.numerics.plackett import PAIRS
from tests.oracles import signs

R = sp.Rational
MATRICES = [
    (R(1, 3), R(1, 5), R(-1, 5), R(1, 7), R(1, 3), R(3, 5)),
    (R(1, 2), R(1, 2), R(1, 2), R(1, 2), R(1, 2), R(9, 10)),
    (R(-1, 4), R(-1, 4), R(-1, 4), R(-1, 4), R(-1, 5), R(-1, 4)),
    (R(999, 1000), R(1, 5), R(1, 5), R(1, 5), R(1, 5), R(1, 3)),
]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(40):
        yield


def number(expr, digits=30):
    return evaluate(expr, {}, digits)[0]


def close(a, b, digits):
    return abs(a - b) <= mp.mpf(10) ** -digits * max(abs(b), mp.mpf(10) ** -400)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("h", "k", "r"),
    [
        (R(10), R(9), R(-1, 2)), (R(30), R(20), R(9, 10)), (R(-3), R(2), R(1, 3)), (R(-3), R(-2), R(1, 3)),
        (R(-5), R(6), R(-99, 100)), (R(1, 100), R(40), R(-1, 7)), (R(3), R(0), R(-4, 5)), (R(-6), R(-7), R(-1, 2)),
    ],
)  # fmt: skip
def test_two_tails_keep_their_relative_accuracy(h, k, r):
    expected = signs.Q2(*(mp.mpf(x.p) / x.q for x in (h, k, r)))
    assert close(number(Q2(h, k, r)), expected, 20)
    assert close(
        number(Q2(h, k, r)), number((1 - sp.erf(h / sp.sqrt(2)) - sp.erf(k / sp.sqrt(2)) + S2(h, k, r)) / 4), 25
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("h", "k"),
    [(R(1, 3), R(1, 3)), (R(1, 1000), R(1, 1000)), (R(2), R(3)), (R(-1, 3), R(1, 3)), (R(6), R(6) + R(1, 2**40))],
)
def test_variables_that_are_the_same(h, k):
    """P(x > h, x > k) and P(x > h, -x > k), to full accuracy although the integrals end at a pole."""
    assert close(number(Q2(h, k, 1)), number(sp.erfc(max(h, k) / sp.sqrt(2)) / 2), 28)
    between = max((sp.erf(-k / sp.sqrt(2)) - sp.erf(h / sp.sqrt(2))) / 2, sp.Integer(0))
    assert abs(number(Q2(h, k, -1)) - (number(between) if between else 0)) < 1e-28
    assert close(number(Q2(h, k, 1 - R(1, 10**60))), number(Q2(h, k, 1)), 25)


def test_tails_far_out_are_quick_and_known():
    tail = number(Q2(R(10**6), R(10**6), R(1, 2)))  # log Q = -h^2/(1 + r) + ...
    assert close(mp.log(tail), mp.mpf(-(10**12)) * 2 / 3, 10)


@pytest.mark.parametrize("r", MATRICES)
def test_four_signs_are_what_random_numbers_show(r):
    matrix = np.eye(4)
    for (i, j), x in zip(PAIRS, r, strict=True):
        matrix[i, j] = matrix[j, i] = float(x)
    count = 10**6
    x = np.random.default_rng(5).standard_normal((count, 4)) @ np.linalg.cholesky(matrix).T
    value = float(number(S4(*r), 15))
    assert abs(np.sign(x).prod(1).mean() - value) < 4 * np.sqrt((1 - value**2) / count)


def test_elementary_values_and_one_way_of_writing():
    h, k, r = sp.symbols("h k r", real=True)
    assert S2(h, k, 0) == sp.erf(h / sp.sqrt(2)) * sp.erf(k / sp.sqrt(2))
    assert S2(0, 0, r) == 2 * sp.asin(r) / sp.pi
    assert S2(h, k, r) == S2(k, h, r) == -S2(-h, k, -r) == S2(-h, -k, r)
    assert S2(0, k, -r) == -S2(0, k, r)
    assert close(number(S2(R(1), R(2), 1)), number(S2(R(1), R(2), 1 - R(1, 10**40))), 18)
    assert close(number(S2(R(1), R(-2), -1)), number(S2(R(1), R(-2), R(1, 10**40) - 1)), 18)
    assert Q2(h, k, r) == Q2(k, h, r)
    assert (T4(0), T4(R(1, 2)), T4(1)) == (0, R(1, 5), 1)
    assert close(number(T4(R(1, 2) + R(1, 10**30))), mp.mpf(1) / 5, 28)
    assert close(number(T4(1 - R(1, 10**40))), mp.mpf(1), 18)
    assert S4(*[r] * 6) == T4(r)
    assert S4(r, 0, 0, 0, 0, h) == 4 * sp.asin(r) * sp.asin(h) / sp.pi**2
    assert close(number(S4(*MATRICES[0])), number(S4(*MATRICES[0]).evalf(30)), 25)


@pytest.mark.parametrize(
    ("function", "place"),
    [(S2, (R(1, 3), R(3, 5), R(1, 4))), (Q2, (R(1, 3), R(3, 5), R(-1, 4))), (S4, MATRICES[0]), (T4, (R(1, 3),))],
)
def test_derivatives(function, place):
    step = R(1, 10**12)
    symbols = sp.symbols(f"s:{len(place)}", real=True)
    for i, s in enumerate(symbols):
        ends = [function(*(x + sign * step * int(i == j) for j, x in enumerate(place))) for sign in (1, -1)]
        quotient = (number(ends[0], 40) - number(ends[1], 40)) / (2 * mp.mpf(step.p) / step.q)
        slope = function(*symbols).diff(s).subs(dict(zip(symbols, place, strict=True)))
        assert close(number(slope), quotient, 20), (function, i)


def test_infinite_shifts_and_thresholds():
    h, half = sp.Symbol("h", real=True), sp.Rational(1, 2)
    assert S2(sp.oo, 1, half) == sp.erf(1 / sp.sqrt(2)) == -S2(1, -sp.oo, half)
    assert (Q2(sp.oo, 1, half), Q2(-sp.oo, 1, half)) == (0, sp.erfc(1 / sp.sqrt(2)) / 2)
    assert sp.limit(Q2(h, 1, half), h, sp.oo) == 0
