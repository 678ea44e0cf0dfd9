"""The shortest form of a formula: the same value, never more symbols, and what a theorist would write."""

import re

import mpmath as mp
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import symres as sr
from symres.core.symbols import C_W, K1, K2, C, C_b, K, gamma
from symres.notation.shortest import shortest, symbols
from symres.report.text.formula_text import Maths
from tests.oracles.closed_forms import KERNELS

ROOT = sp.sqrt(17)
POINT = {
    K: mp.mpf("1.7"), K1: mp.mpf("1.3"), K2: mp.mpf("2.1"), C: mp.mpf("0.6"), C_W: mp.mpf("1.9"), C_b: mp.mpf("0.4"),
    gamma: mp.mpf("0.7"),
}  # fmt: skip
# names, numbers, roots, exponents and operators of a text: read from what is printed, not from the expression
PRINTED = re.compile(r"√|[^\W\d²³¹⁰⁴-⁹⁻][^\W²³¹⁰⁴-⁹⁻]*|\d+|[-+/·^]|[²³¹⁰⁴-⁹⁻]+")

FORMS = [
    (C_W * (sp.S.Half - sp.exp(-2 * K) / 2), "C_W·(1 - exp(-2K))/2"),
    (sp.exp(-K1 / 2 - K2 / 2) * sp.sinh(C), "exp(-(K₁ + K₂)/2)·sinh(C)"),
    ((1 + 24 * gamma**2) / (24 * (1 + gamma) * (gamma - 1)), "-(1 + 24γ²)/(24(1 - γ²))"),
    (1 / (3 * K) + 2 / (3 * sp.sqrt(3) * sp.pi * K), "(3 + 2√3/π)/(9K)"),  # 1/K is taken out
    (12 * C_W - 12, "12(C_W - 1)"),
    ((8 + 2 * ROOT) / (4 + ROOT) ** sp.Rational(3, 2), "2/√(4 + √17)"),  # a sum meets its power
    (4 / (1 + 2 * sp.asin(K) / sp.pi), "4π/(π + 2asin(K))"),
    (1 / (sp.sqrt(K) * (sp.sqrt(K) + C_W * K)), "1/(√K·(√K + C_W·K))"),  # an expansion below a line
    ((3 + ROOT) * (1 + sp.asin(K)) - 3 * sp.asin(K) - ROOT * sp.asin(K), "3 + √17"),  # an asin that cancels
    (C_b + gamma**2 * K + C_W * K / 2, "C_b + K·(C_W/2 + γ²)"),
    (K - 2 * K**2, "K - 2K²"),  # an expansion
    ((1 - gamma**2) * (5 - gamma**2), "(1 - γ²)·(5 - γ²)"),  # where it vanishes is seen
    (2 * sp.asin(2 * K / (1 + 2 * K)) / sp.pi, "2asin(2K/(1 + 2K))/π"),  # no fraction below a line
]


@pytest.mark.parametrize(("expr", "text"), FORMS, ids=[text for _, text in FORMS])
def test_forms(expr, text):
    assert Maths()(expr) == text
    assert symbols(shortest(expr)) == len(PRINTED.findall(text)) <= symbols(expr)
    assert is_same(shortest(expr), expr)


DECIMAL = sp.Rational(9999, 20000)  # 0.49995 is shorter


@pytest.mark.parametrize(
    ("expr", "decimals", "text"),
    [
        (DECIMAL * K1 + DECIMAL * K2, False, "9999(K₁ + K₂)/20000"),
        (DECIMAL * K1 + DECIMAL * K2, True, "0.49995·K₁ + 0.49995·K₂"),
        (K1 * sp.Rational(1, 2000), False, "K₁/2000"),
        (K1 * sp.Rational(1, 2000) / K2, True, "0.0005·K₁/K₂"),
    ],
)
def test_the_count_knows_whether_decimals_are_printed(expr, decimals, text):
    """A decimal is one symbol and takes part in no common factor, but only where the page prints it."""
    formula = sr.activation("0.0005*z + tanh(z)" if decimals else "tanh").formula
    assert Maths(True, formula)(expr) == text
    numbers = re.compile(r"\d+\.\d+·?|" + PRINTED.pattern)
    assert symbols(shortest(expr, decimals), decimals) == len(numbers.findall(text))


@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if kernel.free_symbols <= POINT.keys()])
def test_closed_forms_keep_their_value(name):
    expr = C_b + C_W * KERNELS[name]
    assert is_same(shortest(expr), expr)
    assert symbols(shortest(expr)) <= symbols(expr)


LEAVES = st.sampled_from(
    [K, C_W, gamma, sp.sqrt(K), sp.pi, sp.Integer(2), sp.Rational(-1, 3), ROOT, 1 + K, 1 - gamma, 4 + ROOT]
)


def _grown(parts):
    return st.one_of(
        st.tuples(parts, parts).map(lambda pair: pair[0] + pair[1]),
        st.tuples(parts, parts).map(lambda pair: pair[0] * pair[1]),
        parts.map(lambda e: 1 / (2 + e**2)),
        parts.map(lambda e: sp.sqrt(1 + e**2)),
        parts.map(lambda e: sp.exp(-(e**2) / 2)),
        parts.map(sp.atan),
    )


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=60)  # sympy's first products take their time
@given(st.recursive(LEAVES, _grown, max_leaves=7))
def test_every_form_has_the_same_value(expr):
    found = shortest(expr)
    assert symbols(found) <= symbols(expr)
    assert is_same(found, expr)


def test_a_step_that_changes_the_value_is_seen(monkeypatch):
    expr = C_W * K / 3 + C_W * gamma / 3
    assert is_same(shortest(expr), expr)
    shortest.cache_clear()
    monkeypatch.setattr("symres.notation.shortest._product", lambda number, *factors: sp.Mul(*factors))
    assert not is_same(shortest(expr), expr)
    shortest.cache_clear()


def is_same(one, other):
    with mp.workdps(30):
        left, right = (mp.mpmathify(sp.N(e.subs(POINT), 30)) for e in (one, other))
        return abs(left - right) <= mp.mpf(10) ** -20 * max(1, abs(right))
