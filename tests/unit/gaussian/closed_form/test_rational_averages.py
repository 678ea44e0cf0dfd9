"""Averages of quotients of polynomials: closed forms beside quadrature of the declaration, and code for them."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import z
from symres.functions.balls import evaluate
from symres.gaussian.closed_form import average, engine
from symres.gaussian.closed_form.rational_averages import rational_average
from tests.languages import ALL, lanes, language
from tests.oracles.average import average_of

FORMULAS = ["1/(1+z^2)", "z/(1+z^2)", "z^2/(1+z^2)", "1/(1+z^2)^2", "z^3/(4+z^2)", "1/((1+z^2)*(2+3*z^2))",
            "(1 + z)^3/(1+z^2/2)^2"]  # fmt: skip
QUANTITIES = ("kernel_map", "chi_perp", "chi_parallel", "h")


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("kernel", ["0.01", "0.7", "30"])
def test_averages_are_those_of_the_declaration(text, kernel):
    formula = sp.sympify(text.replace("^", "**"))
    value = sr.expect(text)
    assert value.status is sr.Status.EXACT and not value.expr.has(sp.I)
    assert value.evalf(18, K=kernel) == pytest.approx(average_of(formula, kernel), rel=1e-17, abs=1e-19)


@pytest.mark.parametrize("text", ["1/(1+z^2)", "z/(1+z^2)", "z^3/(4+z^2)"])
def test_kernels_and_susceptibilities_are_closed(text):
    phi, theory, k = sp.sympify(text.replace("^", "**"), {"z": z}), sr.derive(text), mp.mpf("0.8")
    slope = phi.diff(z)
    averages = {"kernel_map": phi**2, "chi_perp": slope**2, "chi_parallel": z * phi * slope / sp.Rational("0.8"),
                "h": z * slope * slope.diff(z) / sp.Rational("1.6")}  # fmt: skip
    for name, integrand in averages.items():
        quantity = getattr(theory, name)
        assert quantity.status is sr.Status.EXACT
        assert quantity(K=k, C_W=1, C_b=0) == pytest.approx(average_of(integrand, k), rel=1e-15)


def test_a_width_may_be_a_parameter():
    width = sp.Symbol("a", positive=True)
    value = sr.expect(sr.Activation("lorentz", "1/(1 + a^2*z^2)", (width,)))
    expected = average_of(lambda u: 1 / (1 + (mp.mpf("0.7") * u) ** 2), "1.3")
    assert value.evalf(18, K="1.3", a="0.7") == pytest.approx(expected, rel=1e-17)


@pytest.mark.parametrize("text", ["1/(1+z+z^2)", "1/(1+z^4)"])
def test_other_poles_are_left_to_quadrature(text):
    formula = sp.sympify(text.replace("^", "**"))
    value = sr.expect(text)
    assert value.status is sr.Status.NUMERIC
    assert value.evalf(15, K="0.7") == pytest.approx(average_of(formula, "0.7"), rel=1e-14)


@pytest.mark.parametrize(
    "wrong", [lambda found: found * sp.Rational(1001, 1000), lambda found: found.subs(sp.exp(1 / (2 * sr.K)), 1)]
)
def test_a_wrong_coefficient_is_not_returned(monkeypatch, wrong):
    average._verified.cache_clear()
    monkeypatch.setattr(engine, "rational_average", lambda *arguments: wrong(rational_average(*arguments)))
    try:
        value = sr.expect("3/(2 + 2*z^2)")
        assert value.status is sr.Status.NUMERIC
        assert value.evalf(15, K=2) == pytest.approx(average_of(3 / (2 + 2 * z**2), 2), rel=1e-14)
    finally:
        average._verified.cache_clear()


def test_balls_of_small_kernels_have_digits():
    """Flint's own erfc(u) has none where u is 700000."""
    value, _ = evaluate(sr.expect("z^2/(1+z^2)").expr, {sr.K: "1e-12"}, 20)
    assert value == pytest.approx(mp.mpf("1e-12") - 3 * mp.mpf("1e-24"), rel=1e-20)


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", lanes(*ALL, slow={"numba", "c", "jax"}))
@pytest.mark.parametrize("text", ["1/(1+z^2)", "z/(1+z^2)"])
def test_generated_code_keeps_its_digits_at_all_kernels(text, target):
    theory, tool = sr.derive(text), language(target)
    kernels = np.array([1e-7, 1e-4, 0.3, 1.7, 50.0, 1e4])
    module = tool.load({name: getattr(theory, name) for name in QUANTITIES})
    for name in QUANTITIES:
        bias = {"C_b": 0} if name == "kernel_map" else {}
        exact = [float(getattr(theory, name)(K=k, C_W=1, **bias)) for k in kernels]
        found = tool.value(getattr(module, name), kernels, np.ones(6), *([np.zeros(6)] if bias else []))
        assert np.asarray(found, dtype=float) == pytest.approx(exact, rel=1e-12)
