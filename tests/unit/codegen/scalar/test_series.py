"""Which functions are expanded, and what stands for averages where pairs are computed."""

import pytest
import sympy as sp

import symres as sr
from symres.codegen.averages.average_code import averages
from symres.codegen.emission.emitter import NoSpelling
from symres.codegen.planning.plan import Component
from symres.codegen.scalar.functions import component_texts
from symres.codegen.scalar.series import is_series, with_sums
from symres.core.symbols import C_W, K1, K2, C
from tests.shared import derived

beta = sp.Symbol("beta", real=True)


def component(formula, *parameters):
    return Component("_average_1", (K1, K2, C, *parameters), formula, None)


@pytest.fixture(scope="module")
def tanh():
    return component(sr.expect2("tanh", "tanh").definition)


def test_a_sum_stands_for_an_average(tanh):
    call = tanh.call(K1, K2, C)
    ((_, found),), series = with_sums("f", [("return", C_W * call + C)], [tanh], [C_W])
    (symbol,) = series.symbols
    assert found == C_W * symbol + C
    assert [(s.first, s.second) for s in series.sums] == [(0, 0)]
    assert len(series.factors) == 1


def test_equal_averages_are_summed_once(tanh):
    calls = tanh.call(K1, K2, C), tanh.call(4 * K1, 4 * K2, 4 * C)
    found, series = with_sums("f", [("one", calls[0]), ("two", calls[0] + calls[1])], [tanh], [])
    assert len(series.sums) == len(series.factors) == 2
    assert found[1][1] - found[0][1] == series.symbols[1] or found[1][1] - found[0][1] == series.symbols[0]
    assert any("4.0*K" in line for factor in series.factors for line in factor.kernel)


def test_slopes_are_functions_of_their_own():
    quantity = derived(sr.mlp("tanh")).ntk_map
    parts = [component(node) for node in averages(quantity.definition)]
    assert all(map(is_series, parts))
    assert component_texts(parts) == {}


def test_nothing_is_found_where_nothing_is_called(tanh):
    assert with_sums("f", [("return", C)], [tanh], []) == ([("return", C)], None)


def test_other_places_are_refused(tanh):
    with pytest.raises(NoSpelling, match="not taken at the kernels"):
        with_sums("f", [("return", tanh.call(K1 + K2, K2, C))], [tanh], [])
    with pytest.raises(NoSpelling, match="not taken at the kernels"):
        with_sums("f", [("return", tanh.call(beta * K1, beta * K2, beta * C))], [tanh], [])


def test_kinks_are_refused():
    with pytest.raises(NoSpelling, match="kinks"):
        is_series(component(sr.expect2("elu", "softplus").definition))
