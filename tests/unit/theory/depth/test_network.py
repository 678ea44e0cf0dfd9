"""Networks: kernels, tangent kernels and Jacobians layer by layer, against 50-digit iteration by hand."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from tests.oracles import deep
from tests.oracles.layers import BUILD

DIGITS = 50
WEIGHT, BIAS, GAMMA = mp.mpf(13) / 10, mp.mpf(1) / 10, mp.mpf(6) / 10


NAMES = ["relu", "erf", "sin", "gelu", "max(z, z/100)"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("depth", [1, 2, 5, 20])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("build", ["mlp", "residual"])
@pytest.mark.parametrize("start", [(1, 2, "0.3"), ("0.7", "0.7", "0.7"), ("0.5", 2, "-0.9")])
def test_dual_kernels_agree_with_50_digits(depth, name, build, start):
    gamma = 0 if build == "mlp" else GAMMA
    with mp.workdps(DIGITS):
        K1, K2, C = map(mp.mpf, start)
        expected = deep.iterate(name, depth, K1, K2, C, gamma, WEIGHT, BIAS)
        others = [deep.iterate(name, depth, K, K, K, gamma, WEIGHT, BIAS)[0] for K in (K1, K2)]
    layer = sr.mlp(name) if build == "mlp" else sr.residual(name, gamma="0.6")
    found = sr.derive(layer).dual_kernels(depth, *start, C_W="1.3", C_b="0.1")[-1]
    for value, reference in zip(found, (*others, *expected), strict=True):
        assert abs(value / reference - 1) < 1e-14


@pytest.mark.parametrize("name", NAMES)
def test_the_hand_written_slopes_are_those_of_the_averages(name):
    """Price's theorem by differences: a wrong oracle would be seen."""
    with mp.workdps(DIGITS):
        K1, K2, C, h = mp.mpf("0.8"), mp.mpf("1.7"), mp.mpf("-0.4"), mp.mpf(10) ** -16
        up, down = (deep.pair(name)(K1, K2, C + s)[0] for s in (h, -h))
        assert abs((up - down) / (2 * h) / deep.pair(name)(K1, K2, C)[1] - 1) < 1e-29


def test_equal_inputs_keep_one_kernel_exactly():
    last = sr.derive(sr.mlp("relu")).dual_kernels(20, 1, 1, 1, C_W=2, C_b="0.01")[-1]
    assert last.K1 == last.K2 == last.C


def test_a_read_in_and_a_readout_are_layers():
    read_in = sr.Layer(sr.Dense(sr.z))
    network = sr.network([read_in, sr.residual("erf", gamma="1/2"), "erf"])
    (_, first, second, last) = network.dual_kernels(1, 2, "0.3", C_W="1.3", C_b="0.1")
    assert abs(first.C - (BIAS + WEIGHT * mp.mpf("0.3"))) < 1e-17
    assert first.Theta == first.C
    both, slopes = deep.arcsine_pair(*second[:3])
    assert abs(last.C - (BIAS + WEIGHT * both)) < 1e-15
    assert abs(last.Theta - (last.C + WEIGHT * slopes * second.Theta)) < 1e-15


def test_parameters_may_differ_from_layer_to_layer():
    theory = sr.derive(sr.residual("relu"))
    gammas = [0.5, 0.9, 0.1]
    kernels = theory.kernels(3, 1, gamma=gammas, C_W=1, C_b=0)
    for gamma, here, there in zip(gammas, kernels, kernels[1:], strict=False):
        assert abs(there - here * (mp.mpf(str(gamma)) ** 2 + mp.mpf(1) / 2)) < 1e-16
    assert theory.kernels(3, 1, gamma=np.array(gammas), C_W=np.float64(1), C_b=np.array(0)) == kernels
    product = mp.fprod(mp.mpf(str(gamma)) ** 2 + mp.mpf(1) / 2 for gamma in gammas)
    assert abs(theory.jacobian(0, 3, 1, gamma=gammas, C_W=1, C_b=0) - product) < 1e-15
    assert abs(theory.jacobian(1, 2, 1, gamma=gammas[:2], C_W=1, C_b=0) - mp.mpf("1.31")) < 1e-15


def test_a_batch_carries_its_covariance():
    theory = sr.derive(sr.batch_norm("relu", gamma="0.5"))
    kernels = theory.kernels(2, 1, C="0.25", C_W=1, C_b="0.1")
    assert abs(kernels[2] - (mp.mpf("0.25") * (mp.mpf("0.25") + mp.mpf("0.6")) + mp.mpf("0.6"))) < 1e-15


def test_batch_norm_relu_tends_to_the_published_jacobian():
    """chi* = (1 - gamma^2) (pi/(pi - 1))^units + gamma^2: Doshi et al. (26) is the block of two units."""
    for units in (1, 2):
        theory = sr.derive(sr.batch_norm("relu", gamma="0.5", units=units))
        last = theory.network(60).chi_perp(1, C="0.25", C_W=1, C_b="0.1")[-1]
        expected = mp.mpf(3) / 4 * (mp.pi / (mp.pi - 1)) ** units + mp.mpf(1) / 4
        assert abs(last / expected - 1) < 1e-14


def test_the_tangent_kernel_takes_learning_rates():
    """PDLT's lambda_W and lambda_b belong to weights that are not scaled."""
    theory = sr.derive(sr.mlp("erf"))
    values = {"K1": 1, "K2": 2, "C": "0.3", "Theta": "0.7", "C_W": "1.3", "C_b": "0.1"}
    both, slopes = deep.arcsine_pair(mp.mpf(1), mp.mpf(2), mp.mpf("0.3"))
    scaled = theory.tangent_kernel_map("1/2", 3).evalf(**values)
    assert abs(scaled - (WEIGHT * both / 2 + 3 * BIAS + WEIGHT * slopes * mp.mpf("0.7"))) < 1e-14
    unscaled = theory.tangent_kernel_map(1 / sr.C_W, 1 / sr.C_b).evalf(**values)
    assert abs(unscaled - (both + 1 + WEIGHT * slopes * mp.mpf("0.7"))) < 1e-14


VALUES = {"C_W": "1.3", "C_b": "0.2", "gamma": "0.6", "xi": "0.7"}
LAYERS = {
    **{kind: BUILD[kind] for kind in ("mlp", "residual", "pre_ln", "ln_act", "two_layer_block", "post_ln", "glu")},
    **{kind: BUILD[kind] for kind in ("rms_after", "gate")},
    "epsilon": lambda phi: sr.Layer(sr.gamma * sr.z + sr.Dense(sr.activation(phi)(sr.LayerNorm(sr.z, epsilon="1/2")))),
}


def evaluated(quantity, digits=30, **kernels):
    own = {s.name: VALUES[s.name] for s in quantity.symbols if s.name in VALUES}
    return quantity.evalf(digits, **kernels, **own)


@pytest.mark.sample(9)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("name", ["erf", "tanh", "sign"])
def test_the_tangent_between_inputs_is_the_slope_of_the_covariance(layer, name):
    """dC'/dC = off-diagonal tangent: two derivations that share no step."""
    theory = sr.derive(LAYERS[layer](name))
    kernels = {"K1": "1.1", "K2": "0.7", "C": "0.4"}
    one, zero = (evaluated(theory.ntk_map, Theta=theta, **kernels) for theta in (1, 0))
    assert abs(one - zero - evaluated(theory.covariance_slope, **kernels)) < 1e-13


@pytest.mark.parametrize("units", [1, 2])
def test_the_identity_of_batches(units):
    """A change of parameters moves every input of the batch: what they share is taken away again."""
    theory = sr.derive(sr.batch_norm("erf", sr.gamma, units))
    values = {"K": "1.1", "C": "0.4", "C_W": "1.3", "C_b": "0.2", "gamma": "0.6"}
    ntk, slope = theory.ntk_map, theory.covariance_slope
    own = {s.name: values[s.name] for s in (*slope.symbols, *ntk.symbols) if s.name in values}
    pair = {s.name: own[s.name] for s in ntk.symbols if s.name in own}
    difference = ntk.evalf(Theta=1, **pair) - ntk.evalf(Theta=0, **pair)
    assert abs(difference - slope.evalf(**{s.name: own[s.name] for s in slope.symbols})) < 1e-13
    assert abs(difference - mp.mpf("0.36")) < 1e-13


@pytest.mark.sample(2)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_chi_delta_is_the_second_order_of_nearby_inputs(layer, name):
    """K_[2]' = chi_perp K_[2] + chi_Delta/2 K_[1]^2, from differences of the covariance map at parallel inputs."""
    theory = sr.derive(LAYERS[layer](name))
    K, errors = mp.mpf("0.8"), []
    for e in (mp.mpf("0.02"), mp.mpf("0.01")):
        one, other, both = (1 + e) ** 2 * K, (1 - e) ** 2 * K, (1 - e * e) * K
        ends = [evaluated(theory.kernel_map, K=k) for k in (one, other)]
        apart = (sum(ends) - 2 * evaluated(theory.covariance_map, K1=one, K2=other, C=both)) / 4
        distance, middle = (one + other - 2 * both) / 4, (one + other + 2 * both) / 4
        found = (apart - evaluated(theory.chi_perp, K=middle) * distance) / ((one - other) / 2) ** 2
        errors.append(found - evaluated(theory.chi_delta, K=K) / 2)
    assert abs(errors[0]) < 1e-3
    assert abs(errors[1]) < max(0.27 * abs(errors[0]), 1e-12)  # of fourth order in the distance, over the second


def test_chi_delta_is_twice_h_without_normalisation():
    for layer in (sr.mlp("gelu"), sr.residual("erf"), sr.two_layer_block("erf")):
        theory = sr.derive(layer)
        assert abs(evaluated(theory.chi_delta, K=2) / evaluated(theory.h, K=2) - 2) < 1e-28
    normalised = sr.derive(sr.pre_ln("erf", sr.gamma))
    assert abs(evaluated(normalised.chi_delta, K=2) / evaluated(normalised.h, K=2) - 1) < 1e-28


def finite_inputs(step, depth, x, y, weight, bias):
    """The covariance behind a read-in and so many layers, and the kernel of the first input behind the read-in."""
    K1, K2, C = (bias + weight * mp.fdot(u, v) / len(x) for u, v in ((x, x), (y, y), (x, y)))
    first = K1
    for _ in range(depth):
        K1, K2, C, _ = step(K1, K2, C)
    return C, first


@pytest.mark.sample(2)
@pytest.mark.parametrize("gamma", ["0", "0.5"])
@pytest.mark.parametrize(("layer", "name"), [("residual", "erf"), ("residual", "sin"), ("pre_ln", "erf")])
def test_jacobians_of_inputs_of_finite_dimension(layer, name, gamma):
    """sum_j d^2 C/dx_j dx'_j at equal inputs, by differences; the product of chi_perp is 3 to 40 % off."""
    weight, bias, x = mp.mpf("1.1"), mp.mpf("0.2"), [mp.mpf("1.3"), mp.mpf("-0.4"), mp.mpf(0)]

    def step(*kernels):
        return deep.STEPS[layer](name, *kernels, mp.mpf(0), mp.mpf(gamma), WEIGHT, BIAS)

    def moved(place, step):
        return [value + step * (k == place) for k, value in enumerate(x)]

    for l in (1, 2, 3, 6):  # noqa: E741
        with mp.workdps(50):
            h, exact = mp.mpf(10) ** -14, mp.mpf(0)
            for j, one, other in itertools.product(range(3), (h, -h), (h, -h)):
                C, _ = finite_inputs(step, l - 1, moved(j, one), moved(j, other), weight, bias)
                exact += mp.sign(one * other) * C / (4 * h**2)
            _, K = finite_inputs(step, 0, x, x, weight, bias)
        network = sr.derive(sr.architectures[layer](name, gamma=gamma)).network(max(l - 1, 1))
        own = {"C_W": WEIGHT, "C_b": BIAS}
        found = network.input_jacobian(l, K, 3, ("1.1", "0.2"), **own)
        assert abs(found / exact - 1) < 1e-13
        if l > 1:
            assert abs(weight * mp.fprod(network.chi_perp(K, **own)[: l - 1]) / exact - 1) > 0.01


@pytest.mark.sample(2)
@pytest.mark.parametrize("layer", ["mlp", "residual", "pre_ln", "two_layer_block"])
def test_gradients_of_all_layers_add_up_to_the_tangent_kernel(layer):
    theory = sr.derive(LAYERS[layer]("erf"))
    own = {s.name: VALUES[s.name] for s in theory.layer.parameters}
    norms = theory.network(4).gradient_norms("0.9", **own)
    last = theory.dual_kernels(4, "0.9", "0.9", "0.9", **own)[-1]
    assert abs(sum(norms) / last.Theta - 1) < 1e-14


def test_nearby_inputs_follow_the_covariance_map():
    theory = sr.derive(sr.pre_ln("erf", sr.gamma))
    own = {name: VALUES[name] for name in ("C_W", "C_b", "gamma")}
    K, dK, ddK = mp.mpf("0.8"), mp.mpf("1e-4"), mp.mpf("3e-8")
    (_, _, (middle, first, second)) = theory.network(2).nearby_inputs(K, dK, ddK, **own)
    last = theory.dual_kernels(2, K + dK + ddK, K - dK + ddK, K - ddK, **own)[-1]
    assert abs((last.K1 - last.K2) / 2 / first - 1) < 1e-6
    assert abs((last.K1 + last.K2 - 2 * last.C) / 4 / second - 1) < 1e-4
    assert abs((last.K1 + last.K2 + 2 * last.C) / 4 - middle) < 1e-6


@pytest.mark.parametrize(
    ("layer", "values"),
    [
        (sr.mlp("relu"), {"C_W": "1.7", "C_b": "0.2"}),
        (sr.pre_ln("erf", 1), {"C_W": "1.7", "C_b": "0.2"}),
        (sr.pre_ln("gelu", 1), {"C_W": "0.3", "C_b": "0.02"}),
        (sr.Layer(sr.z + sr.Dense(sr.RMSNorm(sr.activation("relu")(sr.z)))), {"C_W": "1.7", "C_b": "0.2"}),
        (sr.pre_ln("tanh", 1), {"C_W": "1.7", "C_b": "0.2"}),
    ],
    ids=["power", "pre_ln erf", "pre_ln gelu", "rms_act relu", "pre_ln tanh"],
)
def test_finite_depth_products_in_closed_form(layer, values):
    theory = sr.derive(layer)
    expression = theory.jacobian_expr
    given = {
        symbol: values.get(symbol.name, {"l0": 2, "l": 12, "K": "0.8"}.get(symbol.name))
        for symbol in expression.free_symbols
    }
    closed = expression.subs({symbol: sp.Rational(value) for symbol, value in given.items()}).evalf(25)
    assert abs(closed / theory.jacobian(2, 12, "0.8", **values) - 1) < 1e-14
    assert (expression.has(sp.gamma)) == (layer.name != "mlp")


def test_products_without_a_closed_form_are_none():
    assert sr.derive("erf").jacobian_expr is None
    assert sr.derive(sr.pre_ln("erf", "1/2")).jacobian_expr is None


def test_kernel_zero_in_nested_blocks():
    """Limits of averages whose variances are averages: tanh(0) = 0, and what comes behind at a variance of 0."""
    tanh, relu, softplus = (sr.activation(name) for name in ("tanh", "relu", "softplus"))
    z, Dense = sr.z, sr.Dense
    theory = sr.derive(sr.Layer(Dense(relu(Dense(tanh(Dense(tanh(z))))))))
    assert theory.kernels(1, 0, C_W="1.5", C_b=0) == [0, 0]
    assert theory.jacobian(0, 1, 0, C_W="1.5", C_b=0) == pytest.approx(1.5**3 / 2, rel=1e-14)
    theory = sr.derive(sr.Layer(Dense(softplus(Dense(tanh(z))))))
    assert theory.kernels(1, 0, C_W="1.5", C_b=0)[1] == pytest.approx(1.5 * math.log(2) ** 2, rel=1e-14)


def test_a_residual_network_has_kernels_of_inputs_that_vanish():
    params = {"C_W": 1, "C_b": "0.1", "gamma": "0.5"}
    assert sr.derive(sr.residual("relu")).kernels(1, 0, **params) == [0, pytest.approx(0.1)]


def test_a_stream_has_not_moved_before_the_first_layer():
    network = sr.network([sr.Layer(sr.Dense(sr.z)), sr.residual("relu"), sr.mlp("sin(2*z)+z/2")])
    found = network.displacement("1.3", C_W=1, C_b="0.1", gamma="0.6")
    assert found[0] == 0 and min(found) >= 0


def test_read_ins_may_be_arrays():
    network = sr.derive("erf").network(2)
    expected = network.input_jacobian(2, 1, 3, (1, "1/2"), C_W=1, C_b=0)
    assert network.input_jacobian(2, 1, 3, np.array([1.0, 0.5]), C_W=1, C_b=0) == expected
