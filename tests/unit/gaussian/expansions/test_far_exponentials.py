"""Exponentials that one sign cuts off, at kernels where each term of a closed form is e**5000: numbers all the same."""

from __future__ import annotations

from dataclasses import replace

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.functions.records.gaussian_signs import S2
from symres.gaussian.algebra.complementary import Q2
from symres.results.quantity import Status
from tests.oracles.line30 import average
from tests.oracles.plane30 import average2
from tests.oracles.sections import PARAMETERS, Sections, sections, x

R = sp.Rational
BUMP = Sections((R(1),), (sp.exp(x - 1), sp.exp(1 - x)))
FUNCTIONS = {"exp(-abs(z-1))": BUMP} | {name: sections(name) for name in ("elu", "celu", "erf", "sign", "hard_tanh")}
PAIRS = [("elu", "erf"), ("celu", "erf"), ("elu", "sign"), ("elu", "hard_tanh"), *[("exp(-abs(z-1))",) * 2]]
LAWS = [(R(10**4), R(41), R(1)), (R(3000), R(-100), R(100)), (R(10**4), R(-4100), R(10**4))]


@pytest.mark.sample(2)
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_pairs_of_large_kernels(pair, law):
    one, other = pair
    quantity = sr.expect2(one, other)
    assert quantity.status is Status.EXACT
    alpha = {k: v for k, v in PARAMETERS.get(one, {}).items() if k == "alpha"}
    found = quantity.evalf(20, K1=law[0], C=law[1], K2=law[2], **alpha)
    measured = average2(FUNCTIONS[one], FUNCTIONS[other], law)
    assert measured.distance(found) < mp.mpf(10) ** -20


@pytest.mark.parametrize("kernel", [R(10**4), R(10**6)], ids=str)
def test_one_input_of_a_large_kernel(kernel):
    product = sections("erf") * sections("elu")
    found = sr.expect("erf(z)*elu(z)").evalf(25, K=kernel, **PARAMETERS["elu"])
    assert average(product, kernel).distance(found) < mp.mpf(10) ** -25


@pytest.mark.exhaustive
def test_four_corners_of_a_bump():
    """Every sign beside an exponential becomes the probability of the corner that the exponential lives in."""
    closed = sr.expect2("exp(-abs(z-1))", "exp(-abs(z-1))").expr
    assert len(closed.atoms(Q2)) == len(sp.Add.make_args(closed)) == 4
    assert not closed.has(S2, sp.erf)


@pytest.mark.exhaustive
def test_functions_that_never_meet():
    """Equal inputs make the average 0, of which no relative accuracy can be asked."""
    quantity = sr.expect2("where(z<1/2, exp(3*z-3/2), 0)", "where(z>1, 1, 0)")
    assert quantity.status is Status.EXACT
    assert "equal inputs" in quantity.verified.oracle


def test_a_form_that_cancels_beyond_all_precision_is_replaced_by_its_averages():
    quantity = sr.expect("elu")
    huge = sp.exp(sp.exp(sp.exp(3)))
    spoiled = replace(quantity, body=quantity.body + huge - sp.exp(sp.exp(sp.exp(3 * quantity.symbols[0]))))
    assert spoiled.evalf(20, K=1, alpha=1) == quantity.evalf(20, K=1, alpha=1)
