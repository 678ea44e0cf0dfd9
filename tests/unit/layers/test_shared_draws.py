"""A draw that is used twice is written with a name; what is written reads back as the same layer."""

import pytest
import sympy as sp

import symres as sr
from symres.layers.equation_parser import written
from tests.command_line import run

z, gamma, Dense = sr.z, sr.gamma, sr.Dense
tanh, erf = sr.activation("tanh"), sr.activation("erf")
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
    assert ONE.text == "gamma*z + Dense(y1*tanh(y1)), y1 = Dense(z)"
    assert TWO.text == "gamma*z + Dense(Dense(z)*tanh(Dense(z)))"
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
