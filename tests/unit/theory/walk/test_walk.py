"""The walk and the tangent rule: definitions of maps in averages, for layers that nobody gave formulas for."""

import math

import numpy as np
import pytest
import sympy as sp

from symres.activations.catalogue import activation
from symres.core.errors import UnsupportedLayer
from symres.core.symbols import C_W, K1, K2, C, C_b, K, Theta, gamma, x1, x2, xi, z
from symres.gaussian.calculus.expectation import Expectation
from symres.layers.architectures import mlp, residual
from symres.layers.layer import Layer
from symres.layers.nodes import Dense, Node
from symres.results.quantity import Status
from symres.theory.theory import derive
from symres.theory.walk.tangent import tangent
from symres.theory.walk.walk import ONE_INPUT, TWO_INPUTS, Walk

tanh, erf, gelu, sign = (activation(name) for name in ("tanh", "erf", "gelu", "sign"))


def written_out(walk, expression):
    for symbol, value in reversed(walk.assignments):
        expression = expression.xreplace({symbol: value})
    return expression


def one(layer):
    walk = Walk(layer.program, ONE_INPUT)
    return written_out(walk, walk.stream(0, 0))


def perp(layer):
    walk = Walk(layer.program, ONE_INPUT)
    return written_out(walk, tangent(walk, 0, 0, sp.Integer(1)))


def test_the_residual_maps_are_pdlt_b11_to_b16():
    layer = residual(gelu, xi=xi)
    walk = Walk(layer.program, TWO_INPUTS)
    two = written_out(walk, walk.stream(1, 2))
    assert sp.expand(one(layer) - (gamma**2 * K + xi**2 * (C_b + C_W * Expectation(gelu(x1) ** 2, K)))) == 0
    expected = gamma**2 * C + xi**2 * (C_b + C_W * Expectation(gelu(x1) * gelu(x2), K1, C, K2))
    assert sp.expand(two - expected) == 0
    assert sp.expand(perp(layer) - (gamma**2 + xi**2 * C_W * Expectation(gelu(x1).diff(x1) ** 2, K))) == 0


def test_a_nested_layer_chains_its_variances():
    inner = C_b + C_W * Expectation(erf(x1) ** 2, K)
    layer = Layer(gamma * z + Dense(tanh(Dense(erf(z)))))
    assert sp.expand(one(layer) - (gamma**2 * K + C_b + C_W * Expectation(tanh(x1) ** 2, inner))) == 0
    slopes = Expectation(erf(x1).diff(x1) ** 2, K) * Expectation(tanh(x1).diff(x1) ** 2, inner)
    assert sp.expand(perp(layer) - (gamma**2 + C_W**2 * slopes)) == 0


def test_an_activation_of_a_sum_is_one_variable():
    layer = Layer(Dense(tanh(gamma * z + Dense(z))))
    inner = gamma**2 * K + C_b + C_W * K
    assert sp.expand(one(layer) - (C_b + C_W * Expectation(tanh(x1) ** 2, inner))) == 0


def test_independent_factors_separate():
    layer = Layer(Dense(erf(Dense(z)) * Dense(z)))
    inner = C_b + C_W * K
    expected = C_b + C_W * Expectation(erf(x1) ** 2, inner) * inner
    assert sp.expand(one(layer) - expected) == 0


def test_one_draw_used_twice_is_one_variable():
    h = Dense(z)
    inner = C_b + C_W * K
    assert sp.expand(one(Layer(Dense(erf(h) * h))) - (C_b + C_W * Expectation(x1**2 * erf(x1) ** 2, inner))) == 0


def test_a_statistic_enters_the_variance():
    class Standardised(Node):
        """u divided by its root mean square."""

        def lower(self, program, u):
            return u / sp.sqrt(program.mean(u**2))

        def sample(self, net, u):
            return u / net.mean(u**2) ** 0.5

    walk = Walk(Layer(Dense(tanh(Standardised(z)))).program, ONE_INPUT)
    ((_, variance),) = walk.assignments
    assert variance == C_b + C_W * Expectation(tanh(x1) ** 2, 1)


def test_the_tangent_kernel_adds_each_layers_own_parameters():
    walk = Walk(mlp(erf).program, TWO_INPUTS)
    value = written_out(walk, tangent(walk, 1, 2, Theta, (1, 1)))
    own = C_b + C_W * Expectation(erf(x1) * erf(x2), K1, C, K2)
    slope = C_W * Expectation(erf(x1).diff(x1) * erf(x2).diff(x2), K1, C, K2)
    assert sp.expand(value - (own + slope * Theta)) == 0


def test_a_jump_makes_the_mean_squared_slope_infinite():
    assert perp(mlp(sign)) == sp.oo


def test_the_tangent_of_a_jump_between_two_inputs_is_a_density():
    walk = Walk(mlp(sign).program, TWO_INPUTS)
    value = tangent(walk, 1, 2, sp.Integer(1))
    assert sp.simplify(value - C_W * 2 / (sp.pi * sp.sqrt(K1 * K2 - C**2))) == 0


def test_three_variables_in_one_product_are_refused():
    a, b, c = Dense(z), Dense(z), Dense(z)
    with pytest.raises(UnsupportedLayer, match="Gaussian variables"):
        one(Layer(Dense(tanh(a + b) * erf(b + c) * gelu(a + c))))


def test_maps_of_one_input_exist_where_two_inputs_have_too_many_variables():
    """<erf(z)^2 relu(z + y)^2> has two variables, the covariance of two inputs four."""
    theory = derive(Layer(z / 2 + Dense(erf(z) * activation("relu")(z + Dense(z)))))
    assert theory.covariance_map.status is theory.ntk_map.status is Status.UNKNOWN
    assert "4 correlated" in theory.covariance_map.reason
    k, weight, bias = 0.9, 1.4, 0.3
    nodes, mass = np.polynomial.hermite_e.hermegauss(120)
    mass = mass / mass.sum()
    x = math.sqrt(k) * nodes
    spread = math.sqrt(bias + weight * k)  # of y: <max(x + y, 0)^2> by hand
    t = x / spread
    rising = np.array([(1 + math.erf(v / math.sqrt(2))) / 2 for v in t])
    density = np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
    squared = (x**2 + spread**2) * rising + x * spread * density
    average = (mass * np.array([math.erf(v) for v in x]) ** 2 * squared).sum()
    found = theory.kernel_map.evalf(K=k, C_W=weight, C_b=bias)
    assert float(found) == pytest.approx(k / 4 + bias + weight * average, rel=1e-10)
    assert theory.kernels(1, k, C_W=weight, C_b=bias)[1] == pytest.approx(found, rel=1e-14)
