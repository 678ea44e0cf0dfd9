"""Averages in double precision against balls."""

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core import symbols
from symres.core.symbols import K1, K2, C, K, x1, x2
from symres.functions.balls import evaluate
from symres.functions.floats import float_averages
from symres.functions.floats.float_averages import CompiledExpressions, FloatFunction, coefficients, means
from symres.functions.floats.float_compiler import CompiledFormula
from symres.gaussian.calculus.expectation import Expectation
from symres.numerics.gauss_rules import rule


def compiled(expression, values):
    return float(CompiledExpressions([expression])(values)[0])


@pytest.mark.parametrize(("f", "g"), [("relu", "relu"), ("tanh", "gelu"), ("hard_tanh", "relu"), ("sign", "tanh")])
def test_two_variables(f, g):
    average = Expectation(sr.activation(f)(x1) * sr.activation(g)(x2), K1, C, K2)
    exact = sr.expect2(f, g).evalf(20, K1="1.3", K2="0.6", C="0.5")
    assert compiled(average, {K1: 1.3, K2: 0.6, C: 0.5}) == pytest.approx(float(exact), rel=1e-13)


def test_an_average_in_the_law_of_another():
    phi = sr.activation("tanh")
    inner = Expectation(phi(x1) ** 2, K)
    outer = Expectation(phi(x1) ** 4, 1 + inner)
    value = compiled(inner, {K: 0.8})
    assert compiled(outer + inner, {K: 0.8}) == pytest.approx(
        compiled(Expectation(phi(x1) ** 4, K), {K: 1 + value}) + value, rel=1e-14
    )


def test_coefficients_beyond_the_waves_of_the_panels():
    """sum_k a_k^2 = <f^2> for a function with all frequencies."""
    found = coefficients(FloatFunction(sr.activation("hard_tanh").pieces), 30.0, 2048, {})
    assert (found**2).sum() == pytest.approx(
        float(sr.expect("hard_tanh(z)^2").evalf(K=30)), rel=5e-5
    )  # its kinks have a long tail
    _, weights = rule(64)
    assert weights.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("size", ["1/10", "1e6", "1e12"])
@pytest.mark.parametrize("formula", ["erf(z)^2", "tanh(1000*z)^2", "exp(-z^2)", "erf(1000*(z - 73/10))"])
def test_functions_that_are_steep_on_the_scale_of_the_law(formula, size):
    """Panels are as narrow as the function: its width may be a billionth of a standard deviation, at 0 or elsewhere."""
    exact = sr.expect(formula)
    average = exact.definition.xreplace({symbols.K: K})
    assert compiled(average, {K: float(size) if "e" in size else 0.1}) == pytest.approx(
        float(exact.evalf(20, K=size)), rel=3e-14
    )


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9, 1e-12])
def test_nearly_equal_variables(apart):
    """The average given the first variable changes within the root of what they do not share."""
    for name, size in (("relu", 1.0), ("erf", 1e5)):
        average = Expectation(sr.activation(name)(x1) * sr.activation(name)(x2), K1, C, K2)
        place = {K1: size, K2: size, C: size * (1 - apart)}
        exact = sr.expect2(name, name).evalf(20, **{str(s): value for s, value in place.items()})
        assert compiled(average, place) == pytest.approx(float(exact), rel=3e-14)


def test_equal_variables():
    """The average of the product of both functions of one; a jump has its own mean."""
    one, other = (FloatFunction(sr.activation(name).pieces) for name in ("tanh", "step"))
    expected = means(FloatFunction(sr.activation("tanh(z)*step(z)").pieces), np.array([1.7]), {})[0]
    assert float_averages.average((one, other), (1.7, 1.7, 1.7), {}) == pytest.approx(expected, rel=1e-13)


def test_overflow_of_a_part_is_none_of_the_whole():
    z, one = sr.z, sp.Integer(1)
    for formula, expected in ((sp.log(one + sp.exp(z)), 800), (sp.exp(z) / (1 + sp.exp(z)), 1)):
        found = FloatFunction(sr.Activation("f", formula).pieces)(np.array([0.5, 800.0]), {})
        assert found[1] == pytest.approx(expected, rel=1e-15)
        assert found[0] == pytest.approx(float(formula.subs(z, 0.5)), rel=1e-15)


def test_an_average_is_taken_once_for_each_variance_and_parameter(monkeypatch):
    taken = []
    monkeypatch.setattr(float_averages, "means", lambda *arguments: taken.append(arguments) or means(*arguments))
    elu = sr.activation("elu")
    (alpha,) = elu.parameters
    average = CompiledExpressions([Expectation(elu(x1) ** 2, K) + K])
    asked = [(1.0, 0.5), (2.0, 0.5), (1.0, 0.25), (1.0, 0.5), (2.0, 0.5)]
    found = [float(average({K: size, alpha: value})[0]) for size, value in asked]
    assert len(taken) == 3
    for (size, value), number in zip(asked, found, strict=True):
        exact = sr.expect(elu(sr.z) ** 2).evalf(20, K=size, alpha=value)
        assert number == pytest.approx(float(exact) + size, rel=2e-14)


@pytest.mark.parametrize(
    "formula", ["relu", "tanh", "gelu", "silu", "softplus", "hard_tanh", "erf(1000*(z - 73/10))", "exp(-z^2)"]
)
def test_many_variances_at_once(formula):
    """Over 21 decades, in any order, one of them twice; breakpoints and steep places are met at all of them."""
    square = sr.expect(f"({formula})^2" if "(" in formula else f"{formula}(z)^2")
    average = square.definition.xreplace({symbols.K: K})
    sizes = np.array([0.1, 1e12, 1e-9, 40.0, 0.1])
    found = CompiledFormula([K], average)(sizes)
    expected = [float(square.evalf(20, K=sp.Rational(size))) for size in sizes.tolist()]
    assert found == pytest.approx(expected, rel=3e-14)


def test_an_average_that_overflows_is_lost_alone():
    average = Expectation(sr.activation("exp(z)")(x1), K) + sp.Rational(1, 2)
    found = CompiledFormula([K], average)(np.array([[1.0], [1e9]]))
    assert found[0, 0] == pytest.approx(np.exp(0.5) + 0.5, rel=1e-14)
    assert np.isnan(found[1, 0])


def test_parameters_may_be_arrays():
    elu = sr.activation("elu")
    (alpha,) = elu.parameters
    found = CompiledFormula([K, alpha], Expectation(elu(x1) ** 2, K))(2.0, np.array([0.5, 0.25]))
    for value, number in zip((0.5, 0.25), found, strict=True):
        assert number == pytest.approx(float(sr.expect(elu(sr.z) ** 2).evalf(20, K=2, alpha=value)), rel=2e-14)


@pytest.mark.parametrize("size", [1.0, 25.0, 49.0, 81.0])
def test_averages_that_come_from_far_out(size):
    """``<exp(2z)> = exp(2K)`` comes from 2*sqrt(K) standard deviations."""
    grown = sr.activation("exp(z)")
    average = Expectation(grown(x1) ** 2, K)
    assert compiled(average, {K: size}) == pytest.approx(np.exp(2 * size), rel=1e-13)
    assert CompiledFormula([K], average)(np.array([0.5, size]))[1] == pytest.approx(np.exp(2 * size), rel=1e-13)
    both = Expectation(grown(x1) * grown(x2), K1, C, K2)
    assert compiled(both, {K1: size, K2: size, C: size / 2}) == pytest.approx(np.exp(1.5 * size), rel=1e-12)


def test_functions_that_begin_far_out():
    shifted = Expectation(sr.activation("relu(z - 20)")(x1), K)
    expected = float(sr.expect("relu(z - 20)").evalf(20, K=1))
    assert 0 < expected < 1e-80
    assert compiled(shifted, {K: 1.0}) == pytest.approx(expected, rel=1e-13)
    assert compiled(shifted, {K: 1e-4}) == 0


@pytest.mark.parametrize("power", [0, 3])
def test_quotients_of_exponentials_that_vanish_together(power):
    """``2/(1 - exp(-2K))``, as on the critical line of cos: its own form at small K divides by an exponential again."""
    formula = 2 * sp.exp(-power * K) / (1 - sp.exp(-2 * K))
    kernels = np.array([1e-12, 0.5, 300.0])
    expected = [float(evaluate(formula, {K: k}, 17)[0]) for k in kernels]
    assert CompiledFormula([K], formula)(kernels) == pytest.approx(expected, rel=1e-14, abs=0)
