"""The vertex as a recursion in averages at two times, against the independent recursion in Hermite polynomials."""

import mpmath as mp
import pytest

import symres as sr
from symres.core.symbols import K1, K2, C
from symres.theory.depth.depth_procedures import noise_functions
from tests.shared import derived

OWN = {"C_W": "1.4", "C_b": "0.2", "gamma": "0.8"}
LAYERS = {
    "relu": lambda: sr.residual("relu"),
    "tanh": lambda: sr.residual("tanh"),
    "pre_ln relu": lambda: sr.pre_ln("relu", gamma=sr.gamma),
    "block": lambda: sr.two_layer_block("tanh", gamma=sr.gamma, xi=1),
    "mlp": lambda: sr.mlp("gelu"),
    "erf": lambda: sr.residual("erf"),
    "gelu": lambda: sr.residual("gelu"),
    "pre_ln tanh": lambda: sr.pre_ln("tanh", gamma=sr.gamma),
    "rms_norm": lambda: sr.Layer(sr.gamma * sr.z + sr.Dense(sr.activation("relu")(sr.RMSNorm(sr.z)))),
}


def by_recursion(procedure, depth, K, own):
    """P and V, from enclosed values of the functions."""
    functions = {q.name: q for q in procedure.functions}

    def value(name, **kernels):
        if name not in functions:
            return mp.mpf(0)
        symbols = {s.name for s in functions[name].symbols}
        return functions[name].evalf(18, **{n: v for n, v in {**own, **kernels}.items() if n in symbols})

    P, G, K, before = [mp.mpf(0)], [mp.mpf(0)], mp.mpf(K), []
    for _ in range(depth):
        slope, weight = value("chi_parallel", K=K), value("memory", K=K)
        before = [(k, slope * a, c) for k, a, c in before]
        across = sum(a * value("memory_noise", K1=k, K2=K, C=c) for k, a, c in before)
        P.append(slope**2 * P[-1] + value("noise", K=K) + 2 * across)
        G.append(slope * weight**2 * G[-1] + value("stream_noise", K=K))
        before = [(k, a, weight * c) for k, a, c in [*before, (K, mp.mpf(1), K)]]
        K = value("kernel_map", K=K)
    return P, [p + 2 * g for p, g in zip(P, G, strict=True)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_both_recursions_agree(name):
    layer = LAYERS[name]()
    theory, own = derived(layer), {s.name: OWN[s.name] for s in layer.parameters}
    P, V = by_recursion(theory.vertex_recursion, 6, "0.6", own)
    assert [float(v) for v in V] == pytest.approx(theory.vertex(6, "0.6", **own), rel=1e-12)
    assert [float(p) for p in P] == pytest.approx(theory.kernel_fluctuation(6, "0.6", **own), rel=1e-12)


def test_the_stationary_law_is_a_special_case():
    """Of relu, nu is what two times at one kernel add up to."""
    noise, later, _ = noise_functions(derived(sr.residual("relu")))
    gamma, own = mp.mpf("0.5"), {"C_W": "3/2"}  # critical
    across = mp.nsum(lambda d: later.evalf(20, K1=1, K2=1, C=gamma ** int(d), **own), [1, mp.inf])
    nu = derived(sr.residual("relu")).nu.evalf(gamma="1/2")
    assert float(noise.evalf(20, K=1, **own) + 2 * across) == pytest.approx(float(nu), rel=1e-12)


def test_two_times_are_told_by_two_kernels_and_a_covariance():
    _, later, _ = noise_functions(derived(sr.residual("tanh")))
    assert later.symbols[:3] == (K1, K2, C)
    assert later.status is sr.Status.NUMERIC and later.reason
    assert later.evalf(K1=1, K2=2, C=0, C_W=1) == pytest.approx(0, abs=1e-30)
    same = later.evalf(K1="0.7", K2="0.7", C="0.7", C_W="1.3")
    assert same == pytest.approx(float(noise_functions(derived(sr.residual("tanh")))[0].evalf(K="0.7", C_W="1.3")))


def test_functions_that_vanish_are_left_out():
    names = [q.name for q in derived(sr.mlp("relu")).vertex_recursion.functions]
    assert names == ["kernel_map", "chi_parallel", "noise"]


def test_gates_that_are_drawn_afresh_have_the_form():
    phi = sr.activation("relu")
    glu = derived(sr.Layer(sr.gamma * sr.z + sr.Dense(phi(sr.Dense(sr.z)) * sr.Dense(sr.z))))
    assert glu.vertex_recursion.functions  # the gates are drawn afresh in each layer
