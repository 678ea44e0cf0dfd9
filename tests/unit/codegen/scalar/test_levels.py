"""What is computed for each input and for each pair, in fewer operations; averages of pairs that are summed once."""

import pytest
import sympy as sp

import symres as sr
from symres.codegen.emission.emitter import NoSpelling
from symres.codegen.planning.plan import Component
from symres.codegen.scalar.levels import economical, levelled
from symres.codegen.scalar.series import with_sums
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


# ---- series ------------------------------------------------------------------------------------------------------
beta = sp.Symbol("beta", real=True)


def component(formula, *parameters):
    return Component("_average_1", (K1, K2, C, *parameters), formula, None)


@pytest.fixture(scope="module")
def tanh():
    return component(sr.expect2("tanh", "tanh").definition)


def test_equal_averages_are_summed_once(tanh):
    calls = tanh.call(K1, K2, C), tanh.call(4 * K1, 4 * K2, 4 * C)
    found, series = with_sums("f", [("one", calls[0]), ("two", calls[0] + calls[1])], [tanh], [])
    assert len(series.sums) == len(series.factors) == 2
    assert found[1][1] - found[0][1] == series.symbols[1] or found[1][1] - found[0][1] == series.symbols[0]
    assert any("4.0*K" in line for factor in series.factors for line in factor.kernel)


def test_other_places_are_refused(tanh):
    with pytest.raises(NoSpelling, match="not taken at the kernels"):
        with_sums("f", [("return", tanh.call(K1 + K2, K2, C))], [tanh], [])
    with pytest.raises(NoSpelling, match="not taken at the kernels"):
        with_sums("f", [("return", tanh.call(beta * K1, beta * K2, beta * C))], [tanh], [])
