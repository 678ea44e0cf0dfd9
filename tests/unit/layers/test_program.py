"""Lowering: what a forward equation becomes, and what is refused."""

import copy
import pickle
import subprocess
import sys

import pytest
import sympy as sp

import symres as sr
from symres.activations.catalogue import activation
from symres.core.symbols import gamma, z
from symres.layers.architectures import mlp, residual
from symres.layers.layer import Layer
from symres.layers.nodes import Dense
from symres.layers.program import lower as lower_with_names
from tests.command_line import texts_of_seeds

tanh, erf, relu = activation("tanh"), activation("erf"), activation("relu")


def lower(forward):
    program, _ = lower_with_names(forward)
    return program


def test_two_calls_are_two_draws_and_one_name_is_one():
    h = Dense(z)
    assert len(lower(Dense(tanh(h) * h)).instructions) == 2
    assert len(lower(Dense(tanh(Dense(z)) * Dense(z))).instructions) == 3
    assert len(lower(Dense(z) + Dense(z)).instructions) == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_tags_survive_copies(copied):
    h = Dense(erf(z))
    other = copied(h)
    assert other == h
    assert Dense(erf(z)) != other
    assert len(lower(gamma * z + h + Dense(tanh(other))).instructions) == 2


def test_a_fresh_call_never_equals_one_from_another_process():
    code = (
        "import pickle, sys; from symres.layers.nodes import Dense;"
        "from symres.activations.catalogue import activation;"
        "from symres.core.symbols import z; sys.stdout.buffer.write(pickle.dumps(Dense(activation('erf')(z))))"
    )
    data = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    foreign, own = pickle.loads(data), Dense(erf(z))
    assert foreign != own
    assert len(lower(foreign + own).instructions) == 2


def test_equality_is_by_program():
    assert residual(tanh) == residual(tanh)
    assert hash(residual(tanh)) == hash(residual(tanh))
    assert residual(tanh) != mlp(tanh)
    assert residual(tanh) != residual(erf)
    assert Layer(gamma * z + Dense(tanh(z))) == residual("tanh")


@pytest.mark.exhaustive
def test_layers_whose_parameters_have_other_signs_are_different():
    """Their texts are the same, and what is derived from them is not: sqrt(q^2) is q or -q."""
    layers = []
    for sign in ("positive", "negative"):
        q = sp.Symbol("q", **{sign: True})
        layers.append(mlp(type(tanh)("c", z + q * z**3, parameters=(q,))))
    assert layers[0] != layers[1]
    first, second = sr.network(layers).layers
    assert first.critical_line_expr is not None and second.critical_line_expr is None


def test_the_text_defines_its_activations():
    renamed = type(tanh)("tanh", erf.expr)
    assert residual(renamed) != residual(tanh)


def test_declaration_order_does_not_change_the_text():
    a, b = Dense(tanh(z)), Dense(erf(z))
    c, d = Dense(erf(z)), Dense(tanh(z))
    assert lower(a + 2 * b).text == lower(2 * c + d).text


@pytest.mark.exhaustive
def test_text_is_the_same_under_any_hash_seed():
    code = (
        "from symres.layers.nodes import Dense; from symres.activations.catalogue import activation;"
        "from symres.layers.program import lower; from symres.core.symbols import z, gamma;"
        "t, e = activation('tanh'), activation('erf'); h = Dense(e(z));"
        "print(lower(gamma*z + Dense(t(h)*z + e(z)) + Dense(t(gamma*z + h)) + h)[0].text)"
    )
    (text,) = texts_of_seeds(code, "1", "2", "77")
    assert "y3" in text


def test_numbers_are_exact():
    (draw,) = Layer(0.5 * z + Dense(tanh(z), C_W=1.7, C_b="1/3")).program.instructions
    assert draw.C_W == sp.Rational(17, 10)
    assert draw.C_b == sp.Rational(1, 3)
    assert Layer(0.1 * z + Dense(z)).program.coefficients[z] == sp.Rational(1, 10)


def test_substitution_of_the_stream_never_touches_a_formula():
    forward = residual(tanh).forward
    moved = forward.subs(z, 2 * z)
    (phi,) = [a for a in moved.atoms(sp.Function) | moved.atoms(type(tanh(z)))]
    assert phi.formula.expr == tanh.expr
    assert phi.argument == 2 * z


def test_a_block_of_layers_of_equal_widths_is_one():
    assert Layer(z + Dense(tanh(Dense(z, width=4)))).program.sources[0] == z
