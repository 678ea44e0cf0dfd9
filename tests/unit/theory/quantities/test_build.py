"""A quantity is what its verification leaves of it."""

import sympy as sp

import symres as sr
from tests.shared import derived


def test_a_spoilt_closed_form_is_not_returned():
    from dataclasses import replace

    from symres.core.proof import Proof
    from symres.theory.quantities.build import _verified

    right = derived("gelu").chi_perp
    wrong = replace(right, body=right.body * sp.Rational(101, 100), proof=Proof(right.body * sp.Rational(101, 100)))
    assert _verified(right).status is sr.Status.EXACT
    judged = _verified(wrong)
    assert judged.status is sr.Status.NUMERIC
    assert "defect" in judged.reason
    assert judged.body == right.definition
