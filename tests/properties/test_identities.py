"""Identities that hold for every layer and cost nothing to demand."""

import pytest
import sympy as sp

from symres.activations.catalogue import activation
from symres.core.symbols import gamma, z
from symres.layers.layer import Layer
from symres.layers.nodes import Dense
from symres.theory.theory import derive
from tests.oracles.layers import BUILD

tanh, erf, gelu = (activation(name) for name in ("tanh", "erf", "gelu"))
h = Dense(erf(z))
KINDS = {"mlp": ("gelu", "relu", "tanh"), "residual": ("erf", "sin"), "glu": ("erf",), "of_a_sum": ("sin",)}
LAYERS = {f"{kind} {phi}": BUILD[kind](phi) for kind, names in KINDS.items() for phi in names} | {
    "nested": Layer(gamma * z + Dense(tanh(Dense(erf(z))))),
    "nested exact": Layer(gamma * z + Dense(gelu(Dense(erf(z))))),
    "shared draw": Layer(gamma * z + Dense(erf(h) * h)),
    "branch used twice": Layer(gamma * z + h + Dense(erf(h))),
}
PARAMETERS = {"C_W": sp.Rational(13, 10), "C_b": sp.Rational(1, 7), "gamma": sp.Rational(4, 5)}


def settings(quantity, **kernels):
    return {s.name: {**PARAMETERS, **kernels}[s.name] for s in quantity.symbols}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_the_slope_of_the_covariance_is_a_difference_of_the_map(name):
    theory = derive(LAYERS[name])
    kernels = {"K1": sp.Rational(3, 2), "K2": sp.Rational(4, 5), "C": sp.Rational(-1, 3)}
    slope, covariance_map, step = theory.covariance_slope, theory.covariance_map, sp.Rational(1, 10**4)
    above, below = (
        covariance_map.evalf(15, **settings(covariance_map, **(kernels | {"C": kernels["C"] + sign * step})))
        for sign in (1, -1)
    )
    assert abs((above - below) / float(2 * step) / slope.evalf(15, **settings(slope, **kernels)) - 1) < 1e-6


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_equal_inputs_are_one_input(name):
    theory = derive(LAYERS[name])
    k = sp.Rational(7, 5)
    covariance_map, kernel_map = theory.covariance_map, theory.kernel_map
    two = covariance_map.evalf(14, **settings(covariance_map, K1=k, K2=k, C=k))
    one = kernel_map.evalf(15, **settings(kernel_map, K=k))
    assert abs(two / one - 1) < 1e-12


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", LAYERS)
def test_chi_parallel_is_the_slope_of_the_kernel_map(name):
    theory = derive(LAYERS[name])
    k, step = sp.Rational(9, 10), sp.Rational(1, 10**8)
    kernel_map, parallel = theory.kernel_map, theory.chi_parallel
    values = [kernel_map.evalf(30, **settings(kernel_map, K=k + sign * step)) for sign in (1, -1)]
    slope = (values[0] - values[1]) / (2 * sp.N(step, 30))
    assert abs(slope / parallel.evalf(25, **settings(parallel, K=k)) - 1) < 1e-13


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_proofs_replay(name):
    for quantity in derive(LAYERS[name]).quantities.values():
        assert quantity.proof.replay() == quantity.expr
