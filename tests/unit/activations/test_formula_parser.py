"""The formula parser: what it reads, and that nothing else gets through."""

from fractions import Fraction

import mpmath as mp
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from symres.activations.formula_parser import PARSED_FUNCTIONS, parse
from symres.core.errors import DeclarationError
from symres.core.symbols import z
from symres.functions.companions import Sigmoid, Softplus
from tests.random_lane.formulas import FUNCTIONS

a = sp.Symbol("a", positive=True)

GOOD = [
    ("z", z),
    ("x", z),
    (" x ^ 2\n+ 1 ", z**2 + 1),
    ("-z^2", -(z**2)),
    ("2^-1*z", z / 2),
    ("2^3^2*z", 512 * z),
    ("z**2", z**2),
    ("2 - 3 - z", -1 - z),
    ("12/3/2*z", 2 * z),
    ("--+-z", -z),
    ("1.0507*z", sp.Rational(10507, 10000) * z),
    ("1e-3*z", z / 1000),
    (".5*z + 2.*z", sp.Rational(5, 2) * z),
    ("1E2*z", 100 * z),
    ("pi*z", sp.pi * z),
    ("a*z", a * z),
    ("|z - |z||", sp.Abs(z - sp.Abs(z))),
    ("z^0.5", sp.sqrt(z)),
    ("ln(1 + exp(z))", sp.log(1 + sp.exp(z))),
    ("sqrt(2)*z", sp.sqrt(2) * z),
    ("max(z, 0, -1)", sp.Max(0, z)),
    ("step(z)", sp.Heaviside(z)),
    ("Phi(z)", (1 + sp.erf(z / sp.sqrt(2))) / 2),
    ("sigmoid(2*z)", Sigmoid(2 * z)),
    ("softplus(z)", Softplus(z)),
    ("where(z >= 0, z, a*z)", sp.Piecewise((z, z >= 0), (a * z, True))),
    ("where(abs(z) < 1, z, sign(z))", sp.Piecewise((z, sp.Abs(z) < 1), (sp.sign(z), True))),
    ("asinh(z) + atan(z) + asin(tanh(z))", sp.asinh(z) + sp.atan(z) + sp.asin(sp.tanh(z))),
    ("twice(z)", 2 * z),
]


@pytest.mark.parametrize(("text", "expr"), GOOD, ids=[t for t, _ in GOOD])
def test_reads(text, expr):
    assert parse(text, {"twice": lambda u: 2 * u}, {"a": a}) == expr


BAD = [
    ("", "empty"),
    ("  \n", "empty"),
    ("__import__('os').system('true')", "unknown function '__import__' at column 1"),
    ("z.__class__", "'.' at column 2"),
    ("lambda z: z", "unknown name 'lambda' at column 1"),
    ("a.b", "at column 2"),
    ("c*z", "unknown name 'c' at column 1: >>c<<*z"),
    ("tahn(z)", "did you mean tan or tanh"),
    ("2*sinn(z)", "unknown function 'sinn' at column 3"),
    ("sin*z", "write sin(z)"),
    ("e^z", "write exp(1)"),
    ("z(2)", "write z*(...)"),
    ("pi(2)", "write pi*(...)"),
    ("2z", "at column 2: 2>>z<<; put an operator"),
    ("z z", "at column 3"),
    ("(z", "'(' is never closed at column 1"),
    ("z)", "unexpected ')' at column 2"),
    ("|z", "'|' is never closed"),
    ("z+", "ends where a value is expected at column 3"),
    ("*z", "unexpected '*' at column 1"),
    ("z//2", "at column 3"),
    ("max(z)", "max takes 2 to 20 arguments, not 1 at column 1: >>max<<(z); write max(z, 0)"),
    ("exp(z, z)", "exp takes 1 argument, not 2 at column 1: >>exp<<(z, z); write exp(z)"),
    ("where(z > 0, z)", "where takes 3 arguments, not 2 at column 1: >>where<<(z > 0, z); write where(z > 0, a, b)"),
    ("cbrt(z)", "write sign(z)*abs(z)^(1/3)"),
    ("np.tanh(z)", "'.' at column 3: np>>.<<tanh(z); write functions without the name of a module: tanh(z)"),
    ("exp()", "unexpected ')'"),
    ("z, z", "unexpected ','"),
    ("z > 0", "comparisons belong in where"),
    ("where(z, 1, 0)", "a condition is missing"),
    ("where(z > 0, z > 1, 0)", "a comparison outside where"),
    ("where(0 < z < 1, z, 0)", "a second comparison"),
    ("max(z, z > 0)", "a comparison outside where"),
    ("z = 1", "'=' at column 3"),
    ("z!", "'!'"),
    ("Piecewise((z, z > 0), (0, True))", "unknown function 'Piecewise' at column 1: >>Piecewise<<("),
    ("Piecewise((z, z > 0), (0, True))", "write where(z > 0, a, b)"),
    ("{z if z > 0; 0 otherwise}", "write where(z > 0, a, b)"),
    ("z if z > 0 else 0", "write where(z > 0, a, b)"),
    ("Heaviside(z)", "did you mean step?"),
    ("z[0]", "'['"),
    ("'z'", "at column 1"),
    ('"z"', "at column 1"),
    ("z;z", "';'"),
    ("z\x00", r"'\x00' at column 2"),
    ("z\u2028", "U+2028"),
    ("\u03b2*z", "GREEK SMALL LETTER BETA) at column 1: >>\u03b2<<*z; write beta"),
    ("tanh(\u03c0*z)", "'\u03c0' (U+03C0 GREEK SMALL LETTER PI) at column 6: tanh(>>\u03c0<<*z); write pi"),
    ("\u03bb*z", "write lambda"),
    ("\u03a6(z)", "write Phi"),
    ("\u03d5(z)", "write phi"),
    ("z\u00b7z", "write *"),
    ("z\u2212z", "write -"),
    ("\u0455in(z)", "CYRILLIC"),
    ("z\u00b2", "SUPERSCRIPT TWO) at column 2: z>>\u00b2<<; write ^2"),
    ("\uff11*z", "FULLWIDTH DIGIT ONE) at column 1: >>\uff11<<*z; write 1"),
    ("z^1000000", "a power of 1000000 at column 2"),
    ("(3*z)^100000000000", "a power of 100000000000 at column 6"),
    ("((z^8)^8)^8", "a power of 512"),
    ("(sin(z)^64)^64", "a power of 4096"),
    ("exp(1e9*log(z))", "a power of"),
    ("1e999999999*z", "a number too large, too small or too long"),
    ("1e301*z", "a number too large, too small or too long"),
    ("1" * 200 + "*z", "a number too large, too small or too long"),
    ("9^9^9^9*z", "too large or too small at column 4"),
    ("2^2^2^2^2^2^2*z", "too large or too small"),
    ("2^(10^20/3)*z", "too large or too small"),
    ("(1 + sqrt(2))^(10^30)*z", "too large or too small"),
    ("exp(exp(exp(exp(10))))*z", "too large or too small"),
    ("exp(10^300*log(2))*z", "too large or too small"),
    ("cosh(10^9)*z", "too large or too small"),
    ("0.1^(10^9)*z", "too large or too small"),
    ("1/0*z", "division by zero at column 2"),
    ("z/(z - z)", "division by zero"),
    ("log(0)*z", "not finite"),
    ("sqrt(-1)*z", "not real at column 1"),
    ("log(-1)*z", "not real"),
    ("(-1)^0.5*z", "not real"),
    ("where(sqrt(-1) > 0, z, 0)", "not real"),
    ("where(sqrt(min(-2, z)) > where(z > 1, 0, z), z, 0)", "not real"),
    ("max(sqrt(min(-2, z)), z)", "not real"),
    ("(" * 10_000 + "z" + ")" * 10_000, "characters"),
    ("(" * 300 + "z" + ")" * 300, "nested"),
    ("z" + "^1" * 300, "nested"),
    ("sin(" * 60 + "z" + ")" * 60, "nested"),
    ("z+" * 100_000 + "z", "characters"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[repr(t)[:40] for t, _ in BAD])
def test_refuses_with_one_clear_line(text, message):
    with pytest.raises(DeclarationError) as caught:
        parse(text, parameters={"a": a})
    line = str(caught.value)
    assert message in line
    assert line.isprintable() and len(line) < 400


@pytest.mark.parametrize("text", [None, 3, b"z", z, ["z"]])
def test_refuses_what_is_no_text(text):
    with pytest.raises(DeclarationError, match="not text"):
        parse(text)


def test_a_parameter_hides_a_function_and_a_number_stands_for_a_name():
    assert parse("sin*z", parameters={"sin": a}) == a * z
    assert parse("k*z", parameters={"k": sp.Rational(1, 3)}) == z / 3


def test_every_function_is_the_one_of_its_name():
    """At a point, by mpmath."""
    oracles = {**FUNCTIONS, "clip": lambda u, low, high: min(max(u, low), high)}
    for name, (_, least, _) in PARSED_FUNCTIONS.items():
        oracle = oracles.get(name) or getattr(mp, name, None) or (lambda c, p, q: p if c > 0 else q)  # where
        points = [mp.mpf("1.4" if name == "acosh" else "0.4"), mp.mpf("0.7"), mp.mpf("-0.3")][:least]
        arguments = [str(p) for p in points]
        if name == "where":
            arguments[0] += " > 0"
        with mp.workdps(15):
            expected = oracle(*points)
            found = mp.mpf(sp.N(parse(f"{name}({', '.join(arguments)})"), 17))
            assert mp.almosteq(found, expected, 1e-14), name


# ---- round trip ------------------------------------------------------------------------------------------------
@given(st.text(alphabet="zx0123456789+-*/^()., <>|eabsinlogtanh_'\"[]{}:;=\\\u03b2\x00", max_size=30))
@settings(max_examples=300, deadline=None)
def test_no_text_gets_through_as_anything_but_a_formula(text):
    try:
        expr = parse(text)
    except DeclarationError as error:
        assert str(error).isprintable()
    else:
        assert isinstance(expr, sp.Expr) and expr.free_symbols <= {z}


@given(st.decimals(min_value="-1e6", max_value="1e6", places=12, allow_nan=False))
@settings(max_examples=50, deadline=None)
def test_decimals_are_exact(number):
    found = parse(f"z + ({number:f})") - z
    assert Fraction(int(found.p), int(found.q)) == Fraction(number)


def test_what_does_not_print_is_shown_by_its_code():
    with pytest.raises(DeclarationError) as caught:
        parse("'\x00'")
    assert str(caught.value).isprintable()
