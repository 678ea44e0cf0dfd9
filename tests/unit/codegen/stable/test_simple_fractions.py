"""Rational functions as sums of constants over factors."""

import sympy as sp

from symres.codegen.stable.simple_fractions import simple_fractions, steadier

x, y, a = sp.symbols("x y a", positive=True)


def test_the_constants_are_found():
    R = 3 / (1 + x) - sp.pi / (2 + y) + sp.Rational(1, 2) / (x * y - 5)
    found = simple_fractions(sp.together(sp.expand(R)), (x, y))
    assert len(found) == 3
    assert sp.simplify(sum(c / f for c, f in found) - R) == 0
    assert all(not c.has(x, y) for c, _ in found)


def test_what_has_no_such_form_has_none():
    for R in (x / ((1 + x) * (1 + y)), 1 / (1 + x) ** 2, 1 / (1 + x), x + y, 1 / (1 + x) + x):
        assert simple_fractions(R, (x, y)) is None


def test_a_form_whose_terms_cancel_is_not_taken():
    """1/x - 1/(1 + x) loses digits at large x; the other way round at none."""
    one, other = 1 / x - 1 / (1 + x), 1 / (x * (1 + x))
    points = [{x: 1e-3}, {x: 1e6}]
    assert steadier(one, other, points) == other
    assert steadier(other, one, points) == other
