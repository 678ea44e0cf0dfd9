"""S2, Q2, T4, S4 against their definitions, in every evaluator, their derivatives, and elementary values."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.core.atoms import Enclosable, Opaque
from symres.functions.balls import evaluate
from symres.functions.floats.float_averages import CompiledExpressions
from symres.functions.floats.float_compiler import CompiledFormula
from symres.functions.records.gaussian_signs import Q2, S2, S4, T4
from symres.functions.records.special_function import SpecialFunction
from symres.numerics.plackett import PAIRS
from tests.oracles import signs

KINDS = {kind.__name__: kind for kind in (S2, Q2, S4, T4)}
R = sp.Rational
MATRICES = [
    (R(1, 3), R(1, 5), R(-1, 5), R(1, 7), R(1, 3), R(3, 5)),
    (R(1, 2), R(1, 2), R(1, 2), R(1, 2), R(1, 2), R(9, 10)),
    (R(-1, 4), R(-1, 4), R(-1, 4), R(-1, 4), R(-1, 5), R(-1, 4)),
    (R(999, 1000), R(1, 5), R(1, 5), R(1, 5), R(1, 5), R(1, 3)),
]

SHIFTS = [(0.3, -1.2), (0.0, 1.5), (3.0, 4.0), (-3.0, 2.0), (-2.0, -0.5), (9.0, 10.0), (1e-6, 2.0)]
CORRELATIONS = [0.5, -0.7, 1e-8, 0.999, -0.999]
OF_TWO = [(h, k, r) for h, k in SHIFTS for r in CORRELATIONS if not (h * r < 0 and abs(h) > 8)]
FOURS = [(a, c, c, c, c, b) for a, b, c in ((0.5, 0.7, -0.4), (0.3, 0.9, 0.1), (0.6, 0.6, 0.59))]
PLACES = {"S2": OF_TWO, "Q2": OF_TWO, "S4": FOURS, "T4": [(1e-6,), (1 / 3,), (0.8,), (0.9999,)]}
ORACLES = {**signs.MODULE, "S4": lambda a, c, *rest: signs.S4_of_pairs(a, rest[-1], c)}


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


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", KINDS)
def test_every_evaluator_has_every_function(name):
    """Balls, the table, formulas compiled to NumPy and expressions in averages; against integrals over the law."""
    function = KINDS[name]
    for place in PLACES[name]:
        symbols = sp.symbols(f"s:{len(place)}", real=True)
        values = dict(zip(symbols, place, strict=True))
        with mp.workdps(40):
            exact = ORACLES[name](*(place if name == "S4" else map(mp.mpf, place)))
            ball = evaluate(function(*symbols), values, 25)[0]
            assert abs(ball - exact) <= mp.mpf("1e-12" if name == "S4" else "1e-20") * abs(exact), place
        expected = float(exact)
        found = [
            float(ball),
            float(function.values(*place)),
            float(CompiledFormula(symbols, function(*symbols))(*place)),
            float(CompiledExpressions([1 + function(*symbols)])(values)[0]) - 1,
        ]
        assert found == pytest.approx([expected] * 4, rel=1e-12, abs=1e-15), place
        assert found[:3] == pytest.approx([expected] * 3, rel=1e-12), place


def test_all_functions_that_enclose_themselves_are_of_one_kind():
    """Others are opaque: averages, roots and sums, which are never a part of a formula."""

    def below(kind):
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    functions = {k for k in below(Enclosable) if issubclass(k, sp.Function) and not issubclass(k, Opaque)}
    assert functions == below(SpecialFunction)


def test_arrays():
    h = np.array([[0.3, 1.0], [2.0, -0.5]])
    found = S2.values(h, -1.2, 0.5)
    assert found.shape == h.shape
    assert found[1, 0] == S2.values(2.0, -1.2, 0.5)


def test_ends_of_the_range():
    """Correlations of 1 that rounding made larger, and thresholds beyond all numbers; no law, no number."""
    one = 1 + 2**-52
    assert Q2.values(0.5, 0.7, one) == pytest.approx(float(sp.erfc(sp.Rational(7, 10) / sp.sqrt(2)) / 2), rel=1e-14)
    assert S2.values(0.5, 0.7, -one) == pytest.approx(float(S2.values(0.5, 0.7, -1.0)), rel=1e-14)
    assert T4.values(one) == 1
    assert Q2.values(1e6, -3.0, 0.5) == 0 == Q2.values(22836.0, 18104.0, 0.79277)
    assert Q2.values(-1e6, 3.0, 0.5) == pytest.approx(float(mp.erfc(3 / mp.sqrt(2)) / 2), rel=1e-14)
    assert S2.values(1e9, 2.0, 0.3) == pytest.approx(float(mp.erf(2 / mp.sqrt(2))), rel=1e-14)
    no_laws = {"S2": (1, 2, 1.1), "Q2": (1, 2, -2), "T4": (-0.4,), "S4": (1 / 3, 0.2, -0.2, 0.1, 0.3, 2)}
    assert all(np.isnan(KINDS[name].values(*place)) for name, place in no_laws.items())
