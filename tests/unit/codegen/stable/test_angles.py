"""The angle form of pair kernels has positive terms; the values of its code are tried in every language."""

import pytest
import sympy as sp

from symres.codegen.stable.angles import angle_form
from symres.codegen.stable.positive_terms import positive, simple_fractions, steadier
from symres.codegen.stable.primitives import AngularSum, determinant
from symres.core.symbols import K1, K2, C
from tests.oracles.closed_forms import PAIRS

TRIPLE = (K1, C, K2)
X, Y = sp.symbols("x y", positive=True)
A, B, R = *sp.symbols("a b", positive=True), sp.Symbol("r", real=True)


def test_gelu_has_no_negative_term_but_in_simple_fractions():
    form = angle_form(PAIRS["gelu"], TRIPLE).stable()
    (found,) = form.atoms(AngularSum)
    s = sp.sqrt(1 + K1 + K2 + determinant)
    assert sp.simplify(found.args[1] - (1 / s - s / (1 + K1) - s / (1 + K2)) / (2 * sp.pi)) == 0
    assert len(found.args[1].atoms(sp.Pow)) < 8
    for part in sp.preorder_traversal(found.args[0]):
        if isinstance(part, sp.Add):
            assert all(term.as_coeff_Mul()[0] > 0 for term in part.args)


@pytest.mark.parametrize(
    "formula",
    [PAIRS["sin"], PAIRS["square"], sp.asin(C / sp.sqrt(K1 * K2)) ** 2, sp.asin(C / sp.sqrt(K1 * K2)) * sp.exp(C),
     sp.asin(sp.sin(C)), sp.asin(C / sp.sqrt(K1 * K2)) * sp.sqrt(K1 + K2)],
    ids=str,
)  # fmt: skip
def test_other_shapes_are_declined(formula):
    assert angle_form(formula, TRIPLE) is None


@pytest.mark.parametrize(
    ("polynomial", "expected"),
    [
        (K1 * K2 - C**2, determinant),
        (C**2 - K1 * K2, -determinant),
        ((1 + K1) * (1 + K2) - C**2, 1 + K1 + K2 + determinant),
        (1 + 2 * K1 + 2 * K2 + 4 * K1 * K2 - 4 * C**2, 1 + 2 * K1 + 2 * K2 + 4 * determinant),
        (K1**2 * K2**2 - C**4, determinant * K1 * K2 + determinant * C**2),
        (K1 + C, K1 + C),
        (K1 - K2, K1 - K2),
        (1 - K1 * K2 + C**2, 1 - determinant),
        ((1 + 2 * A * K1) * (1 + 2 * B * K2) - 4 * A * B * C**2, 1 + 2 * A * K1 + 2 * B * K2 + 4 * A * B * determinant),
        (1 + R * K1 - R * K1 * K2 + R * C**2, 1 + R * K1 - R * determinant),
        (R * C**2 - A * K1 * K2, R * C**2 - A * K1 * K2),
    ],
    ids=str,
)
def test_sums_of_positive_terms(polynomial, expected):
    found = positive(sp.expand(polynomial), TRIPLE)
    assert sp.expand(found - expected) == 0
    assert sp.expand(found.subs(determinant, K1 * K2 - C**2) - polynomial) == 0


def test_the_constants_are_found():
    R = 3 / (1 + X) - sp.pi / (2 + Y) + sp.Rational(1, 2) / (X * Y - 5)
    found = simple_fractions(sp.together(sp.expand(R)), (X, Y))
    assert len(found) == 3
    assert sp.simplify(sum(c / f for c, f in found) - R) == 0
    assert all(not c.has(X, Y) for c, _ in found)


def test_what_has_no_such_form_has_none():
    for R in (X / ((1 + X) * (1 + Y)), 1 / (1 + X) ** 2, 1 / (1 + X), X + Y, 1 / (1 + X) + X):
        assert simple_fractions(R, (X, Y)) is None


def test_a_form_whose_terms_cancel_is_not_taken():
    """1/x - 1/(1 + x) loses digits at large x; the other way round at none."""
    one, other = 1 / X - 1 / (1 + X), 1 / (X * (1 + X))
    points = [{X: 1e-3}, {X: 1e6}]
    assert steadier(one, other, points) == other
    assert steadier(other, one, points) == other
