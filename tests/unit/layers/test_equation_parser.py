"""Layers written as text: the same programs as in Python, with names for draws that are used twice."""

import json
import re
from fractions import Fraction

import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError
from symres.layers.equation_parser import written
from symres.layers.nodes import Node, node_classes
from tests.command_line import page, run

z, gamma, xi, Dense = sr.z, sr.gamma, sr.xi, sr.Dense
gelu, tanh = sr.activation("gelu"), sr.activation("tanh")
EQUATIONS = {
    "Dense(phi(z))": sr.mlp("gelu").forward,
    "z' = Dense(phi(z))": sr.mlp("gelu").forward,
    "gamma*z + xi * Dense( phi(x) )": gamma * z + xi * Dense(gelu(z)),
    "LayerNorm(z/2 + Dense(phi(z)))": sr.LayerNorm(z / 2 + Dense(gelu(z))),
    "gamma*z + Dense(phi(Dense(z))*Dense(z))": gamma * z + Dense(gelu(Dense(z)) * Dense(z)),
    "gamma*z + Dense(phi(RMSNorm(z, 1/100)))": gamma * z + Dense(gelu(sr.RMSNorm(z, epsilon="1/100"))),
    "Dense(tanh(Dense(phi(z), 2, 0))^2)": Dense(tanh(Dense(gelu(z), 2, 0)) ** 2),
    "Dense(phi(BatchNorm(z)))": sr.batch_norm("gelu").forward,
    "Dense(phi(z) + leaky_relu(z, 0.1) + 3)": Dense(
        gelu(z) + sr.activation("leaky_relu", slope=Fraction(1, 10))(z) + 3
    ),
}


@pytest.mark.parametrize("text", EQUATIONS)
def test_text_is_the_layer_of_python(text):
    assert written(text, gelu) == sr.Layer(EQUATIONS[text])


def test_every_dense_draws_weights_of_its_own():
    twice = written("Dense(phi(z)) + Dense(phi(z))", gelu)
    assert sr.derive(twice).kernel_map.expr == sr.derive(sr.Layer(Dense(gelu(z)) + Dense(gelu(z)))).kernel_map.expr
    h = Dense(gelu(z))
    assert twice != sr.Layer(h + h)


def test_functions_of_formulas_are_activations():
    found = written("Dense(exp(phi(z)/2))", tanh)
    assert found == sr.Layer(Dense(sr.Activation("exp", sp.exp(z), ())(tanh(z) / 2)))


class Faulty(Node):
    def lower(self, program, u):
        return program.mean(u) / nothing  # noqa: F821

    def sample(self, net, u):
        return u


def test_a_mistake_in_the_code_of_a_node_is_told(capsys):
    code, _, err = run(capsys, "derive", "tanh", "--layer", "Dense(phi(z)) + Dense(Faulty(z))")
    assert code == 2 and "the node Faulty(z): its lower() raised NameError: name 'nothing' is not defined" in err


class Amplified(Node):
    """A node of two arguments without a constructor of its own."""

    argument_names = ("u", "gain")

    def lower(self, program, u, gain):
        return gain * u


def test_a_declared_node_is_a_word_of_equations():
    assert written("Dense(Amplified(phi(z), 3))", gelu) == sr.Layer(Dense(3 * gelu(z)))
    assert node_classes["Amplified"] is Amplified
    with pytest.raises(TypeError):
        node_classes["Amplified"] = Dense
    assert Amplified(gelu(z), "1/10").args[1] == sp.Rational(1, 10)


@pytest.mark.parametrize("name", ["gelu", "max", "where", "pi", "phi", "z", "x", "K", "Dense", "LayerNorm"])
def test_a_node_cannot_have_the_name_of_another_thing(name):
    before = dict(node_classes)
    with pytest.raises(DeclarationError, match=f"the node {name}: the name is taken"):
        type(name, (Node,), {})
    assert node_classes == before


def test_bases_of_nodes_are_no_words_of_equations():
    class _Hidden(Node):
        pass

    class Unfinished(Node, abstract=True):
        pass

    assert {"Node", "Normaliser", "_Hidden", "Unfinished"}.isdisjoint(node_classes)
    assert {"Dense", "LayerNorm", "RMSNorm", "BatchNorm"} <= set(node_classes)


def test_a_node_that_is_declared_again_takes_the_name_over():
    first, second = (type("Again", (Node,), {}) for _ in range(2))
    assert node_classes["Again"] is second is not first


@pytest.mark.exhaustive
def test_commands_take_equations(capsys, monkeypatch, tmp_path):
    """The page of an equation is that of the layer with a name; names that are set become numbers."""
    monkeypatch.chdir(tmp_path)
    equation = "gamma*z + b*Dense(phi(z))"
    settings = ["--set", "gamma=1/2", "--set", "b=1"]
    found = json.loads(page(capsys, "derive", "erf", "--layer", equation, *settings, "--json"))
    known = json.loads(page(capsys, "derive", "erf", "--layer", "residual", "--set", "gamma=1/2", "--json"))
    assert found["quantities"] == known["quantities"]
    assert found["critical_points"] == known["critical_points"]
    assert f"--layer '{equation}'" in found["command"]
    code, out, _ = run(capsys, "plot", "relu", "--layer", "z/2 + Dense(phi(z))", "--points", "10")
    assert code == 0 and re.fullmatch(r"wrote relu_z_over_2_plus_Dense_phi_z_[0-9a-f]{8}_phases\.png\n", out)
    code, _, err = run(capsys, "derive", "erf", "--layer", equation, *settings, "--set", "c=1")
    assert code == 2
    assert "no parameter c" in err


def test_the_name_of_the_activation_says_phi_too():
    assert written("z + Dense(gelu(z)*z)", gelu) == written("z + Dense(phi(z)*z)", gelu)
    swish = sr.activation("swish", beta=2)
    assert written("z + Dense(swish(z))", swish) == written("z + Dense(phi(z))", swish)
    assert written("Dense(swish(z) + swish(z, 3))", swish) == sr.Layer(Dense(swish(z) + sr.activation("swish(3)")(z)))


erf = sr.activation("erf")
h, g = Dense(z), Dense(z)
ONE = sr.Layer(gamma * z + Dense(tanh(h) * h))
TWO = sr.Layer(gamma * z + Dense(tanh(h) * g))
inner = h + Dense(tanh(h))
LAYERS = {
    "gamma*z + Dense(y1*tanh(y1)), y1 = Dense(z)": ONE,
    "gamma*z + Dense(Dense(z)*tanh(Dense(z)))": TWO,
    "y2 + Dense(y1*tanh(y1 + y2)), y1 = Dense(erf(z)), y2 = Dense(tanh(z))": sr.Layer(
        (lambda a, b: Dense(tanh(a + b) * b) + a)(Dense(tanh(z)), Dense(erf(z)))
    ),
    "y2 + Dense(y2*tanh(y1)), y1 = Dense(z), y2 = Dense(tanh(y1))": sr.Layer(
        (lambda a: (lambda b: b + Dense(tanh(a) * b))(Dense(tanh(a))))(h)
    ),
}


@pytest.mark.parametrize("text", LAYERS)
def test_what_is_written_reads_back(text):
    layer = LAYERS[text]
    assert layer.text == text
    assert written(text.replace("tanh", "phi"), tanh) == layer


def test_one_draw_and_two_are_told_apart():
    assert ONE != TWO
    assert sr.derive(ONE).kernel_map(K=1, C_W=1, C_b=0, gamma=0) != sr.derive(TWO).kernel_map(
        K=1, C_W=1, C_b=0, gamma=0
    )
    assert "y1 = Dense(z)" in str(ONE) and "y_{1} =" in ONE._repr_latex_() and "y1" not in str(TWO)
    assert str(sr.network([ONE])).count("Dense(z)") == 1


def test_a_node_of_one_draw_may_stand_in_two_places():
    """A normaliser is a function of what it normalises: only the draw inside of it needs a name."""
    both = sr.Layer(Dense(tanh(sr.LayerNorm(h)) * sr.LayerNorm(h)))
    assert both.text == "Dense(LayerNorm(y1)*tanh(LayerNorm(y1))), y1 = Dense(z)"
    assert sr.Layer(Dense(h**2)).text == "Dense(Dense(z)**2)"


def test_names_of_layers():
    assert sr.Layer(gamma * z + Dense(tanh(z))).name == "gamma*z + Dense(tanh(z))"
    assert sr.Layer(gamma * z + Dense(tanh(z)), "mine").subs(gamma="1/2").name == "mine"
    assert sr.Layer(gamma * z + Dense(tanh(z))).subs(gamma="1/2").name == "z/2 + Dense(tanh(z))"
    long = z
    for _ in range(6):
        long = long + Dense(tanh(long))
    assert sr.Layer(long).name == "layer"


@pytest.mark.exhaustive
def test_page_and_record_show_the_name(capsys):
    code, out, _ = run(capsys, "derive", "tanh", "--layer", "Dense(phi(h)*h), h = Dense(z)")
    shown = [line.replace("₁", "1").split() for line in out.splitlines()]
    assert code == 0 and ["y1", "=", "Dense(z)"] in shown
    assert sr.derive(ONE).summary()["forward"] == ONE.text


@pytest.mark.exhaustive
def test_real_roots_of_a_cubic_equation():
    """The slope at K = 0 is a polynomial of third degree in C_W: two of its roots are complex."""
    theory = sr.derive(sr.Layer(Dense(tanh(inner))))
    (point,) = theory.critical_points
    weight = sp.N(point.C_W)
    assert theory.universality_class == "K*=0" and abs(weight * (weight + weight**2) - 1) < 1e-12
