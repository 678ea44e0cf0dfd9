"""Layers that are not declared: each is refused where it is written, with what to write."""

import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError, UnsupportedLayer
from symres.layers.nodes import Node

z, K, C, gamma, Dense = sr.z, sr.K, sr.C, sr.gamma, sr.Dense
relu, tanh, erf, gelu = map(sr.activation, ("relu", "tanh", "erf", "gelu"))
wide = Dense(z, width=4)


class Paired(Node):
    """A node of two arguments without a constructor of its own."""

    argument_names = ("u", "gain")

    def lower(self, program, u, gain):
        return gain * u


def text(equation, phi="gelu", **numbers):
    return lambda: sr.layer(equation, phi=phi, **numbers)


def of(forward):
    return lambda: sr.Layer(forward())


PYTHON = {
    "not linear": [
        of(lambda: tanh(z)),
        of(lambda: z * Dense(z)),
        of(lambda: Dense(z) * Dense(z)),
        of(lambda: gamma * z + tanh(Dense(z))),
    ],
    "not a polynomial": [of(lambda: z / (1 + Dense(z) ** 2)), of(lambda: Dense(1 / z)), of(lambda: Dense(sp.sign(z)))],
    "mean": [of(lambda: z + 1)],
    "width": [of(lambda: z + wide), of(lambda: wide), of(lambda: Dense(tanh(wide) * z))],
    "not finite": [of(lambda: sp.oo * z + Dense(z))],
    "pass width > 0": [of(lambda: Dense(tanh(z), width=0))],
    "pass C_b >= 0": [of(lambda: Dense(tanh(z), C_b=-1))],
    "does not contain z": [of(lambda: gamma + 1)],
    "y1": [of(lambda: z + sp.Symbol("y1", real=True) * Dense(tanh(z)))],
    "whole layer": [lambda: Dense(tanh(z)).diff(z)],
    "two activations called tanh": [of(lambda: Dense(tanh(z)) + Dense(type(tanh)("tanh", erf.expr)(z)))],
    "": [  # would be derived wrongly
        of(lambda: Dense(K * z)),
        of(lambda: Dense(C * z)),
        of(lambda: sp.Symbol("gamma") * z + gamma * Dense(tanh(z))),
        of(lambda: sp.I * z + Dense(tanh(z))),
        of(lambda: Dense(tanh(z), C_W=-1)),
        of(lambda: Dense(z, C_W=z**2)),
        of(lambda: Dense(sp.Heaviside(z))),
    ],
    'sr.layer("z + Dense(phi(z))")': [lambda: sr.Layer("z + Dense(relu(z))")],
    "a network of gelu: it is not a list of layers; pass one": [lambda: sr.network("gelu")],
    "a network of mlp: it is not a list": [lambda: sr.network(sr.mlp("gelu"))],
    "it is not a name or an equation": [lambda: sr.layer(3)],
    "it is negative": [lambda node=node: node(z, epsilon=-1) for node in (sr.LayerNorm, sr.BatchNorm)],
}
TEXTS = {
    "no activation is passed for it; pass one": [text("z + Dense(phi(z))", None)],
    "the activation relu is not in it": [text("z + Dense(tanh(z))", "relu")],
    "the activation gelu is not in it; write phi": [text("z + Dense(z)"), text("z + Dense(tanh(z))")],
    "unknown name 'a'": [text("a*z + Dense(phi(z))", "relu")],
    'sr.layer("...", a=...)': [text("a*z + Dense(phi(z))")],
    'sr.activation("...", a=...)': [lambda: sr.activation("a*tanh(z)")],
    "it has no parameter a": [text("z + Dense(phi(z))", "relu", a=1)],
    "did you mean residual": [text("residul", "relu")],
    "what it divides by is 0": [text("z + Dense(LayerNorm(2))", None)],
    "adds sqrt(2)/2 to every neuron": [text("z + sqrt(2)*LayerNorm(z) + 1/sqrt(2)", None)],
    "not real": [text("z + Dense(sqrt(-2)*z)", None)],
    "C_W >= 0": [text("z + Dense(relu(z), -sqrt(2))", None), text("Dense(phi(z), -1)")],
    "never closed": [text("Dense(phi(z)")],
    "did you mean Dense": [text("Dens(phi(z))")],
    "did you mean LayerNorm": [text("layernorm(phi(z))")],
    "write Dense(u, C_W, C_b)": [text("Dense(phi(z), 1, 2, 3)")],
    "has no argument": [text("Dense(phi)")],
    "unexpected": [text("Dense(phi())")],
    "not a polynomial in neurons": [text("Dense(max(phi(z), 0))"), text("Dense(where(z > 0, phi(z), 0))")],
    "put a Dense around": [text("phi(z)")],
    "batch statistics": [text("BatchNorm(phi(z))")],
    "write Paired(u, gain)": [text("Dense(Paired(phi(z)))"), text("Dense(Paired(phi(z), 1, 2))")],
    "unknown function 'Node'": [text("Dense(Node(phi(z)))")],
    "the name z is already used": [text("Dense(phi(b)*b), z = Dense(z)")],
    "the name gamma is already used": [text("Dense(phi(b)*b), gamma = Dense(z)")],
    "the name b is already used": [text("Dense(phi(b)*b), b = Dense(z), b = Dense(phi(z))")],
    "a, b refer to each other": [text("Dense(phi(a)), a = b, b = a")],
    "an argument 'C_A' that the node does not have": [text("Dense(phi(z), C_A=2)")],
    "it is empty": [text("Dense(phi(b)*b), b =")],
}
USUAL = {
    "give that number to the layer: residual(...).subs(C_W=2)": [lambda: sr.residual("gelu", C_W=2)],
    "give that number to the layer: residual(...).subs(C_b=2)": [lambda: sr.residual("gelu", C_b=2)],
    "did you mean gamma": [lambda: sr.residual("gelu", gama=1)],
    "it takes gamma, xi, and its subs() C_W, C_b": [lambda: sr.residual("gelu", width=1)],
    "write residual(phi, gamma, xi)": [lambda: sr.residual("gelu", 1, 2, 3), lambda: sr.residual(C_W=1)],
    "residual(...).subs(beta=2)": [lambda: sr.residual("swish", beta=2)],
    "it takes the activation only": [lambda: sr.mlp("gelu", gamma=1)],
}
ROWS = [(said, ask) for table in (PYTHON, TEXTS, USUAL) for said, asks in table.items() for ask in asks]


@pytest.mark.parametrize(("said", "ask"), ROWS)
def test_what_is_not_a_layer_says_why_and_what_to_write(said, ask):
    with pytest.raises((DeclarationError, UnsupportedLayer)) as refused:
        ask()
    assert said in str(refused.value)
    assert refused.value.remedy
