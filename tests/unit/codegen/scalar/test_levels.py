"""What is computed for each input and for each pair: the same function, in fewer operations."""

import sympy as sp

from symres.codegen.scalar.levels import economical, levelled
from symres.codegen.stable.primitives import determinant
from symres.core.symbols import C_W, K1, K2, C, C_b


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
