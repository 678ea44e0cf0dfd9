"""Formulas as text: what is printed means the formula, and lines break without losing anything."""

import re

import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.activations.formula_parser import parse
from symres.core.symbols import C_W, K1, K2, C, C_b, K, gamma, z
from symres.layers.nodes import Dense
from symres.report.text.formula_text import Maths, Typed, wrap
from symres.report.text.sheet import Sheet
from tests.command_line import page
from tests.oracles.formulas import HARD
from tests.shared import derived

FORMULAS = [
    (K / 4 + K * sp.asin(K / (1 + K)) / (2 * sp.pi), "K·(π + 2asin(K/(1 + K)))/(4π)"),
    (C_W * K**2 / (sp.pi * (1 + K) * sp.sqrt(1 + 2 * K)), "C_W·K²/(π·(1 + K)·√(1 + 2K))"),
    (sp.Rational(3, 2) + sp.sqrt(17) / 2, "(3 + √17)/2"),
    (z * (1 + sp.erf(z / sp.sqrt(2))) / 2, "z·(1 + erf(z/√2))/2"),
    (C_b + gamma**2 * K, "C_b + γ²·K"),
    (sp.sqrt(K1 * K2 - C**2), "√(K₁·K₂ - C²)"),
    (C / (sp.sqrt(K1) * sp.sqrt(K2)), "C/√(K₁·K₂)"),
    (sp.exp(-(z**2) / 2), "exp(-z²/2)"),
    (-z * sp.exp(-(z**2)), "-z·exp(-z²)"),
    (K - 1, "K - 1"),
    (-C_W * (K**3 - 4 - 12 * K), "C_W·(4 + 12K - K³)"),
    (-C_W * (K + 1), "-C_W·(1 + K)"),
    (-C_W / (C - K) / 2, "C_W/(2(K - C))"),
    (-C_W / (4 * (C - K) ** 2), "-C_W/(4(K - C)²)"),
    ((3 - sp.pi) * C_W / (8 * sp.pi + 3 - 16 * sp.pi**2), "C_W·(π - 3)/(16π² - 3 - 8π)"),
    (sp.Rational(10507, 10000) * z, "1.0507·z"),
    (sp.Rational(1, 3) * z**2, "z²/3"),
    (1 / (1 + K) ** 2, "1/(1 + K)²"),
    ((1 + 2 * K) ** sp.Rational(-3, 2), "1/(1 + 2K)^(3/2)"),
    (2 * 3 ** sp.Rational(1, 3) * K, "2·3^(1/3)·K"),
    (sp.Max(0, z), "max(0, z)"),
    (sp.Piecewise((0, z < 0), (z, True)), "where(z < 0, 0, z)"),
    (sp.Abs(z), "|z|"),
]


@pytest.mark.parametrize(("expr", "text"), FORMULAS, ids=[text for _, text in FORMULAS])
def test_formulas_are_written_as_one_writes_them(expr, text):
    assert Maths(unicode=True)(expr) == text


VALUES = {
    K: sp.Rational(7, 5), K1: sp.Rational(3, 2), K2: sp.Rational(5, 4), C: sp.Rational(1, 3), C_W: sp.Rational(6, 5),
    C_b: sp.Rational(1, 7), gamma: sp.Rational(2, 3), z: sp.Rational(-3, 4),
}  # fmt: skip


@pytest.mark.parametrize("expr", [e for e, _ in FORMULAS if not e.has(sp.Piecewise, sp.Abs)] + HARD, ids=str)
def test_the_text_means_the_formula(expr):
    text = Maths(unicode=False)(expr)
    names = {str(s): s for s in VALUES} | {"max": sp.Max, "min": sp.Min}
    read = sp.sympify(text.replace("^", "**"), locals=names, rational=True)
    found, wanted = (sp.N(e.subs(VALUES), 30) for e in (read, expr))
    assert abs(found - wanted) < 1e-25


TYPED = [
    "where(z > 0, z, a*(exp(z) - 1))",
    "where(abs(z) < 1, z^3, where(z > 2, exp(1)*z, where(z > 1, 2^(1/3), -z)))",
    "where(z < -1, 0, where(z > 1, 0, z))",  # sympy joins the conditions
    "-1.6732632423543772848170429916717*z/(1 + |z|)^(3/2) + z^2*max(min(z, 1), -2, -a)",
    "sqrt(2/pi)*step(z - 1/3) - erfc(z)/(2*pi) + sign(z)*z^(2/3)^2*Phi(z)*asinh(a*z)^2",
]


@pytest.mark.parametrize("text", TYPED)
def test_what_is_shown_for_typing_is_read_as_the_same_function(text):
    a = sp.Symbol("a", positive=True)
    formula = parse(text, parameters={"a": a})
    again = parse(Typed()(formula), parameters={"a": a})
    for k in range(-12, 13):
        values = {z: sp.Rational(k, 4) + sp.Rational(1, 100), a: sp.Rational(5, 7)}
        assert abs(sp.N(again.subs(values) - formula.subs(values), 20)) < 1e-18


def test_joined_conditions_are_written_with_comparisons():
    both = sp.Piecewise((z, (z > -1) & (z < 1)), (0, True))
    assert Typed()(both) == "where(z < 1, where(z > -1, z, 0), 0)"
    either = sp.Piecewise((0, (z > 1) | (z < -1)), (z, True))
    assert Typed()(either) == "where(z < -1, 0, where(z > 1, 0, z))"
    assert Maths()(sp.Piecewise((z**2, z >= 1), (0, z < 1))) == "where(z ≥ 1, z², 0)"


def test_averages_and_activations_are_written_with_phi():
    phi = Activation("wavy", sp.sin(z))
    maths = Maths(unicode=True, phi=phi.formula)
    assert maths(phi(z) ** 2) == "φ(z)²"
    assert maths(phi(z).diff(z)) == "φ'(z)"
    assert maths(Dense(phi(z), C_b=0)) == "Dense(φ(z), C_b=0)"
    assert Maths(unicode=False, phi=phi.formula)(gamma * phi(z)) == "gamma*phi(z)"
    assert Maths(unicode=True)(phi(z)) == "wavy(z)"


LONG = Maths()(sum(sp.asin(K / (k + K)) ** k / (sp.sqrt(1 + k * K) * (1 + K / k)) for k in range(1, 9)) * C_W + C_b)


@pytest.mark.parametrize("width", [12, 20, 33, 50, 72, 2000])
@pytest.mark.parametrize("text", [LONG, "(" * 30 + "K" + ")" * 30, "x" * 200, "a/b/c·d + " + LONG], ids=lambda t: t[:9])
def test_breaking_keeps_the_text_and_the_width(text, width):
    lines = wrap(text, width)
    assert max(map(len, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize("width", range(12, 40))
def test_a_power_is_not_broken(width):
    text = "*".join(f"(K + {k})**({k}/2)" for k in range(1, 9)) + "**(" + "x" * 90 + ")"
    lines = wrap(text, width)
    assert not re.search(r"\*\n *\*", "\n".join(lines))
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_lines_break_at_the_operator_that_binds_least():
    assert wrap("a·(b + c) + d·(e + f) + g", 12) == ["a·(b + c)", "+ d·(e + f)", "+ g"]


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("(1 + exp(-z))**(-2) is not a polynomial", "1/(1 + exp(-z))² is not a polynomial"),
        ("z**(2/3) is not a polynomial; sqrt(2)*exp(z)/4 - sqrt(2)/4 is not a sine; nor is z*atan(z)", (
            "z^(2/3) is not a polynomial; (exp(z) - 1)/(2√2) is not a sine; nor is z*atan(z)")),
        ("z*atan(z) is not a polynomial", "z·atan(z) is not a polynomial"),
        ("K* > 0 is critical at C_W = 1/erfc(sqrt(K)), C_b = 2*K with K = K*", (
            "K* > 0 is critical at C_W = 1/erfc(√K), C_b = 2K with K = K*")),
        ("chi_perp is infinite, no C_W > 0", "χ⊥ is infinite, no C_W > 0"),
        ("C_W = __import__('os') is not a formula", "C_W = __import__('os') is not a formula"),
        ("half of it is not a formula", "half of it is not a formula"),
    ],
)  # fmt: skip
def test_formulas_in_sentences_are_written_as_formulas(sentence, shown):
    assert Sheet(80, Maths()).words(sentence) == shown


@pytest.mark.exhaustive
def test_the_gamma_function_is_not_the_skip(capsys):
    shown = page(capsys, "derive", "z/(1+sqrt(abs(z)))", "--layer", "residual")
    assert "gamma(3/4)" not in shown
    assert "Gamma(3/4)" in shown or "Γ(3/4)" in shown


@pytest.mark.exhaustive
def test_rounded_amplitudes_have_dots(capsys):
    """The exact one is 95367431640625 pi^5/(120932352 Gamma(3/5)^10)."""
    shown = page(capsys, "derive", "z/(1+abs(z)^(1/5))")
    assert "4498826.8..." in shown


RELU = sr.residual("relu")
SECTIONS = [  # of a layer, what it says and what it does not
    (RELU, ["r = γ, γ², γ³, ...", "(3 + log(2))", "6.49631", "3.19 times as large"], []),
    # V itself falls where kernels flow to 0
    (RELU, ["V/K^2 grows by ν per layer in deep networks"], []),
    (RELU, ["after about 4/(1 - γ^2) layers it grows by more than 90 % of ν"], []),
    (RELU, ["P' = χ∥²·P + N + 2·Σ_k A_k·M(K_k, K, C_k)", "G' = χ∥·γ²·G + R", "V = P + 2G"], []),
    (RELU, ["M = C_W²·(⟨φ(z₁)²·φ(z₂)²⟩ - ⟨φ(z)²⟩_K₁·⟨φ(z)²⟩_K₂)", "1/16 at γ = 0.888, 1/4 at γ = 0.976"], []),
    (RELU.subs(gamma="4/5"), ["G' = χ∥·(16/25)·G + R", "the complete ν is 2.76 times as large"], ["at γ = 0 "]),
    # kernels that shrink; neurons that remember nothing; noise that is quadratic in a neuron
    *((layer, [], ["underestimated"]) for layer in (sr.residual("tanh"), sr.mlp("relu"), sr.residual("linear"))),
    pytest.param(sr.pre_ln("relu"), ["V = P"], ["ν"], marks=pytest.mark.exhaustive),  # it has no critical point
]


@pytest.mark.parametrize(("layer", "said", "unsaid"), SECTIONS)
def test_the_recursion_its_limit_and_what_stands_in_it(layer, said, unsaid):
    shown = " ".join(derived(layer).page().partition("Finite width")[2].split())
    assert [part for part in said if part not in shown] == []
    assert [part for part in unsaid if part in shown] == []


def test_vertices_of_few_layers_fall_short_of_their_final_growth():
    """At gamma = 0.9 the page has 4 layers for 128 neurons; the 21st adds nine tenths of nu, the first a third."""
    theory = derived(RELU)
    vertices = theory.vertex(21, 1, C_W=0.38, C_b=0, gamma=0.9)
    growth, last = float(theory.nu.evalf(gamma=0.9)), float(vertices[21] - vertices[20])
    assert float(vertices[1] - vertices[0]) / growth < 0.4
    assert 0.9 < last / growth < 0.95


def test_depths_are_told_for_the_width_of_the_advice(capsys):
    """The optimal aspect ratio of tanh is 6/23, so 300 neurons go with 78 layers."""
    lines = page(capsys, "derive", "tanh", "--width", "300").splitlines()
    (place,) = (number for number, line in enumerate(lines) if "n = 300" in line)
    assert lines[place].split("r*")[1].split() == ["n", "=", "75", "n", "=", "300", "n", "=", "1200"]
    assert lines[place + 1].split()[-3:] == [str(round(width * 6 / 23)) for width in (75, 300, 1200)]
