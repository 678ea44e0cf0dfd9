"""Identities that hold for every layer and cost nothing to demand."""

import pytest
import sympy as sp

from symres.activations.catalogue import activation
from symres.core.symbols import K1, K2, C, gamma, z
from symres.functions.balls import enclose
from symres.layers.architectures import mlp, residual
from symres.layers.layer import Layer
from symres.layers.nodes import Dense
from symres.theory.quantities.build import build
from symres.theory.theory import derive
from symres.theory.walk.tangent import tangent

tanh, erf, gelu, relu, sin = (activation(name) for name in ("tanh", "erf", "gelu", "relu", "sin"))
h = Dense(erf(z))

LAYERS = {
    "mlp gelu": mlp(gelu),
    "mlp relu": mlp(relu),
    "mlp tanh": mlp(tanh),
    "residual erf": residual(erf),
    "residual sin": residual(sin),
    "nested": Layer(gamma * z + Dense(tanh(Dense(erf(z))))),
    "nested exact": Layer(gamma * z + Dense(gelu(Dense(erf(z))))),
    "gated": Layer(gamma * z + Dense(erf(Dense(z)) * Dense(z))),
    "shared draw": Layer(gamma * z + Dense(erf(h) * h)),
    "activation of a sum": Layer(Dense(erf(gamma * z + Dense(sin(z))))),
    "branch used twice": Layer(gamma * z + h + Dense(erf(h))),
}
PARAMETERS = {"C_W": sp.Rational(13, 10), "C_b": sp.Rational(1, 7), "gamma": sp.Rational(4, 5)}


def settings(quantity, **kernels):
    return {s.name: {**PARAMETERS, **kernels}[s.name] for s in quantity.symbols}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_the_slope_of_the_covariance_is_the_tangent_between_two_inputs(name):
    theory = derive(LAYERS[name])
    walk = theory.walks.two
    rule = build("tangent", (K1, K2, C), tangent(walk, 1, 2, sp.Integer(1)), walk.assignments)
    kernels = {"K1": sp.Rational(3, 2), "K2": sp.Rational(4, 5), "C": sp.Rational(-1, 3)}
    slope = theory.covariance_slope
    left, right = slope.evalf(15, **settings(slope, **kernels)), rule.evalf(15, **settings(rule, **kernels))
    assert abs(left / right - 1) < 1e-12
    # and it is the slope: a central difference of the map itself, exact to the square of the step
    step, covariance_map = sp.Rational(1, 10**4), theory.covariance_map
    shifted = [
        covariance_map.evalf(15, **settings(covariance_map, **{**kernels, "C": kernels["C"] + sign * step}))
        for sign in (1, -1)
    ]
    assert abs((shifted[0] - shifted[1]) / float(2 * step) / left - 1) < 1e-6


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


@pytest.mark.parametrize("name", ["mlp gelu", "residual erf", "gated", "nested exact", "shared draw"])
def test_steins_average_is_the_derivative_of_the_closed_form(name):
    """Two independent ways to chi_parallel: Stein's lemma under the average, and d/dK of the closed kernel map."""
    theory = derive(LAYERS[name])
    difference = theory.kernel_map.expr.diff(theory.kernel_map.symbols[0]) - theory.chi_parallel.expr
    point = {s: PARAMETERS.get(s.name, sp.Rational(6, 5)) for s in theory.kernel_map.symbols}
    assert abs(enclose(difference.subs(point), {}, 200)) < 1e-50


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_proofs_replay(name):
    for quantity in derive(LAYERS[name]).quantities.values():
        assert quantity.proof.replay() == quantity.expr
