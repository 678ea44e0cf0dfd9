"""Constants in layers: sqrt(2), exp(-1), cos(a), activations and dense layers of numbers, in text and in Python."""

import math

import pytest
import sympy as sp

import symres as sr
from tests.command_line import run
from tests.oracles.average import average_of

z, Dense = sr.z, sr.Dense
K, C_W, C_b = 1.3, 0.7, 0.2
FUNCTIONS = {
    "tanh": math.tanh,
    "relu": lambda u: max(u, 0.0),
    "gelu": lambda u: u * 0.5 * math.erfc(-u / math.sqrt(2)),
    "sigmoid": lambda u: 1 / (1 + math.exp(-u)),
    "elu": lambda u: u if u > 0 else math.expm1(u) / 2,
}


def square(f):
    """<f(z)^2> for z ~ N(0, K), by quadrature."""
    return float(average_of(lambda u: f(float(u)) ** 2, K, digits=12))  # of floats


# text, phi, numbers for names: the kernel of the next layer, from the forward equation
LAYERS = {
    "(z + Dense(phi(z)))/sqrt(2)": ("tanh", {}, lambda g: K / 2 + C_b / 2 + C_W * g(1, 0) / 2),
    "exp(-1)*z + Dense(phi(z))": ("relu", {}, lambda g: math.exp(-2) * K + C_b + C_W * g(1, 0)),
    "cos(a)*z + sin(a)*Dense(phi(z))": (
        "gelu",
        {"a": "0.3"},
        lambda g: math.cos(0.3) ** 2 * K + math.sin(0.3) ** 2 * (C_b + C_W * g(1, 0)),
    ),
    "2^(-1/2)*z + Dense(phi(z), pi, 1/3)": ("tanh", {}, lambda g: K / 2 + 1 / 3 + math.pi * g(1, 0)),
    "z + Dense(phi(z)/log(4))": ("relu", {}, lambda g: K + C_b + C_W * g(1, 0) / math.log(4) ** 2),
    "z + Dense(phi(z) - phi(0))": ("sigmoid", {}, lambda g: K + C_b + C_W * g(1, 0.5)),
    "relu(3)*z/6 + Dense(phi(z))": ("tanh", {}, lambda g: K / 4 + C_b + C_W * g(1, 0)),
    "relu(a)*z + Dense(phi(z))": ("tanh", {"a": "1/2"}, lambda g: K / 4 + C_b + C_W * g(1, 0)),
    "z + Dense(phi(z)) + Dense(2)": ("relu", {}, lambda g: K + 2 * C_b + C_W * g(1, 0) + 4 * C_W),
    "z + Dense(phi(z) + RMSNorm(2))": ("tanh", {}, lambda g: K + C_b + C_W * (g(1, 0) + 1)),
    "Dense(phi(cos(0.3)*z))/sqrt(2)": (
        "elu",
        {"alpha": "1/2"},
        lambda g: C_b / 2 + C_W * square(lambda u: FUNCTIONS["elu"](math.cos(0.3) * u)) / 2,
    ),
    "tanh(1)*z + Dense(cos(a)*z) + Dense(phi(z))": (
        "relu",
        {"a": "1/2"},
        lambda g: math.tanh(1) ** 2 * K + 2 * C_b + C_W * (math.cos(0.5) ** 2 * K + g(1, 0)),
    ),
    "z + Dense(leaky_relu(z, 1/sqrt(2)))": (None, {}, lambda g: K + C_b + C_W * K * 0.75),
}


@pytest.mark.parametrize("text", LAYERS)
def test_the_kernel_of_the_next_layer(text):
    phi, numbers, expected = LAYERS[text]
    layer = sr.layer(text, phi=phi, **numbers)
    found = sr.derive(layer).kernel_map
    assert found.status is not sr.Status.UNKNOWN and not found.definition.has(sp.Float)
    oracle = expected(lambda scale, shift: square(lambda u: scale * FUNCTIONS[phi](u) - shift))
    values = {s.name: v for s, v in ((sr.K, K), (sr.C_W, C_W), (sr.C_b, C_b)) if s in found.symbols}
    assert float(found.evalf(15, **values)) == pytest.approx(oracle, rel=1e-10)


@pytest.mark.exhaustive
def test_a_trainable_bias_fluctuates_as_in_networks():
    theory = sr.derive(sr.layer("z + Dense(relu(z)) + Dense(2)"))
    asked = ["kernel_map", "vertex", "kernel_fluctuation", "ntk_map", "chi_perp"]
    assert sr.check(theory, quantities=asked).outcome.name == "PASSED"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "text",
    ["Dense(phi(cos(0.3)*z))/sqrt(2)", "(z/pi + Dense(phi(sin(1/2)*z)))/2", "tanh(1)*z + Dense(cos(1/2)*z + phi(z))"],
)
@pytest.mark.parametrize("phi", ["hard_tanh", "elu"])
def test_formulas_of_real_waves_have_no_imaginary_unit(text, phi):
    theory = sr.derive(sr.layer(text, phi=phi))
    for quantity in theory.quantities.values():
        assert quantity.status is sr.Status.EXACT and not quantity.expr.has(sp.I)
    assert sr.check(theory, "quadrature", points=2).outcome.name == "PASSED"
    values = dict(K1=1.1, K2=0.9, C=0.3, C_W=C_W, C_b=C_b)
    values |= {"alpha": 0.7} if phi == "elu" else {}
    exact = float(theory.covariance_map.evalf(15, **values))
    assert sr.export(theory.covariance_map).load().covariance_map(**values) == pytest.approx(exact, rel=1e-11)


@pytest.mark.exhaustive
def test_a_bias_that_vanishes_is_0():
    """Critical biases of layers with several constants, and with fractions under fractions: 0 after they cancel."""
    theory = sr.derive(sr.layer("tanh(1)*z + Dense(cos(1/2)*z) + Dense(phi(z))", phi="relu"))
    slope = 1 / (1 + math.erf(10) ** 2)
    for layer, weight in (
        (theory, (1 - math.tanh(1) ** 2) / (math.cos(0.5) ** 2 + 0.5)),
        (sr.derive(sr.mlp("abs(z/1000) + z/(1 + erf(10)^2)")), 2 / ((slope + 1e-3) ** 2 + (slope - 1e-3) ** 2)),
    ):
        (point,) = layer.critical_points
        assert point.C_b == 0 and float(point.C_W) == pytest.approx(weight, rel=1e-12)
    assert "φ(z)" in theory.page()


def test_python_and_text_declare_the_same_layer():
    tanh, sigmoid, relu = map(sr.activation, ("tanh", "sigmoid", "relu"))
    a = sp.Symbol("a", real=True)
    assert sr.layer("(z + Dense(phi(z)))/sqrt(2)", phi="tanh") == sr.Layer((z + Dense(tanh(z))) / sp.sqrt(2))
    assert sr.layer("Dense(phi(z) - phi(0))", phi=sigmoid) == sr.Layer(Dense(sigmoid(z) - sigmoid(0)))
    assert sr.layer("z + Dense(relu(z)) + Dense(2)") == sr.Layer(z + Dense(relu(z)) + Dense(2))
    typed = sr.layer("cos(a)*z + sin(a)*Dense(phi(z))", phi="tanh", a=a)
    assert typed == sr.Layer(sp.cos(a) * z + sp.sin(a) * Dense(tanh(z)))
    assert typed.subs(a="0.3") == sr.layer("cos(a)*z + sin(a)*Dense(phi(z))", phi="tanh", a="0.3")
    assert sr.Layer(tanh(a) * z + Dense(tanh(z))).program.out.has(sp.tanh(a))  # a function of parameters
    assert sr.layer("residual", phi="gelu", gamma="1/sqrt(2)") == sr.residual("gelu", gamma=sp.sqrt(2) / 2)
    assert sr.layer("z + Dense(phi(z))", phi="elu", alpha=2, C_W=3) == sr.layer("z + Dense(elu(z, 2), 3)")
    assert sr.layer("z + Dense(phi(z))", phi="tanh(a*z)", a="pi").formulas[0].expr == sp.tanh(sp.pi * z)


def test_derive_check_export_and_network_take_the_same_texts():
    """With a node in it a text is an equation, else an activation in a multilayer perceptron."""
    equation = "(z + Dense(relu(z)))/sqrt(2)"
    layer = sr.layer(equation)
    assert sr.derive(equation).layer == layer and sr.derive("relu").layer == sr.mlp("relu")
    assert sr.network([equation, "relu"]).layers == (sr.derive(layer), sr.derive("relu"))
    for what in (equation, layer, "relu", sr.activation("relu")):
        assert sr.check(what, "quadrature", points=1, quantities=["kernel_map"]).outcome.name == "PASSED"
        assert sr.export(what).load().kernel_map(K, C_W, C_b) == pytest.approx(
            float(sr.derive(what).kernel_map.evalf(15, K=K, C_W=C_W, C_b=C_b)), rel=1e-13
        )


@pytest.mark.exhaustive
def test_files_write_a_constant_as_mathematics(capsys, tmp_path):
    folder = tmp_path / "files"
    code, _, _ = run(capsys, "derive", "relu", "--layer", "residual", "--set", "gamma=1/sqrt(2)", "--out", str(folder))
    text = (folder / "derivation.tex").read_text("utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith("Parameters with numbers"))
    assert code == 0 and "sqrt(2)" not in line and r"\sqrt{2}" in line
