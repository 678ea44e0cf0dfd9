"""Averages of pairs are summed once, at the kernels of the layer."""

import pytest
import sympy as sp

import symres as sr
from symres.codegen.emission.emitter import NoSpelling
from symres.codegen.planning.plan import Component
from symres.codegen.scalar.series import with_sums
from symres.core.symbols import K1, K2, C

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
