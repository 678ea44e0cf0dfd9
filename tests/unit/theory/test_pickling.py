"""Theories and networks go to other processes, whatever has been derived of them, and give the same numbers there."""

import copy
import pickle
import subprocess
import sys

import pytest

import symres as sr

NUMBERS = {"C_W": "5/4", "C_b": "1/20"}
ASKED = {  # what makes parts of a theory that are kept in it
    "advice": lambda t, n: t.advice(depth=6, width=32),
    "vertex": lambda t, n: t.vertex(2, "0.5", **NUMBERS, **n),
    "kernel_fluctuation": lambda t, n: t.kernel_fluctuation(2, "0.5", **NUMBERS, **n),
    "covariance": lambda t, n: t.covariance("z^2", "z^2", 2, "0.5", **NUMBERS, **n),
    "response": lambda t, n: t.response(3, "0.5", **NUMBERS, **n),
    "growth_curve": lambda t, n: t.growth_curve,
    "page": lambda t, n: t.page(),
    "export": lambda t, n: sr.export(t),
    "kernels": lambda t, n: t.kernels(3, "0.5", **NUMBERS, **n),
}
LAYERS = {
    "tanh": (lambda: sr.mlp("tanh"), {}),
    "residual": (lambda: sr.residual("relu", gamma=1, xi=sr.xi), {"xi": "1/3"}),
    "pre_ln": (lambda: sr.pre_ln("gelu", gamma=sr.gamma), {"gamma": "1/2"}),
    "overflow": (lambda: sr.mlp("exp(z)/(1+exp(z))"), {}),  # by balls where a part of the formula overflows
}


@pytest.mark.sample(1, every="layer")
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_theory_is_pickled_whatever_has_been_asked_of_it(layer, asked):
    make, numbers = LAYERS[layer]
    theory = sr.derive(make())
    before = ASKED[asked](theory, numbers)
    for again in (pickle.loads(pickle.dumps(theory)), copy.deepcopy(theory)):
        assert again == theory
        after = ASKED[asked](again, numbers)
        assert str(after) == str(before)


def test_a_copy_mixes_positions_where_the_layer_does():
    for layer in (sr.mlp("tanh"), sr.transformer("gelu"), sr.layer("Conv(z)")):
        again = pickle.loads(pickle.dumps(layer))
        assert again.program.has_positions == layer.program.has_positions
        assert again.program.lines == layer.program.lines


def vertex_of(theory):
    return [float(v) for v in theory.vertex(2, "0.5", **NUMBERS)]


@pytest.mark.exhaustive
def test_a_theory_that_has_advised_goes_to_another_process(tmp_path):
    theory = sr.derive("tanh")
    theory.advice(depth=6, width=32)
    expected = vertex_of(theory)
    path = tmp_path / "theory.pickle"
    path.write_bytes(pickle.dumps((theory, theory.network(3))))
    program = (
        "import pickle, sys; theory, network = pickle.load(open(sys.argv[1], 'rb'));"
        "print([float(v) for v in theory.vertex(2, '0.5', C_W='5/4', C_b='1/20')])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert eval(done.stdout) == expected
