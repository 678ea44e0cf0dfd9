"""Normalisers with epsilon: maps against plain quadrature and closed forms written by hand, and against networks."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.check import Budget, Outcome, check
from tests.oracles.average import average_of_pair
from tests.oracles.kernels import FakeTheory

EPSILON = sp.Symbol("epsilon", positive=True)
NUMBERS = {"C_W": "1.3", "C_b": "0.2", "gamma": "0.6", "epsilon": "0.5"}


def before(node, name):
    """A skip and Dense(phi(node(z)))."""
    return sr.Layer(sr.gamma * sr.z + sr.Dense(sr.activation(name)(node(sr.z, epsilon=EPSILON))))


def after(node, name):
    """A skip and Dense(node(phi(z)))."""
    return sr.Layer(sr.gamma * sr.z + sr.Dense(node(sr.activation(name)(sr.z), epsilon=EPSILON)))


PHI = {"tanh": np.tanh, "softplus": lambda u: np.logaddexp(u, 0)}


def plain(place, node, name, K1, K2, C):
    """C' by quadrature, from the definition of the layer."""
    C_W, C_b, gamma, epsilon = (float(NUMBERS[key]) for key in ("C_W", "C_b", "gamma", "epsilon"))
    phi = PHI[name]

    def entering(K):
        """What enters the Dense, of a neuron."""
        normed = (lambda z: z) if place is before else phi
        mean = average_of_pair(normed, np.ones_like, K, K, K) if node is sr.LayerNorm else 0.0
        centred = lambda z: normed(z) - mean  # noqa: E731
        size = np.sqrt(average_of_pair(centred, centred, K, K, K) + epsilon)
        return lambda z: phi(centred(z) / size) if place is before else centred(z) / size

    return gamma**2 * C + C_b + C_W * average_of_pair(entering(K1), entering(K2), K1, K2, C)


CASES = [(before, sr.LayerNorm, "tanh"), (after, sr.LayerNorm, "softplus"), (after, sr.RMSNorm, "softplus")]


def value(quantity, **kernels):
    own = {s.name: NUMBERS[s.name] for s in quantity.symbols if s.name in NUMBERS}
    return float(quantity.evalf(20, **kernels, **own))


@pytest.mark.parametrize(("place", "node", "name"), CASES)
def test_maps_are_those_of_quadrature(place, node, name):
    theory = sr.derive(place(node, name))
    K1, K2, C, step = 0.9, 0.6, 0.3, 1e-3
    assert value(theory.covariance_map, K1=K1, K2=K2, C=C) == pytest.approx(
        plain(place, node, name, K1, K2, C), rel=1e-10
    )

    def kernel(K):
        return plain(place, node, name, K, K, K * (1 - 1e-14))

    assert value(theory.kernel_map, K=K1) == pytest.approx(kernel(K1), rel=1e-10)
    slope = (kernel(K1 + step) - kernel(K1 - step)) / (2 * step)
    assert value(theory.chi_parallel, K=K1) == pytest.approx(slope, rel=1e-5)
    near = [(kernel(K1) - plain(place, node, name, K1, K1, K1 * (1 - e))) / (K1 * e) for e in (2e-4, 1e-4)]
    assert value(theory.chi_perp, K=K1) == pytest.approx(2 * near[1] - near[0], rel=1e-6)


def test_relu_after_which_epsilon_stands_has_closed_forms():
    """Mean square K/2, variance K (1/2 - 1/(2 pi)), and <relu'^2> = 1/2."""
    K, epsilon, C_W, C_b, gamma = mp.mpf("0.9"), mp.mpf("0.5"), mp.mpf("1.3"), mp.mpf("0.2"), mp.mpf("0.6")
    for node, share in ((sr.RMSNorm, mp.mpf(1) / 2), (sr.LayerNorm, mp.mpf(1) / 2 - 1 / (2 * mp.pi))):
        theory = sr.derive(after(node, "relu"))
        own = share * K
        expected = {
            "kernel_map": gamma**2 * K + C_b + C_W * own / (own + epsilon),
            "chi_parallel": gamma**2 + C_W * share * epsilon / (own + epsilon) ** 2,
            "chi_perp": gamma**2 + C_W / 2 / (own + epsilon),
        }
        for name, number in expected.items():
            quantity = getattr(theory, name)
            assert quantity.status is sr.Status.EXACT
            assert abs(value(quantity, K=K) - number) < 1e-14


def test_epsilon_that_vanishes_is_none():
    small = sr.derive(before(sr.LayerNorm, "erf").subs(epsilon="1e-12"))
    none = sr.derive(sr.pre_ln("erf", sr.gamma))
    for name in ("kernel_map", "chi_perp"):
        one, other = (value(getattr(theory, name), K="0.9") for theory in (small, none))
        assert one == pytest.approx(other, rel=1e-11) and one != other


@pytest.mark.exhaustive
@pytest.mark.parametrize(("place", "node"), [(before, sr.LayerNorm), (after, sr.RMSNorm)])
def test_networks_agree_and_refute_what_forgets_epsilon(place, node):
    layer = place(node, "erf").subs(epsilon="1/2")
    names = ("kernel_map", "covariance_map", "chi_perp")
    budget = Budget(precision=0.008)
    right = sr.derive(layer)
    report = check(right, "simulation", quantities=names, depth=1, budget=budget)
    assert Outcome.REFUTED not in {v.outcome for v in report.verdicts}
    assert sum(v.outcome is Outcome.PASSED for v in report.verdicts) >= 3
    forgetful = sr.derive(place(node, "erf").subs(epsilon=0))
    wrong = FakeTheory(layer.forward, {name: getattr(forgetful, name) for name in names})
    rows = check(wrong, "simulation", depth=1, budget=budget).verdicts
    assert {v.outcome for v in rows if v.quantity in names} == {Outcome.REFUTED}


@pytest.mark.parametrize("node", [sr.LayerNorm, sr.RMSNorm, sr.BatchNorm])
def test_epsilon_is_shown(node):
    assert str(node(sr.z, epsilon="1/2")) == f"{node.__name__}(z, epsilon=1/2)"
    assert str(node(sr.z)) == f"{node.__name__}(z)"
