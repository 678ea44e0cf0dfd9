"""Quantities are what verification leaves of them; their series follow their values; ways to write an average."""

from dataclasses import replace

import sympy as sp

import symres as sr
from symres.core.proof import Proof
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
