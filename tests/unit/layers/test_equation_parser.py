"""Layers written as text: the same programs as in Python, and errors that say what to write."""

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
