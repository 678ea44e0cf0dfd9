"""What is refused as an activation, and with which words; formulas that the words recommend are accepted."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.activations.catalogue import activation
from symres.core.errors import DeclarationError, SymresError
from symres.core.symbols import K, z

a = sp.Symbol("a", positive=True)
b, s = sp.symbols("b s", real=True)

TEXTS = [
    ("1 + 2", "does not contain z"),
    ("0*z", "does not contain z"),
    ("sign(z)^2", "does not depend on z"),
    ("1/z", "1/z is not finite at z = 0"),
    ("z^-3", "not finite at z = 0"),
    ("1/(z^2 - 2)", "not finite near z = 1.41421"),
    ("1/(z - 3)^2", "not finite at z = 3"),
    ("1/(1 - cos(z))", "not finite at z = 0"),
    ("z/sin(z)", "not finite near z = -3.14159"),
    ("1/(exp(z) - 1)", "not finite"),
    ("1/(exp(z) - 3*z)", "not finite near z = 0.619061"),
    ("log(z)", "not real at z = -1"),
    ("log(abs(z))", "not finite at z = 0"),
    ("log(z^2 - 1)", "not real at z = 0"),
    ("sqrt(z)", "not real at z = -1"),
    ("z^(1/3)", "not real at z = -1"),
    ("sqrt(1 - exp(-z^2))", "not smooth at z = 0"),
    ("tan(z)", "not finite near z = 1.5708"),
    ("tan(2*tanh(z))", "not finite near z = 1.05931"),
    ("asin(z)", "not real at z = 2"),
    ("acos(2*tanh(z))", "not real at z = 1"),
    ("z^z", "not real at z = -1"),
    ("where(z > 0, 1/z, 0)", "not finite at z = 0"),
    ("where(z > 1, log(z - 1), 0)", "not finite at z = 1"),
    ("1/(z - 10^20)", "1/(z - 100000000000000000000)"),
    ("where(z > 10^50, 2^z, 0)", "too large"),
    ("where(z > sqrt(2), sqrt(z^2 - 2 - 1e-30), 0)", "could not be shown to be finite near z = 1.41421"),
    ("1/step(z)^2", "not finite between -oo and 0"),
    ("sigmoid(sqrt(max(-1, z)))", "not real between -oo and -1"),
    ("where(3/z > 1, z, 0)", "1/z is not finite at z = 0"),
    ("step(log(z))", "not real"),
    ("exp(z^2)", "no Gaussian average for K >= 1/2: it may grow like exp(z^2) for z -> -oo and oo"),
    ("exp(z^2/8)", "no Gaussian average for K >= 4: it may grow like exp(z^2/8) for z -> -oo and oo"),
    ("exp(z^2/10)", "no Gaussian average for K >= 5: "),
    ("exp(z^2/1000000)", "no Gaussian average"),
    ("exp(z^3)", "faster for z -> oo"),
    ("exp(exp(z))", "faster for z -> oo"),
    ("cosh(z^2)", "no Gaussian average"),
    ("exp(z^2)*erfc(z)", "for K >= 1/2: it may grow like exp(z^2) for z -> -oo;"),
    ("2^(z^2)", "no Gaussian average for K >= 1/(2*log(2)): it may grow like exp(z^2*log(2)) for"),
    ("(1 + z^2)^(z^2)", "no Gaussian average"),
    ("exp(z^2*sin(z))", "no Gaussian average"),
    ("log(1 + exp(exp(exp(z))))", "no Gaussian average"),
    # reasons that were false once, of formulas for which they are true
    ("(-2)^z", "the base of (-2)^z is not positive"),
    ("0^z", "the base of 0^z is not positive"),
    ("acosh(2 - z^2)", "sqrt((2 - z^2)^2 - 1) is not real at z = 1.01562"),
    ("atanh(sign(z))", "not finite between -oo and oo"),
    ("acosh(cosh(z))", "is not smooth at z = 0; write its kink with abs"),
    ("1/Phi(z)", "no Gaussian average for K >= 1: it may grow like exp(z^2/2) for z -> -oo"),
    # a function that is finite everywhere, with a branch that is not: the message must not deny the first
    ("where(abs(z)<1, exp(-1/(1-z^2)), 0)", "1/(1 - z^2) is not finite at z = -1", "ends included"),
    ("where(z>0, log(z), 0)", "log(z) is not finite at z = 0", "ends included"),
    # not real on one side, which is no single point
    ("z^(1/3)", "is not real at z = -1", "use abs(z) inside"),
    ("log(z)", "is not real at z = -1", "use abs(z) inside"),
    ("sqrt(z - 1)", "is not real at z = 0", "use abs(z) inside"),
    ("asin(z)", "is not real at z = 2", "use abs(z) inside"),
    # names
    ("geluu", "did you mean gelu"),
    ("GELU", "did you mean gelu"),
    ("softpluss", "did you mean softplus"),
    ("qqq", "shows all names: relu"),
    ("erfc", "write the formula: erfc(z)"),
    ("lambda", "unknown name"),
    ("__import__", "unknown name"),
    ("elu(alpha=-1)", "alpha must be positive"),
    ("elu(beta=1)", "its parameters are: alpha"),
    ("elu(1, 2)", "2 is not the value of a parameter"),
    ("elu(alpha=1, alpha=2)", "alpha=2 is not"),
    ("relu(1)", "does not contain z"),
    ("elu(alpha=two)", "'two' is not a finite real number"),
    ("elu(alpha=__import__('os'))", "not a finite real number"),
    ("relu(z, 1)", "the function relu: it has no parameters"),
    ("z" * 100_000, "unknown name"),
    ("tanh(alpha*z)", "unknown name 'alpha' at column 6"),
    (3, "not an activation"),
    *((slip, f"did you mean {name}") for slip, name in (("gleu", "gelu"), ("Gelu", "gelu"), ("tahn", "tanh"))),
    *((slip, f"did you mean {name}") for slip, name in (("sigmod", "sigmoid"), ("leakyrelu", "leaky_relu"))),
    *((slip, f"did you mean {name}") for slip, name in (("logistic", "sigmoid"), ("heaviside", "step"))),
    ("identity", "did you mean linear"),
]


@pytest.mark.parametrize("row", TEXTS, ids=lambda row: repr(row[0])[:60])
def test_a_text_is_refused_with_its_place_and_a_remedy(row):
    text, *messages = row
    with pytest.raises(DeclarationError) as refusal:
        activation(text)
    line = str(refusal.value)
    assert all(message in line for message in messages)
    assert line.isprintable() and len(line) < 400
    assert "use abs(z) inside" not in messages or "single point" not in line


REMEDIES = ["exp(-1/max(1-z^2, 1/100))", "where(abs(z)>1/100, sin(z)/z, 1-z^2/6)"]
REMEDIES += ["sign(z)*abs(z)^(1/3)", "log(1 + abs(z))", "where(z > 0, sqrt(z), 0)"]


@pytest.mark.parametrize("text", REMEDIES)
def test_what_is_recommended_is_accepted(text):
    assert activation(text).pieces.parts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("f", a * z), "undeclared symbol a"),
        (("f", sp.Symbol("z") ** 2), "made elsewhere"),
        (("f", z, (a,)), "does not contain a"),
        (("f", K * z, (K,)), "taken by symres"),
        (("f", z * sp.Symbol("c"), (sp.Symbol("c"),)), "may be complex"),
        (("f", a * z, ("a",)), "not a sympy symbol"),
        (("f", sp.I * z), "contains I"),
        (("f", sp.oo * z), "contains oo"),
        (("f", sp.besselj(0, z)), "besselj is not supported"),
        (("f", sp.gamma(z)), "gamma is not supported"),
        (("f", sp.Integral(sp.exp(-(z**2)), z)), "Integral is not supported"),
        (("f", sp.Function("g")(z)), "g is not supported"),
        (("f", z**1000), "beyond the limit of 64"),
        (("f", sp.Integer(3)), "does not contain z"),
        (("f", None), "None is not a formula"),
        (("", z), "not a usable name"),
        (("f\n", z), "not a usable name"),
        (("\u03c6", z), "not a usable name"),
        ((3, z), "not a usable name"),
        # for all admissible values of the parameters
        (("f", 1 / (1 + s * z**2), (s,)), "s = -5/7"),
        (("f", sp.log(b + z**2), (b,)), "not real"),
        (("f", sp.exp(b * z**2), (b,)), "no Gaussian average"),
        (("f", z / b, (b,)), "for b = 0"),
        (("f", sp.Max(z, a * z), (a,)), "or give them values"),
        (("f", lambda z: z), r"is not a formula; pass an expression in sr\.z, or text"),
        (("f", "elu(z)"), "undeclared symbol alpha"),
        (("f", "__import__('os').getcwd()"), "unknown function '__import__'"),
        (("f", "z.__class__"), "'.' at column 2"),
    ],
)
def test_a_declaration_in_python_is_refused(arguments, message):
    with pytest.raises(DeclarationError, match=message):
        Activation(*arguments)


@pytest.mark.parametrize("phi", [1 / (1 + a * z**2), sp.exp(-a * z**2)])
def test_parameters_whose_signs_make_it_finite_are_accepted(phi):
    assert Activation("f", phi, (a,)).parameters == (a,)


@pytest.mark.parametrize("value", ["1e301", "-1e301", "1e-301"])
def test_values_beyond_the_range_of_floats_are_refused(value):
    with pytest.raises(DeclarationError, match="1e-300 to 1e300"):
        activation("leaky_relu", slope=value)
    assert activation("leaky_relu", slope="1e300").name == "leaky_relu(slope=1.0e+300)"


ELSEWHERE = "symres has no theory for {}; symres.torch measures, reads and initialises"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("MultiheadAttention", "in an equation it is Attention(u)"),
        ("softmax", ELSEWHERE.format("softmax")),
        ("MaxPool", "the maximum of activations is not Gaussian"),
        ("LSTM", ELSEWHERE.format("recurrent layers")),
        ("Conv2d", "in an equation it is Conv(u)"),
        ("dropout", "leave it out: in evaluation it does nothing"),
        ("Linear", "layers with weights are called Dense: write Dense(u)"),
        ("GroupNorm", "write LayerNorm(u)"),
        ("Scale", "write the factor: z + xi*Dense(phi(z))"),
        ("resnet", "the layer is residual"),
    ],
)
def test_a_name_of_another_library_is_answered_wherever_it_stands(name, remedy):
    for declare in (
        lambda: sr.activation(name),
        lambda: sr.activation(f"relu({name}(z))"),
        lambda: sr.layer(name, phi="relu"),
        lambda: sr.layer(f"z + Dense({name}(phi(z)))", phi="relu"),
    ):
        with pytest.raises(sr.DeclarationError) as refusal:
            declare()
        assert remedy in refusal.value.remedy
        assert "did you mean" not in str(refusal.value)


@pytest.mark.parametrize("name", ["foobar", "max2d", "snail"])
def test_nothing_is_guessed_for_what_is_not_alike(name):
    with pytest.raises(sr.DeclarationError) as refusal:
        sr.activation(name)
    assert "did you mean" not in str(refusal.value)


def test_a_parameter_may_have_a_name_of_another_library():
    with pytest.raises(sr.DeclarationError, match="give a parameter a number with --set scale="):
        sr.activation("tanh(scale*z)")


def _maximum(c):
    """<max(z, c)^2> for z ~ N(0, 1): c^2 P(z < c) + <z^2; z > c>."""
    return c**2 * mp.ncdf(c) + c * mp.npdf(c) + mp.ncdf(-c)


# formula: the mean square at K = 1, by hand
FORMULAS = {
    "1e20*z": mp.mpf(10) ** 40,
    "max(z,1e20)": _maximum(mp.mpf(10) ** 20),
    "z*atan(1e20)": mp.atan(mp.mpf(10) ** 20) ** 2,
    "max(z,1e-160)": _maximum(mp.mpf(10) ** -160),
    "z*erfc(-1e300)": mp.mpf(4),
    "z*tanh(1e300)": mp.mpf(1),
    "z/3e-70": mp.mpf(10) ** 140 / 9,
    "z*log(1e300)": (300 * mp.log(10)) ** 2,
    "z*12345678901234567890123456789/7": (mp.mpf(12345678901234567890123456789) / 7) ** 2,
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("formula", FORMULAS)
def test_every_stage_has_the_number(formula):
    theory = sr.derive(formula)
    values = dict(K=1, C_W=1, C_b=0)
    expected = float(FORMULAS[formula])
    assert float(theory.kernel_map.evalf(15, **values)) == pytest.approx(expected, rel=1e-13)
    for target in ("numpy", "c"):
        found = sr.export(theory.kernel_map, target).load().kernel_map(1.0, 1.0, 0.0)
        assert float(found) == pytest.approx(expected, rel=1e-13)
    report = sr.check(theory, "quadrature", points=1, quantities=["kernel_map"])
    assert report.outcome.name == "PASSED"
    assert formula in theory.page()


@pytest.mark.exhaustive
def test_a_saturated_formula_has_a_page():
    """Tanh far beyond where floats tell it from 1: neither exponentials of 1e60 nor their powers have digits."""
    assert "φ(z)" in sr.derive("sinh(tanh(1e60 + z))").page()


@pytest.mark.sample(1)
@pytest.mark.parametrize("formula", ["1e-200*z", "1e200*z", "max(z,1e200)"])
def test_code_refuses_numbers_that_floats_do_not_have(formula):
    """Their squares overflow to inf, or vanish: evalf has them, code says why it has not."""
    theory = sr.derive(formula)
    size = float(mp.log10(theory.kernel_map.evalf(15, K=1, C_W=1, C_b=0)))
    assert abs(size) == pytest.approx(400)
    assert theory.page()
    for target in ("numpy", "c"):
        with pytest.raises(SymresError, match="beyond the range of float64"):
            sr.export(theory.kernel_map, target)


@pytest.mark.parametrize("constant", [sp.erfc(10**300), sp.erfc(-(10**300))])
def test_functions_that_mpmath_cannot_evaluate_are_refused_in_python_too(constant):
    with pytest.raises(SymresError, match="is too large or too small to be computed"):
        sr.Activation("a", sr.z * constant)
