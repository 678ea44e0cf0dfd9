"""The part of a page about finite width."""

import symres as sr
from tests.shared import derived


def section(layer):
    page = derived(layer).page()
    return page[page.index("Finite width") :] if "Finite width" in page else ""


def test_formula_limit_and_table():
    shown = section(sr.residual("relu"))
    assert "r = γ, γ², γ³, ..." in shown
    assert "(12 + 4log(2))" in shown
    assert "6.49631" in shown
    assert "3.19 times as large" in shown


def test_one_row_without_a_skip_connection():
    shown = section(sr.mlp("tanh"))
    assert "= 2/3" in shown
    assert "0.26087" in shown
    assert "PDLT (B.26)" not in shown


def test_nothing_without_a_critical_point():
    assert section(sr.pre_ln("relu")) == ""
