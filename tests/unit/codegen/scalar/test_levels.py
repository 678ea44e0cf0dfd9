"""What is computed for each input and for each pair: the same function, in fewer operations."""

import random

import pytest
import sympy as sp

import symres as sr
from symres.codegen.scalar.economy import economical
from symres.codegen.scalar.levels import levelled
from symres.codegen.stable.angles import angle_form
from symres.codegen.stable.half_angles import half_angles
from symres.codegen.stable.primitives import AngularSum, RightHalfPlaneAngle, UpperHalfPlaneAngle, determinant
from symres.core.symbols import C_W, K1, K2, C, C_b

EXACT = {
    UpperHalfPlaneAngle: lambda n, s, r: sp.atan2(s, -n),
    RightHalfPlaneAngle: lambda n, s, r: sp.atan2(n, s),
    AngularSum: lambda rest, apart, m, n, s, r: rest + m * n * sp.atan2(s, -n),
}


def value(expr, point):
    for head, exact in EXACT.items():
        expr = expr.replace(head, exact)
    k1, k2, c = (point[s] for s in (K1, K2, C))
    return sp.N(expr.subs({**point, determinant: k1 * k2 - c**2}), 30)


def points():
    source = random.Random(7)
    for _ in range(5):
        k1, k2 = (sp.Rational(source.randint(1, 400), 100) for _ in range(2))
        yield {K1: k1, K2: k2, C: sp.Rational(source.randint(-9, 9), 10) * sp.Min(k1, k2)}


@pytest.mark.parametrize("name", ["relu", "gelu", "erf", "leaky_relu", "abs"])
def test_half_angles_are_the_closed_form(name):
    formula = sr.expect2(name, name).expr
    printed = half_angles(angle_form(formula, (K1, C, K2)))
    fixed = {s: sp.Rational(1, 3) for s in printed.free_symbols - {K1, K2, C, determinant}}
    for point in points():
        assert abs(value(printed.subs(fixed), point) - sp.N(formula.subs(fixed).subs(point), 30)) < 1e-25


def test_apart_is_rest_without_the_root():
    printed = half_angles(angle_form(sr.expect2("gelu", "gelu").expr, (K1, C, K2)))
    (found,) = printed.atoms(AngularSum)
    rest, apart, m, _, s, _ = found.args
    for point in points():
        assert abs(value(rest - m * s - apart, point)) < 1e-25


def test_what_depends_on_one_input_is_taken_out():
    f = C_W * sp.exp(-K1) * C / sp.sqrt(1 + K1) + sp.log(1 + K2) * (K2 + sp.sqrt(K2)) + C_b
    levels = levelled([("return", f)])
    assert all(e.free_symbols & {K1, K2, C} == {K1} for _, e in levels.first)
    assert all(e.free_symbols & {K1, K2, C} == {K2} for _, e in levels.second)
    ((_, pair),) = levels.pair
    assert not pair.has(sp.exp, sp.log) and not pair.atoms(sp.Pow)
    names = {s: e for s, e in (*levels.first, *levels.second)}
    assert sp.expand(pair.xreplace(names) - f) == 0


def test_one_division_where_there_were_several():
    root = sp.sqrt(1 + K1 + K2 + determinant)
    found = economical([("one", C / root), ("two", C_W / root**3)])
    assert [str(expr) for name, expr in found if name == "inverse0"] == [str(1 / root)]
    assert sum(len(expr.atoms(sp.Pow) & {1 / root}) for _, expr in found) == 1


def test_common_factors_stand_in_front():
    polynomial = C**2 + K1**2 * K2 + K1 * K2**2 + K1 * K2 * determinant + K1 * K2
    ((_, found),) = economical([("return", polynomial)])
    assert sp.expand(found - polynomial) == 0
    assert sp.count_ops(found) < sp.count_ops(polynomial)
