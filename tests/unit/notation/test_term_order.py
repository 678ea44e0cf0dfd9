"""The order and the signs in which formulas are read, the same in text and in LaTeX."""

import pytest
import sympy as sp

import symres as sr
from symres.notation import latex
from symres.report.text.formula_text import Maths

G, K = sr.gamma, sr.K


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ((12 * G**2 + 5) / (G - 1) / (G + 1) / 12, "-(5 + 12*gamma^2)/(12*(1 - gamma^2))"),
        ((24 * G**2 - 1) / (G - 1) / (G + 1) / 24, "(1 - 24*gamma^2)/(24*(1 - gamma^2))"),
        ((G - 1) * (G + 1) * (G**2 - 5), "(1 - gamma^2)*(5 - gamma^2)"),
        ((G - 1) ** 2 * (G + 1) ** 2 * K, "K*(1 - gamma^2)^2"),
        (-(K**2 + 5) * (1 - G), "-(1 - gamma)*(5 + K^2)"),  # a sum of positive terms keeps its sign
        ((1 - G) * (K - 2), "(1 - gamma)*(K - 2)"),  # without a minus sign in front nothing is turned
    ],
)
def test_signs_and_differences_of_squares(expr, text):
    assert Maths(unicode=False)(expr) == text
    for symbol, name in ((G, "gamma"), (K, "K")):
        text = text.replace(name, str(symbol))
    assert sp.simplify(sp.sympify(text.replace("^", "**"), {"gamma": G, "K": K}) - expr) == 0


def test_latex_is_ordered_alike():
    assert latex((3 * G**2 - 1) / (G - 1) / (G + 1) / 3) == r"\frac{1 - 3 \gamma^{2}}{3 (1 - \gamma^{2})}"
