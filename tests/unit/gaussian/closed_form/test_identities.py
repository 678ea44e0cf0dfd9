"""The identities that a closed form is held against: right ones pass, and each notices a wrong one by itself."""

from __future__ import annotations

import pytest
import sympy as sp
from sympy.core.cache import clear_cache

from symres.activations.piecewise import split
from symres.core.errors import NoClosedForm
from symres.core.symbols import K1, K2, C, K, z
from symres.functions.balls import evaluate
from symres.functions.records.gaussian_signs import S2
from symres.gaussian.closed_form.engine import closed_form
from symres.gaussian.closed_form.identities import _derivative, check_identities, identities
from symres.gaussian.closed_form.verification import verify

R = sp.Rational
PAIR = (K1, C, K2)
GELU = z * (1 + sp.erf(z / sp.sqrt(2))) / 2
PAIRS = {
    "gelu": (GELU, GELU),
    "kinks": (sp.Max(z, 1), sp.Max(z, 0)),
    "jump and kink": (sp.sign(z - 1), sp.Max(z, 0)),
    "jumps": (sp.sign(z - 1), sp.sign(z)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_right_forms_pass_and_say_by_what(name):
    factors = tuple(map(split, PAIRS[name]))
    claim = closed_form(factors, PAIR).result
    passed = check_identities(name, claim, factors, PAIR, 90, 1e-20)
    assert {v.oracle for v in passed} >= {"the derivation repeated with numbers", "independent inputs", "equal inputs"}
    assert len(passed) == 6
    assert all(v.worst <= 1e-20 for v in passed)
    theorems = [v.oracle for v in passed[1:4]]
    assert theorems == [
        "Stein's lemma",
        "Price's theorem" if name in ("gelu", "kinks") else "Stein's lemma",
        "Stein's lemma",
    ]


@pytest.mark.sample(11)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("place", range(6))
def test_each_identity_notices_a_wrong_form_by_itself(name, place):
    factors = tuple(map(split, PAIRS[name]))
    claim = closed_form(factors, PAIR).result + K1 * K2 * (1 + C) / 10**9
    identity = list(identities(claim, factors, PAIR, 90))[place]
    with pytest.raises(NoClosedForm, match="differs from"):
        verify(
            name,
            identity.formula,
            identity.measure,
            identity.kernels,
            oracle=identity.oracle,
            points=1,
            tolerance=1e-20,
            digits=27,
        )


def test_one_variable_and_its_parameters():
    a = sp.Symbol("a", positive=True)
    factors = (split(sp.Max(z, -a) ** 2),)
    claim = closed_form(factors, (K,)).result
    assert [v.oracle for v in check_identities("x", claim, factors, (K,), 110, 1e-20)] == [
        "the derivation repeated with numbers",
        "Stein's lemma",
    ]
    with pytest.raises(NoClosedForm, match="differs from the derivation repeated with numbers"):
        check_identities("x", claim * (1 + a / 10**6), factors, (K,), 110, 1e-20)


def test_a_wrong_derivative_rule_is_noticed_although_values_are_right(monkeypatch):
    factors = tuple(map(split, PAIRS["kinks"]))
    claim = closed_form(factors, PAIR).result
    rule = S2.fdiff
    monkeypatch.setattr(S2, "fdiff", lambda self, argindex=1: rule(self, argindex) * R(101, 100))
    clear_cache()  # sympy remembers derivatives
    try:
        with pytest.raises(NoClosedForm, match=r"differs from (Stein|Price)"):
            check_identities("x", claim, factors, PAIR, 90, 1e-20)
    finally:
        clear_cache()


def test_the_limit_of_equal_inputs_is_close_enough_to_be_told():
    (*_, last) = identities(
        closed_form(tuple(map(split, PAIRS["jumps"])), PAIR).result, tuple(map(split, PAIRS["jumps"])), PAIR, 90
    )
    value, error = evaluate(last.formula.subs(K1, 2), {}, 27)
    assert abs(value - last.measure({K1: sp.Integer(2)})[0]) < 1e-22
    assert error < 1e-26


@pytest.mark.parametrize(
    "formula",
    [
        K1 * sp.asin(C / sp.sqrt((1 + K1) * (1 + K2))) / (1 + K1) ** 2,
        sp.exp(-(K1**2)) * sp.erf(K1 / sp.sqrt(2 + C)) + K1**K2,
        sp.atan2(C, K1) * S2(K1, C, C / (K1 + K2)),
        K2 + C,
    ],
)
def test_derivatives_by_the_chain_rule_are_quotients_of_differences(formula):
    place, step = {K1: sp.Rational(7, 5), C: sp.Rational(3, 10), K2: sp.Rational(9, 7)}, sp.Rational(1, 10**12)
    for symbol in (K1, C, K2):
        ahead, behind = (formula.subs({**place, symbol: place[symbol] + side * step}) for side in (1, -1))
        quotient = evaluate((ahead - behind) / (2 * step), {}, 20)[0]
        assert abs(evaluate(_derivative(formula, symbol, {}).subs(place), {}, 20)[0] - quotient) < 1e-18
