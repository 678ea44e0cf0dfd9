"""Quantities are what verification leaves of them; their series follow their values; ways to write an average."""

from dataclasses import replace

import sympy as sp

import symres as sr
from symres.core.proof import Proof
from symres.core.symbols import C_W, C_b, K
from symres.theory.quantities.build import _verified
from tests.shared import derived


def test_a_spoilt_closed_form_is_not_returned():
    right = derived("gelu").chi_perp
    wrong = replace(right, body=right.body * sp.Rational(101, 100), proof=Proof(right.body * sp.Rational(101, 100)))
    assert _verified(right).status is sr.Status.EXACT
    judged = _verified(wrong)
    assert (judged.status, judged.body) == (sr.Status.NUMERIC, right.definition)
    assert "defect" in judged.reason


def test_a_nested_series_follows_its_variances():
    erf, tanh = sr.activation("erf"), sr.activation("tanh")
    theory = derived(sr.Layer(sr.Dense(tanh(sr.Dense(erf(sr.z), C_b=0)), C_b=0)))
    k = sp.Rational(1, 10**5)
    exact = theory.kernel_map.evalf(20, K=k, C_W=1)
    approximate = sp.N(theory.kernel_map.series(3).expr.subs({sr.K: k, sr.C_W: 1}), 20)
    assert abs(approximate / exact - 1) < 1e-12


def test_two_ways_to_the_same_quantity():
    assert sr.expect(sr.activation("gelu")(sr.z) ** 2).expr == sr.expect("gelu(z)^2").expr


def test_a_formula_in_which_nothing_closes_stays_as_it_was_derived_unless_it_gets_shorter():
    theory = sr.layer("Attention(z, C_W, 0, 9, 1)").derive(positions=sr.Tokens(16))
    assert theory.chi_perp.body == theory.chi_perp.definition  # and not once more with C - 2K for 2K - C
    assert sr.layer("Dense(z - z/2)").derive().kernel_map.body == C_W * K / 4 + C_b
