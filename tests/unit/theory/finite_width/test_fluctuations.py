"""Fluctuations of deep networks at order 1/n, against closed forms, other forms of the theory and published values."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import erf

import symres as sr
from symres.layers.equation_parser import written
from symres.theory.finite_width import fluctuations
from symres.theory.finite_width.layer_response import LayerResponse
from tests.oracles.two_times import Residual, of_relus
from tests.shared import derived

ACTIVATIONS = {"tanh": np.tanh, "erf": erf, "sin": np.sin}
SETTINGS = [
    {"C_W": 1.3, "C_b": 0.1, "gamma": 0.8, "xi": 0.7},
    {"C_W": 0.9, "C_b": 0.0, "gamma": 0.3, "xi": 1.0},
    {"C_W": 1.1, "C_b": 0.2, "gamma": -0.5, "xi": 1.2},
]


def relu_vertex(gamma, depth):
    """V of critical ReLU networks at K = 1 from closed covariances at two times."""
    C_W = 2 * (1 - gamma**2)

    def covariance(d):
        r = gamma**d
        return (2 * r * r + of_relus(r)) / 4

    P = C_W**2 * sum(covariance(abs(k - m)) for k in range(depth) for m in range(depth))
    return P + 4 * sum(gamma ** (2 * (depth - k)) * (1 - gamma**2) for k in range(depth))


def test_critical_relu():
    """The values of the issue of the field: PDLT (B.26) has 7.125 in the place of the third."""
    found = derived(sr.residual("relu")).vertex(5, 1, C_W="3/2", C_b=0, gamma="1/2")
    assert found[:2] == [0.0, pytest.approx(3.5625, rel=1e-14)]
    assert found[2] == pytest.approx(8.61786751102427, rel=1e-14)
    assert found == pytest.approx([relu_vertex(0.5, depth) for depth in range(6)], rel=1e-12)
    assert max(found.errors) < 1e-11


def test_fischers_network():
    """N Var of the kernel of an erf network with gamma = 1; the sum after 002 (133) keeps equal layers only."""
    found = derived(sr.residual("erf", gamma=1, xi=sr.xi)).kernel_fluctuation(10, "1.4", C_W="1.2", C_b="0.2", xi=1)
    assert found[10] == pytest.approx(6.412376762237, rel=1e-11)
    network = Residual(erf, 1.2, 0.2, 1.0)
    assert found[10] == pytest.approx(network.two_time_sums(1.4, 10)[0], rel=1e-9)


@pytest.mark.sample(1, every="name")
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_three_forms_of_one_theory(name, setting):
    network = Residual(ACTIVATIONS[name], **setting)
    theory = derived(sr.residual(name, xi=sr.xi))
    for depth in (1, 2, 5):
        P, V = network.two_time_sums(0.8, depth)
        assert theory.vertex(depth, 0.8, **setting)[-1] == pytest.approx(V, rel=1e-12)
        assert theory.kernel_fluctuation(depth, 0.8, **setting)[-1] == pytest.approx(P, rel=1e-12)
        assert network.tower(0.8, depth) == pytest.approx(V, rel=1e-12)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "nu"), [("relu", 5), ("tanh", 2 / 3)])
def test_without_a_skip_connection_it_is_the_vanilla_theory(name, nu):
    """V = P, and V/(K^2 depth) tends to what PDLT derives for perceptrons."""
    theory = derived(sr.mlp(name))
    C_W = 2 if name == "relu" else 1
    found = theory.fluctuations(2000, 1, C_W=C_W, C_b=0)
    half, last = found.states[1000], found.states[2000]
    assert last.V.item() == pytest.approx(last.P.item(), rel=1e-12)
    slope = [s.V.item() / s.kernel.item() ** 2 for s in (half, last)]
    assert (slope[1] - slope[0]) / 1000 == pytest.approx(nu, rel=2e-3)


@pytest.mark.exhaustive
def test_nothing_blows_up_where_layers_become_the_identity():
    theory = derived(sr.residual("relu"))
    found = [theory.vertex(50, 1, C_W=2 * (1 - g * g), C_b=0, gamma=g)[-1] for g in (0.99, 0.999, 0.9999)]
    assert found[0] > found[1] > found[2] > 0


# P, V and the covariance of two functions that are not the kernel, of notes that two derivations agree on
LAYERS = {
    "mlp": (lambda: sr.mlp("tanh"), 0.13599, 0.13599),
    "residual": (lambda: sr.residual("erf", xi=sr.xi), 0.17248, 0.69750),
    "pre-LN": (lambda: sr.pre_ln("relu", gamma=sr.gamma), 0.44554, 0.44554),
    "GLU": (lambda: layer("gamma*z + Dense(phi(Dense(z))*Dense(z))", "sigmoid"), 20.248, 27.578),
    "RMSNorm": (lambda: layer("gamma*z + Dense(phi(RMSNorm(z)))", "relu"), 3.9803, 3.9803),
    "of a sum": (lambda: layer("Dense(phi(gamma*z + Dense(erf(z))))", "tanh"), 0.21215, 0.21215),
    "post-LN": (lambda: layer("LayerNorm(z + Dense(phi(z)))", "relu"), 2, -2),
    "normed branch": (lambda: layer("z + LayerNorm(Dense(phi(z)))", "relu"), 6, -6),
}


def layer(equation, phi):
    return written(equation, sr.activation(phi))


def shared_source():
    h = sr.Dense(sr.z)
    return sr.Layer(sr.gamma * sr.z + sr.Dense(sr.activation("tanh")(h) * h))


def reused_branch():
    h = sr.Dense(sr.activation("tanh")(sr.z))
    return sr.Layer(sr.gamma * sr.z + sr.xi * h + sr.Dense(sr.activation("erf")(h)))


LAYERS["shared source"] = shared_source, 1216.5, 1373.3
LAYERS["reused branch"] = reused_branch, 0.76391, 2.7924


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_every_kind(name):
    build, P, V = LAYERS[name]
    made = build()
    setting = {"C_W": 1.3, "C_b": 0.1, "gamma": 0.8, "xi": 0.7}
    own = {s.name: setting[s.name] for s in made.parameters}
    found = derived(made).fluctuations(3, 1, **own).states[3]
    assert found.P.item() == pytest.approx(P, rel=5e-5)
    assert found.V.item() == pytest.approx(V, rel=5e-5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["residual", "pre-LN", "post-LN"])
def test_two_inputs_contain_each_of_them(name):
    made = LAYERS[name][0]()
    setting = {"C_W": 1.3, "C_b": 0.1, "gamma": 0.8, "xi": 0.7}
    own = {s.name: setting[s.name] for s in made.parameters}
    both = derived(made).vertex(3, [[1.0, 0.4], [0.4, 1.7]], **own)
    for place, K in enumerate((1.0, 1.7)):
        one = derived(made).vertex(3, K, **own)
        assert [V[(place,) * 4] for V in both] == pytest.approx(one, rel=1e-10, abs=1e-13)
    V = both[-1]
    assert np.allclose(V, V.transpose(1, 0, 2, 3), rtol=1e-12)
    assert np.allclose(V, V.transpose(2, 3, 0, 1), rtol=1e-12)


@pytest.mark.exhaustive
def test_two_nearly_equal_inputs():
    own = {"C_W": 1.3, "C_b": 0.1, "gamma": 0.8}
    V = derived(sr.residual("tanh")).vertex(3, [[1, "0.999999"], ["0.999999", 1]], **own)[-1]
    one = derived(sr.residual("tanh")).vertex(3, 1, **own)[-1]
    assert V[0, 1, 0, 1] == pytest.approx(one, rel=1e-4)
    nearer = derived(sr.residual("tanh")).vertex(3, [[1, 1 - 1e-9], [1 - 1e-9, 1]], **own)[-1]
    slopes = [(v[0, 1, 0, 1] / one - 1) / apart for v, apart in ((V, 1e-6), (nearer, 1e-9))]
    assert slopes[1] == pytest.approx(slopes[0], rel=1e-5)


def test_covariances_of_other_functions():
    """Of z^2 it is V; of odd functions of two neurons of a perceptron without memory they vanish."""
    own = {"C_W": 1.3, "C_b": 0.1, "gamma": 0.8, "xi": 0.7}
    theory = derived(sr.residual("relu", xi=sr.xi))
    found = theory.covariance("z^2", lambda z: z**2, 4, 1, **own)
    assert found == pytest.approx(theory.vertex(4, 1, **own)[4], rel=1e-12)
    assert 0 < found.error < 1e-10
    # after one layer n Cov(z_i, z_j^2) = gamma xi^2 C_W <z phi^2>
    odd = theory.covariance("z", sr.z**2, 1, 1, **own)
    third = float(mp.quad(lambda t: t**3 * mp.npdf(t), [0, 20]))
    assert odd == pytest.approx(0.8 * 0.49 * 1.3 * third, rel=1e-12)
    assert derived(sr.mlp("relu")).covariance("z", "z^2", 3, 1, C_W=2, C_b=0) == pytest.approx(0, abs=1e-14)


def test_layers_of_different_kinds_and_parameters():
    listed = sr.network([sr.residual("tanh"), sr.pre_ln("relu", gamma=sr.gamma), sr.mlp("gelu")])
    found = listed.vertex(1, C_W=[1.0, 1.5, 2.0], C_b=0.1, gamma=[0.5, 0.8, 0])
    assert len(found) == 4
    assert all(v > 0 for v in found[1:])
    first = derived(sr.residual("tanh")).vertex(1, 1, C_W=1, C_b=0.1, gamma=0.5)
    assert found[1] == pytest.approx(first[1], rel=1e-13)


def test_the_stated_error_covers_what_is_left_out(monkeypatch):
    """With 64 Hermite coefficients of relu, where neurons remember long: the truth is within, and not far within."""
    monkeypatch.setattr(fluctuations, "_DEGREES", {1: (64,)})
    setting = {"C_W": repr(2 * (1 - 0.97**2)), "C_b": 0, "gamma": "0.97"}
    found = derived(sr.residual("relu")).vertex(20, 1, **setting)
    for depth in (2, 8, 20):
        missed = abs(found[depth] - relu_vertex(0.97, depth))
        assert 1e-12 * found[depth] < missed < found.errors[depth] < 100 * missed


def test_errors_of_averages_are_in_the_stated_error():
    states = derived(sr.residual("tanh")).fluctuations(2, 1, C_W=1, C_b=0, gamma=0.5).states
    without, with_ = (fluctuations.DeepFluctuations(states, error).errors for error in (0.0, 1e-3))
    largest = [float(np.max(np.abs(s.D))) for s in states]
    assert [b - a for a, b in zip(without, with_, strict=True)] == pytest.approx([1e-3 * D for D in largest])
    assert without[2] > 0


@pytest.mark.parametrize("K", ["1e5", "1e9"])
def test_activations_that_are_steps_on_the_scale_of_the_stream(K):
    """V^1 = C_W^2 (<erf^4> - <erf^2>^2) falls like 1/sqrt(K)."""
    found = derived(sr.mlp("erf")).vertex(1, K, C_W="1.5", C_b="0.1")
    fourth, second = (sr.expect(f"erf(z)^{power}").evalf(25, K=K) for power in (4, 2))
    assert found[1] == pytest.approx(float(2.25 * (fourth - second**2)), rel=1e-11)
    assert found.errors[1] < 1e-9 * found[1]


@pytest.mark.exhaustive
def test_kinks_need_many_coefficients_and_say_what_is_left():
    found = derived(sr.residual("hard_tanh", gamma=1, xi=sr.xi)).vertex(10, 1, C_W=1, C_b=0, xi="0.2")
    assert 0 < found.errors[-1] < 1e-7 * found[-1]


def test_populations_of_other_widths_are_independent():
    response = LayerResponse(sr.Layer(sr.z + sr.Dense(sr.activation("relu")(sr.Dense(sr.z, width=2)))).program)
    first, second = response.averages
    assert response.covariance(first, second) == 0
    assert response.averages[second].width == 2
