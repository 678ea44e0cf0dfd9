"""Printed formulas: their words, and their values beside closed forms."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.literature.formulas import PrintedAverage, tree
from symres.literature.numbers import as_phi, number
from symres.literature.verdict_tables import in_latex

PHI = {"phi": as_phi(sr.activation("erf")), "phi_b": as_phi(sr.activation("relu"))}
HERE = {
    name: mp.mpf(value) for name, value in {"K": "0.7", "C_W": "1.75", "K1": "1.2", "K2": "0.8", "C": "0.3"}.items()
}


def value(text, **more):
    return number(tree(text, {}, PHI), {**HERE, **{name: mp.mpf(x) for name, x in more.items()}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C_W*E(phi(z)^2, K)", 1.75 * 2 / mp.pi * mp.asin(1.4 / 2.4)),
        ("E(phi(x)*phi(y), K1, K2, C)", 2 / mp.pi * mp.asin(0.6 / mp.sqrt(3.4 * 2.6))),
        ("E(phi_b(z)^2, K)", 0.35),
        ("E(phi1(z)^2, K)", 4 / mp.pi / mp.sqrt(1 + 4 * mp.mpf("0.7"))),
        ("slope(K^3, K)", 3 * 0.7**2),
        ("iterate(K/2 + 1, K, 8, 3)", 2.75),
        ("fixed(K/2 + 1, K, 5)", 2),
        ("total(j^2, j, 1, 4)", 30),
        ("product(j, j, 1, 5)", 120),
        ("integral(exp(-x^2), x, -oo, oo)", mp.sqrt(mp.pi)),
        ("solution(x^2 - 2, x, 1)", mp.sqrt(2)),
        ("Phi(0) + step(2) + abs(-1)", 2.5),
        ("0.25", 0.25),
    ],
)
def test_values(text, expected):
    assert float(value(text)) == pytest.approx(float(expected), rel=1e-12)


def test_relations():
    assert value("K < C_W") is True
    assert value("K >= C_W") is False


def test_the_calculus_of_averages_is_not_asked(monkeypatch):
    """Sabotage: a calculus that answers 0 changes nothing."""
    from symres.gaussian.calculus.expectation import Expectation

    monkeypatch.setattr(Expectation, "__new__", lambda cls, *arguments: sp.Integer(0))
    assert float(value("E(phi(z)^2*z^2, K)", K="0.9")) > 0.1
    assert isinstance(tree("E(phi(z), K)", {}, PHI), PrintedAverage)


@pytest.mark.parametrize("text", ["K +", "__import__('os')", "K.real", "phi9(K)", "f(K)", "[K]", "K if K else C"])
def test_what_is_refused(text):
    with pytest.raises(sr.DeclarationError, match="the printed formula"):
        tree(text, {}, PHI)


def test_symbols_without_values_are_named():
    with pytest.raises(sr.NoClosedForm, match="sigma has no value"):
        value("sigma*K")


def test_in_latex():
    shown = in_latex("sigma_w^2*E(phi1(z)^2, K) + mu^2*K")
    assert shown == r"\mu^{2} K + \sigma_{w}^{2} \left\langle \phi'^{2}{(z)} \right\rangle_{K}"
    assert in_latex("not a formula") == r"\text{not a formula}"
