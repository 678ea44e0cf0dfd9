"""The walk and its tangents: definitions of maps in averages, for layers that nobody gave formulas for."""

import math

import numpy as np
import pytest
import sympy as sp

from symres.activations.catalogue import activation
from symres.core.errors import UnsupportedLayer
from symres.core.symbols import C_W, K1, K2, C, C_b, K, Theta, gamma, x1, x2, xi, z
from symres.gaussian.calculus.expectation import Expectation
from symres.layers.architectures import ln_act, mlp, pre_ln, residual, two_layer_block
from symres.layers.layer import Layer
from symres.layers.nodes import Dense, Node
from symres.layers.normalisation import LayerNorm, RMSNorm
from symres.results.quantity import Status
from symres.theory.quantities.build import build
from symres.theory.theory import derive
from symres.theory.walk.assignments import total_derivative
from symres.theory.walk.tangent import TangentWalk, chi_delta, tangent, tangent_of
from symres.theory.walk.walk import ONE_INPUT, TWO_INPUTS, Walk

tanh, erf, gelu, sign = (activation(name) for name in ("tanh", "erf", "gelu", "sign"))

h = Dense(gelu(z))

LAYERS = {
    "residual": residual(gelu),
    "pre_ln": pre_ln(erf, gamma=gamma),
    "ln_act": ln_act(gelu, gamma=gamma),
    "post_ln": Layer(gamma * z + LayerNorm(z + Dense(erf(z)))),
    "rms": Layer(gamma * z + RMSNorm(Dense(gelu(LayerNorm(z + Dense(z)))))),
    "block": two_layer_block(gelu),
    "gated": Layer(gamma * z + Dense(erf(Dense(z)) * Dense(z))),
    "gated stream": Layer(z / 2 + Dense(erf(z) * Dense(z))),
    "branch used twice": Layer(gamma * z + h + Dense(erf(h))),
    "activation of a sum": Layer(Dense(erf(gamma * z + Dense(gelu(z))))),
}
NORMALISED = [name for name, layer in LAYERS.items() if layer.program.divisors]
POINT = {C_W: "1.3", C_b: "0.2", gamma: "0.8", xi: "0.7", K: "1.4", K1: "1.4", K2: "0.9", C: "0.5"}


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


def value(walk, expression):
    quantity = build("value", walk.arguments, expression, walk.assignments)
    return quantity.evalf(15, **{s.name: POINT[s] for s in quantity.symbols})


def scaled(walk, kind=TangentWalk):
    """The walk with the tangents of z -> (1 + eps) z, whose covariances are those of the stream."""
    pairs = {(a, b): walk.covariance(z, a, b) for a in walk.inputs for b in walk.inputs}
    mixed = {(a, tangent_of(b)): value for (a, b), value in pairs.items()}
    return kind(walk, mixed | {(tangent_of(a), tangent_of(b)): pairs[a, b] for a, b in walk.kernel})


def slope(walk, a, b, s):
    return total_derivative(walk.stream(a, b), walk.assignments, s)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", LAYERS)
def test_scaling_the_stream_moves_the_kernel_by_chi_parallel(name):
    """dK'/deps = 2 <z' dz'/deps>, and dK/deps = 2K."""
    walk = Walk.of_one(LAYERS[name].program)
    response = scaled(walk).stream(0, tangent_of(0)) / K
    assert value(walk, response) == pytest.approx(value(walk, slope(walk, 0, 0, K)), rel=1e-12)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["residual", "pre_ln", "ln_act", "post_ln", "block", "gated stream"])
def test_scaling_two_inputs_moves_their_covariance_by_all_its_slopes(name):
    walk = Walk.of_two(LAYERS[name].program)
    moved = scaled(walk)
    response = moved.stream(1, tangent_of(2)) + moved.stream(2, tangent_of(1))
    expected = sum(2 * k * slope(walk, 1, 2, k) for k in (K1, K2, C))
    assert value(walk, response) == pytest.approx(value(walk, expected), rel=1e-10)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", NORMALISED)
def test_the_tangent_between_two_inputs_is_the_slope_of_the_covariance(name):
    walk = Walk.of_two(LAYERS[name].program)
    found = value(walk, tangent(walk, 1, 2, sp.Integer(1)))
    assert found == pytest.approx(value(walk, slope(walk, 1, 2, C)), rel=1e-10)


@pytest.mark.parametrize("name", ["pre_ln", "ln_act", "post_ln"])
@pytest.mark.parametrize("factor", [0, 1.01])
def test_a_wrong_response_of_statistics_is_seen(name, factor):
    class Wrong(TangentWalk):
        def _mean(self, mean):
            super()._mean(mean)
            self._statistics[mean.name, tangent_of(0)] *= sp.Rational(str(factor))

    walk = Walk.of_one(LAYERS[name].program)
    response = scaled(walk, Wrong).stream(0, tangent_of(0)) / K
    assert abs(value(walk, response) - value(walk, slope(walk, 0, 0, K))) > 1e-4


def test_a_source_that_does_not_change_may_jump():
    """sign(y) of a neuron y that no input reaches: gates at random, with infinite slope in y but none in z."""
    layer = Layer(Dense(gelu(z) * sign(Dense(sp.Integer(1)))))
    gated, plain = (Walk.of_one(each.program) for each in (layer, mlp(gelu)))
    for rule in (chi_delta, lambda walk: tangent(walk, 0, 0, sp.Integer(1))):
        assert value(gated, rule(gated)) == pytest.approx(value(plain, rule(plain)), rel=1e-12)
