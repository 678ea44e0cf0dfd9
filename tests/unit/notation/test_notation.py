"""Formulas in LaTeX: they mean what they should, and say what they are of."""

import re

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C_W, K1, K2, C, C_b, K, gamma, z
from symres.notation import Notation, latex, named, shortened
from symres.notation.decimals import denested
from symres.notation.long_numbers import short_factors
from symres.report.latex.displays import broken
from symres.report.text.formula_text import Maths
from tests.oracles.closed_forms import KERNELS
from tests.oracles.formulas import HARD
from tests.oracles.latex_value import value

POINT = {
    K: sp.Rational(7, 5), K1: sp.Rational(3, 2), K2: sp.Rational(5, 4), C: sp.Rational(1, 3), C_W: sp.Rational(6, 5),
    C_b: sp.Rational(1, 7), gamma: sp.Rational(2, 3), z: sp.Rational(-3, 4),
}  # fmt: skip
LETTERS = {"K": K, "K_1": K1, "K_2": K2, "C": C, "C_W": C_W, "C_b": C_b, r"\gamma": gamma, "z": z}
root17 = sp.sqrt(17)
FORMULAS = [
    K / 4 + K * sp.asin(K / (1 + K)) / (2 * sp.pi),
    C_W * K**2 / (sp.pi * (1 + K) * sp.sqrt(1 + 2 * K)),
    (3 + root17) / 2 * K,
    -(3 - root17) / 6,
    -sp.asin((1 - root17) / 4) * K + sp.asin((1 - root17) / 4),
    z * (1 + sp.erf(z / sp.sqrt(2))) / 2,
    1 / (sp.Rational(1, 4) + K / 6) ** 2,
    (sp.Rational(3, 4) - sp.sqrt(5) / 6) ** 2 * K,
    (sp.Rational(3, 4) - sp.sqrt(5) / 6) * (1 + K),
    2 * 3 ** sp.Rational(1, 3) * K,
    sp.Rational(2, 3) * sp.Rational(5, 7) ** K,
    sp.exp(-(z**2) / 2) * sp.exp(K / (2 * C_W**2)),
    sp.tanh((1 + K) / (2 + K)) ** 2 * sp.sin(K) ** 3,
    (K + 1) * (sp.sin(K) + 1) ** 2 / (K * (K - 2)),
    2 * sp.Rational(1, 3) ** sp.Rational(5, 2) * K,
    sp.Abs(z) * sp.Max(0, K - 1),
    *HARD,
    *KERNELS.values(),
    *(C_W * f.diff(K) + gamma**2 for f in KERNELS.values() if not f.has(sp.Symbol("alpha", positive=True))),
]


@pytest.mark.parametrize("formula", [f for f in FORMULAS if f.free_symbols <= POINT.keys()], ids=lambda f: str(f)[:50])
@pytest.mark.parametrize("room", [1000.0, 40.0, 12.0])
def test_what_is_printed_means_the_formula(formula, room):
    with mp.workdps(30):
        letters = {name: mp.mpf(POINT[s].p) / POINT[s].q for name, s in LETTERS.items()}
        lines = [latex(formula)] if room == 1000.0 else broken(formula, room)
        found = value(" ".join(lines), letters)
        wanted = mp.mpmathify(sp.N(formula.subs(POINT), 30))
        assert abs(found - wanted) < mp.mpf(10) ** -25 * max(1, abs(wanted)), lines


def test_the_oracle_sees_a_missing_bracket():
    letters = {"K": mp.mpf(2)}
    assert value(r"3 \left(1 + K\right)", letters) == 9
    assert value(r"3 1 + K", letters) == 5
    assert value(r"\frac{1 + K}{2} K - \arcsin^{2}{\left(\frac{K}{4}\right)}", letters) == 3 - mp.asin(0.5) ** 2


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (C_b + gamma**2 * K, r"C_b + \gamma^{2} K"),
        (sp.Rational(3, 2) + root17 / 2, r"\frac{3 + \sqrt{17}}{2}"),
        (-sp.asin(sp.Rational(1, 4) - root17 / 4), r"\arcsin{\left(\frac{\sqrt{17} - 1}{4} \right)}"),
        (sp.exp(-(z**2) / 2), "e^{-z^{2}/2}"),
        (K / 2 * (1 + K / 3 + sp.exp(K / 2)), r"\frac{K \left(3 + K + 3 e^{K/2} \right)}{6}"),
        (sp.tanh(z) ** 2, r"\tanh^{2}{(z)}"),
        (10507 * z / 10000, "1.0507 z"),
        (sp.Symbol("slope") * z, r"\mathrm{slope} z"),
        (sp.Heaviside(z), r"\mathbf{1}_{z > 0}"),
    ],
    ids=str,
)
def test_formulas_look_as_in_a_textbook(formula, text):
    assert latex(formula) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1.6732632423543772848170429916717", "1.6732632..."),
        ("-1.0507009873554804934193349852946", "-1.0507009..."),
        ("0.00123456789012345678901", "0.0012345678..."),
        ("123456789012345678901234567", "1.2345678...e26"),
        ("1e400", "1e400"),
        ("12.5e30", "1.25e31"),
        ("99999999999999999999999999", "9.9999999...e25"),
        ("0.000000123456789012345678", "1.2345678...e-7"),
        ("12345.67", "1234567/100"),
    ],
)
def test_long_numbers_are_cut_not_rounded(number, text):
    assert str(shortened(sp.Rational(number))) == text


def test_powers_of_ten_are_latex():
    assert latex(sp.Integer(10) ** 400 * K) == "10^{400} K"
    assert latex(sp.Rational("12345678901234567890123456") * K) == r"1.2345678\ldots \cdot 10^{25} K"


def test_an_average_of_a_typed_formula_says_of_what():
    assert sr.expect("z*tanh(z)").latex() == r"\left\langle z \tanh(z) \right\rangle_{K}"
    phi = sr.activation("z*tanh(z)")
    squared = sr.expect(phi(sr.z) ** 2).latex()
    assert r"\phi" not in squared
    assert squared == r"\left\langle z^{2} \tanh^{2}{(z)} \right\rangle_{K}"


def test_the_map_of_a_layer_keeps_phi_and_names():
    assert sr.derive(sr.mlp("z*tanh(z)")).kernel_map.latex() == (
        r"C_b + C_W \left\langle \phi(z)^{2} \right\rangle_{K}"
    )
    assert r"\operatorname{mish}(z)" in sr.expect("mish").latex()


def test_heads_rename_activations():
    phi = sr.activation("mish")
    assert Notation({phi.formula: r"\phi"}).write(phi(z).diff(z)) == r"\phi'(z)"


def test_determinants_have_names_where_that_helps():
    gelu = (1 + K1) * (1 + K2) - C**2
    plain = K1 * K2 - C**2
    delta = sp.Symbol("Delta", positive=True)
    assert named(C / sp.sqrt(gelu)) == (C / sp.sqrt(delta), [(delta, gelu)])
    assert named(sp.sqrt(plain) + C) == (sp.sqrt(plain) + C, [])
    assert named(sp.sqrt(plain) * sp.exp(C / plain)) == (sp.sqrt(delta) * sp.exp(C / delta), [(delta, plain)])
    shown, names = named(sp.sqrt(gelu) + sp.exp(1 / plain) + C * plain)
    assert [d for _, d in names] == [plain, gelu]
    assert shown.xreplace(dict(names)) == sp.sqrt(gelu) + sp.exp(1 / plain) + C * plain
    no_determinant = sp.sqrt(K1 + K2 - C) + sp.sqrt(K1 * K2 + C**2) + sp.sqrt(K1**2 * K2 - C**2)
    assert named(no_determinant) == (no_determinant, [])


S17 = sp.sqrt(17)


@pytest.mark.parametrize(
    "number",
    [
        sp.sqrt(3 + 2 * sp.sqrt(2)),
        sp.sqrt(S17 - 1) / sp.sqrt(4 + S17),  # neither of the two denests alone
        sp.sqrt(S17 - 1) * sp.sqrt(4 + S17) ** 3,
        sp.asin(sp.Rational(1, 3)) + sp.pi * sp.sqrt(3 + 2 * sp.sqrt(2)),
    ],
)
def test_what_denests(number):
    found = denested(number)
    assert len(str(found)) < len(str(number))
    assert abs(sp.N(found - number, 50)) < 1e-45
    assert max(len(power.base.atoms(sp.Pow)) for power in found.atoms(sp.Pow)) == 0


@pytest.mark.parametrize(
    "number", [sp.sqrt(1 + sp.sqrt(3)), sp.Integer(3), sp.pi / 4, sp.sqrt(sr.K + 1), sp.sqrt(2) * sr.gamma]
)
def test_what_does_not_is_left_as_it_is(number):
    assert denested(number) == number


def test_a_form_that_is_another_number_is_not_believed(monkeypatch):
    number = 1 / (1 + sp.sqrt(3 + 2 * sp.sqrt(2)))
    assert denested(number) != number
    monkeypatch.setattr("symres.notation.decimals.sp.radsimp", lambda e: sp.Integer(2))
    assert abs(sp.N(denested(number) - number, 40)) < 1e-35


def test_the_exponent_of_gelu_is_exact_and_short():
    """Doshi et al. (169) print 66.668."""
    assert sr.derive("gelu").exponents.jacobian.expand() == -8 * S17 - 32


STAR_RELU = "0.8944*relu(z)^2 - 0.4472"
EXPRESSIONS = [
    -(195288750722 * C_W**2 - 244125781250 * C_W - 152587890625) / (976503125000 * C_W),
    (380689 * C_W - 25000000) ** 2 / (1591212100000000 * C_W),
    -(7 * K + sp.Rational(1, 10**14)) * sp.exp(sp.Rational(123456789012345, 10**15) * K) / 98765432109876543,
    sp.Rational("1.0507009873554804934193349852946") * K + sp.Rational(10**15, 3),
]


@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_the_value_stays(expr):
    at = {C_W: sp.Rational(17, 10), K: sp.Rational(3, 7)}
    assert sp.simplify(short_factors(expr).subs(at) - expr.subs(at)) == 0


@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_no_printer_shows_integers_of_many_digits(expr):
    for text in (Maths()(expr), Notation().write(expr), latex(expr)):
        assert not re.search(r"(?<![\d.])\d{13,}(?![\d.])", text), text


def test_what_is_common_cancels():
    assert Maths()(EXPRESSIONS[0]) == "-0.19998784·C_W + 1/4 + 390625/(2499848C_W)"


def test_programs_get_all_digits():
    expr = sr.derive(STAR_RELU).critical_line_expr
    text = sr.derive(STAR_RELU).summary()["critical_line"]
    assert sp.simplify(sp.sympify(text, locals={"C_W": C_W, "K": K}) - expr) == 0


def test_the_line_of_a_formula_with_decimals():
    line = sr.derive(STAR_RELU).critical_line_expr
    assert all(max(abs(n.p), n.q) < 10**8 for n in short_factors(line).atoms(sp.Rational))
