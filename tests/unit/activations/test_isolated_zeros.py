"""Zeros without a closed form: all of them, to any precision, and averages of formulas that switch there."""

import pickle

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations import zeros as zeros_of_formulas
from symres.activations.isolated_zeros import isolated_zeros
from symres.activations.piecewise import split
from symres.core.errors import DeclarationError
from symres.core.symbols import z
from tests.languages import ALL, lanes, language
from tests.oracles.average import average_of

PADE = "(1 + z + z^2 + z^3)/(1 + abs(z + z^2 + z^4))"
# a formula, where it switches by mpmath from a start, and the same formula for mpmath
FORMULAS = {
    "clip(gelu(z), -10, 10)": ([10], lambda u: u * mp.ncdf(u) - 10, lambda u: max(-10, min(10, u * mp.ncdf(u)))),
    "max(z, tanh(z))": ([0], lambda u: u, lambda u: max(u, mp.tanh(u))),
    "max(z, exp(z) - 1)": ([], None, mp.expm1),
    "max(z, exp(z - 2))": ([0.2, 3], lambda u: u - mp.exp(u - 2), lambda u: max(u, mp.exp(u - 2))),
    "max(tanh(z), z - 1)": ([2], lambda u: mp.tanh(u) - u + 1, lambda u: max(mp.tanh(u), u - 1)),
    "abs(sin(z) - z/3)": ([-2, 0, 2], lambda u: mp.sin(u) - u / 3, lambda u: abs(mp.sin(u) - u / 3)),
    "max(relu(z), tanh(z))": ([0], lambda u: u, lambda u: max(u, mp.mpf(0))),
    PADE: (
        [-0.7, 0],
        lambda u: u + u**2 + u**4,
        lambda u: (1 + u + u**2 + u**3) / (1 + abs(u + u**2 + u**4)),
    ),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_switches_at_every_zero(text):
    starts, control, _ = FORMULAS[text]
    found = sr.activation(text).breakpoints
    with mp.workdps(60):
        expected = [mp.findroot(control, start) for start in starts]
        assert len(found) == len(expected)
        for place, exact in zip(found, expected, strict=True):
            assert abs(mp.mpf(sp.N(place, 60)) - exact) < mp.mpf(10) ** -55


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("kernel", ["0.3", "40"])
def test_averages_of_a_formula_and_of_its_slope_are_those_of_the_declaration(text, kernel):
    _, _, function = FORMULAS[text]
    phi = sr.activation(text)
    places = [str(sp.N(b, 40)) for b in phi.breakpoints]
    mean, square = sr.expect(phi), sr.mlp(phi).derive().kernel_map
    assert mean.evalf(15, K=kernel) == pytest.approx(average_of(function, kernel, places), rel=1e-13)
    exact = average_of(lambda u: function(u) ** 2, kernel, places)
    value = square.evalf(15, K=kernel, C_W=1, C_b=0)
    assert value == pytest.approx(exact, rel=1e-13)
    assert square.status in (sr.Status.EXACT, sr.Status.NUMERIC)
    steep = average_of(lambda u: mp.diff(function, u, h=mp.mpf(10) ** -12) ** 2, kernel, places, digits=12)
    assert sr.derive(phi).chi_perp.evalf(K=kernel, C_W=1) == pytest.approx(steep, rel=1e-10)


def test_a_switch_at_another_place_is_refuted(monkeypatch):
    """The oracle finds the switches of the declaration by itself."""
    text = "max(tanh(z), z - 1) + 0*z"
    assert {row.outcome.value for row in _quadrature(text)} == {"PASSED"}
    moved = lambda part, ends: [root + sp.Rational(1, 50) for root in isolated_zeros(part, ends)]  # noqa: E731
    monkeypatch.setattr(zeros_of_formulas, "isolated_zeros", moved)
    split.cache_clear()
    try:
        assert "REFUTED" in {row.outcome.value for row in _quadrature("max(tanh(z), z - 1)")}
    finally:
        split.cache_clear()


def _quadrature(text):
    return sr.check(sr.derive(text), against=("quadrature",), quantities=["kernel_map"]).verdicts


def test_a_zero_is_a_number_without_parts():
    (place,) = sr.activation("max(tanh(z), z - 1)").breakpoints
    assert pickle.loads(pickle.dumps(place)) == place
    assert not place.args and not place.free_symbols and (-place).is_negative
    assert str(place) == "1.96117975137154"
    mirrored = split(sp.Max(-sp.tanh(z), -z - 1)).breaks
    assert mirrored == (-place,)


@pytest.mark.parametrize("text", ["clip(z^3 + z, -11, 11)", "max(z^3 + z - 11, -z^3 - z - 11)"])
def test_symmetric_switches_are_recognised(text):
    assert sr.activation(text).parity in ("odd", "even")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("relu(cos(z))", "its zeros are infinitely many"),
        ("max(z, sqrt(2)*exp(z/sqrt(2) - 1))", "it touches 0 without crossing it"),  # at z = sqrt(2)
    ],
)
def test_zeros_that_are_not_isolated_are_refused(text, reason):
    with pytest.raises(DeclarationError, match=reason):
        sr.activation(text)


def test_zeros_that_depend_on_a_parameter_ask_for_its_number():
    phi = sp.Symbol("a", positive=True)
    with pytest.raises(DeclarationError, match="give a numbers"):
        sr.Activation("switched", sp.Max(sp.tanh(phi * z), z - 1), (phi,))


@pytest.mark.parametrize("target", lanes(*ALL, slow={"numba", "c", "jax"}))
def test_generated_code_switches_at_the_zero(target):
    function = FORMULAS["max(tanh(z), z - 1)"][2]
    theory, tool = sr.derive("max(tanh(z), z - 1)"), language(target)
    module = tool.load(theory.kernel_map)
    exact = average_of(lambda u: function(u) ** 2, "1.5", ["1.96117975137154147059638"])
    assert float(tool.value(module.kernel_map, 1.5, 1.0, 0.0)) == pytest.approx(exact, rel=1e-9)
