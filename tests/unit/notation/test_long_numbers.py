"""Long numbers: the same value in every notation, and no integer of many digits in what is printed."""

import re

import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C_W, K
from symres.notation import Notation, latex
from symres.notation.long_numbers import short_factors
from symres.report.text.formula_text import Maths

STAR_RELU = "0.8944*relu(z)^2 - 0.4472"
EXPRESSIONS = [
    -(195288750722 * C_W**2 - 244125781250 * C_W - 152587890625) / (976503125000 * C_W),
    (380689 * C_W - 25000000) ** 2 / (1591212100000000 * C_W),
    -(7 * K + sp.Rational(1, 10**14)) * sp.exp(sp.Rational(123456789012345, 10**15) * K) / 98765432109876543,
    sp.Rational("1.0507009873554804934193349852946") * K + sp.Rational(10**15, 3),
]


@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_the_value_stays(expr):
    at = {C_W: sp.Rational(17, 10), K: sp.Rational(3, 7)}
    assert sp.simplify(short_factors(expr).subs(at) - expr.subs(at)) == 0


@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_no_printer_shows_integers_of_many_digits(expr):
    for text in (Maths()(expr), Notation().write(expr), latex(expr)):
        assert not re.search(r"(?<![\d.])\d{13,}(?![\d.])", text), text


def test_what_is_common_cancels():
    assert Maths()(EXPRESSIONS[0]) == "-0.19998784·C_W + 1/4 + 390625/(2499848C_W)"


def test_programs_get_all_digits():
    expr = sr.derive(STAR_RELU).critical_line_expr
    text = sr.derive(STAR_RELU).summary()["critical_line"]
    assert sp.simplify(sp.sympify(text, locals={"C_W": C_W, "K": K}) - expr) == 0


def test_the_line_of_a_formula_with_decimals():
    line = sr.derive(STAR_RELU).critical_line_expr
    assert all(max(abs(n.p), n.q) < 10**8 for n in short_factors(line).atoms(sp.Rational))
