"""The networks of the check room against each other and against kernels written by hand."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.activations.activation import Activation
from symres.check.nets import GramNet, LimitNet, WeightNet
from symres.check.nets.forward_walk import Forward
from symres.check.nets.gram_net import pair
from symres.check.nets.recording_net import RecordingNet
from symres.check.nets.source_law import Rules, unplanned
from symres.core.errors import UnsupportedLayer
from symres.core.symbols import C_W, C_b, gamma, z
from symres.layers.nodes import Dense
from tests.oracles.kernels import KERNELS, PHI
from tests.oracles.nodes import Exponential, Normed, Shaped, Sorting

TANH = Activation("tanh", sp.tanh(z))
NUMBERS = {C_W: sp.Rational(13, 10), C_b: sp.Rational(1, 5), gamma: sp.Rational(3, 5)}

POINTS = [(1e-3, 2e-3, 0.5), (1.3, 0.7, -0.6), (1, 1, 0.99), (1, 1, 0.999999), (90, 120, 0.3), (90, 120, 0.9999)]


def limit(forward, covariance, resolution=1, numbers=NUMBERS):
    net = LimitNet(np.asarray(covariance, dtype=float), Rules(resolution))
    return net.moments(Forward(forward, numbers)(net, net.stream()))[0]


def sampled(forward, covariance, n, nets, kind=GramNet, seed=1):
    """Moments (1/n) sum z_a z_b of the next stream, one row a network: 11, 12, 22."""
    net = kind(n, np.random.default_rng(seed))
    y = Forward(forward, NUMBERS)(net, net.stream(nets, np.asarray(covariance, dtype=float)))
    return np.stack([(y[..., a] * y[..., b]).mean(axis=1) for a, b in ((0, 0), (0, 1), (1, 1))], axis=1)


def agree(samples, expected, bias=0.0):
    error = samples.std(axis=0) / np.sqrt(len(samples))
    return np.abs(samples.mean(axis=0) - expected) < 4 * error + bias


# ---- the infinitely wide network -------------------------------------------------------------------------------------


def test_nets_that_share_panels_confuse_no_integrands():
    tanh, cube = TANH(z), z**3
    forwards = [
        Dense(u) for u in (tanh, TANH(z).diff(z), tanh * cube, tanh + cube, cube - tanh, 2 * tanh * z, 3 * tanh * z)
    ]
    forwards += [Dense(tanh) * tanh, Dense(Dense(tanh) * tanh), Dense(tanh * Dense(z) + z * Dense(z))]
    shared, covariance = unplanned(), np.array(pair(1, 1.2, 0.4))
    for forward in forwards:
        walk = Forward(forward, NUMBERS)
        nets = [LimitNet(covariance, Rules(resolution, panels)) for panels in (shared, None) for resolution in (0, 1)]
        found = [net.moments(walk(net, net.stream())) for net in nets]
        np.testing.assert_array_equal(found[:2], found[2:])


@pytest.mark.parametrize(("K1", "K2", "rho"), POINTS)
@pytest.mark.parametrize("name", PHI)
def test_the_infinite_network_knows_the_kernels(name, K1, K2, rho):
    C = rho * np.sqrt(K1 * K2)
    found = limit(Dense(PHI[name](z)), pair(K1, K2, C))
    kernel = KERNELS[name][0]
    with mp.workdps(30):
        expected = 0.2 + 1.3 * np.array(
            [
                [float(kernel(mp.mpf(a), mp.mpf(b), mp.mpf(c))) for a, b, c in row]
                for row in (((K1, K1, K1), (K1, K2, C)), ((K1, K2, C), (K2, K2, K2)))
            ]
        )
    np.testing.assert_allclose(found, expected, rtol=4e-15, atol=4e-15 * np.sqrt(expected[0, 0] * expected[1, 1]))


def test_an_affine_mixture_is_one_gaussian():
    erf, relu = PHI["erf"], PHI["relu"]
    total = 0.36 * 1.7 + 0.2 + 1.3 * float(KERNELS["erf"][0](1.7, 1.7, 1.7))
    found = limit(Dense(relu(gamma * z + Dense(erf(z)))), [[1.7]])[0, 0]
    assert found == pytest.approx(0.2 + 1.3 * total / 2, rel=1e-14)


def test_an_average_over_no_gaussian_is_its_value():
    cosine = Activation("cosine", sp.cos(z))
    moments = limit(cosine(Dense(z)) + 2, pair(1.7, 1.2, 0.4), numbers={C_W: sp.S.Zero, C_b: sp.S.Zero})
    np.testing.assert_array_equal(moments, 9.0)


def test_products_of_sources():
    S = 0.2 + 1.3 * 1.7
    shared, other = Dense(z), Dense(z)
    assert limit(Dense(shared * other), [[1.7]])[0, 0] == pytest.approx(0.2 + 1.3 * S**2, rel=1e-14)
    assert limit(Dense(shared * shared), [[1.7]])[0, 0] == pytest.approx(0.2 + 1.3 * 3 * S**2, rel=1e-13)
    moments = limit(Dense(shared * PHI["relu"](other)), pair(1.7, 1.7, 0.4))
    mixed = 0.2 + 1.3 * 0.4
    assert moments[0, 1] == pytest.approx(0.2 + 1.3 * mixed * float(KERNELS["relu"][0](S, S, mixed)), rel=1e-14)


def test_the_width_of_an_inner_layer_does_not_matter_at_infinity():
    narrow, wide = (limit(Dense(TANH(Dense(z, width=w))), pair(1, 2, 0.5)) for w in (1, 4))
    np.testing.assert_array_equal(narrow, wide)


def test_nearly_equal_inputs_keep_their_digits():
    distance = 1e-9
    net = LimitNet(pair(1, 1, 1 - distance), differences=pair(0, 0, 2 * distance))
    _, difference, _ = net.moments(Forward(Dense(PHI["erf"](z)), NUMBERS)(net, net.stream()))
    slope = float(KERNELS["erf"][1](1, 1, 1))
    assert difference[0, 1] / (2 * distance) == pytest.approx(1.3 * slope, rel=1e-8)  # the limit is off by O(distance)


@pytest.mark.parametrize("node", [Sorting, Shaped, Exponential])
def test_what_has_no_meaning_at_infinite_width_is_refused(node):
    with pytest.raises(UnsupportedLayer, match=f"the method sample of the node {node.__name__}"):
        limit(Dense(node(z)), [[1.0]])


# ---- the walk --------------------------------------------------------------------------------------------------------


def test_one_node_is_one_draw_and_two_calls_are_two():
    draw = Dense(TANH(z))
    both, apart = draw + 2 * draw, draw + 2 * Dense(TANH(z))
    S = limit(draw, [[1.0]])[0, 0]
    assert limit(both, [[1.0]])[0, 0] == pytest.approx(9 * S, rel=1e-14)
    assert limit(apart, [[1.0]])[0, 0] == pytest.approx(5 * S, rel=1e-14)
    covariance = pair(1.0, 1.0, 0.5)
    for forward, factor in ((both, 9), (apart, 5)):
        expected = factor * limit(draw, covariance)[[0, 0, 1], [0, 1, 1]]
        assert agree(sampled(forward, covariance, 64, 4000), expected).all()


def test_equal_copies_of_a_node_are_one_draw():
    draw = Dense(TANH(z))
    copy = draw.func(*draw.args)
    assert copy is not draw
    net = GramNet(32, np.random.default_rng(0))
    y = Forward(TANH(draw) - TANH(copy) + z, NUMBERS)(net, net.stream(3, np.eye(2)))
    assert np.isfinite(y).all()
    difference = Forward(sp.Add(draw, sp.Mul(-1, copy, evaluate=False), evaluate=False), NUMBERS)(
        net, net.stream(3, np.eye(2))
    )
    np.testing.assert_array_equal(difference, 0.0)


def test_a_symbol_without_a_number_is_refused():
    with pytest.raises(UnsupportedLayer, match="gamma"):
        Forward(gamma * z + Dense(TANH(z)), {C_W: sp.Integer(1), C_b: sp.Integer(0)})


# ---- sampled networks ------------------------------------------------------------------------------------------------


FORWARDS = {
    "residual": gamma * z + Dense(TANH(z)),
    "nested": gamma * z + Dense(TANH(Dense(PHI["erf"](z), width=2))),
    "gated": Dense(PHI["erf"](Dense(z)) * Dense(z)),
    "normed": gamma * z + Dense(PHI["relu"](Normed(z))),
}


@pytest.mark.parametrize("name", FORWARDS)
def test_gram_networks_are_infinitely_wide_at_large_width(name):
    covariance = pair(1.2, 0.8, 0.5)
    expected = limit(FORWARDS[name], covariance)[[0, 0, 1], [0, 1, 1]]
    samples = sampled(FORWARDS[name], covariance, 512, 1500)
    assert agree(samples, expected, bias=0.01 * expected[0]).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORWARDS)
def test_weights_and_gram_matrices_give_the_same_law(name):
    # narrow on purpose: the law is the same at every width, and here it is far from its limit
    covariance = pair(1.2, 0.8, 0.5)
    gram = sampled(FORWARDS[name], covariance, 12, 20000, GramNet)
    weights = sampled(FORWARDS[name], covariance, 12, 20000, WeightNet, seed=2)
    for power in (1, 2, 3):
        a, b = gram**power, weights**power
        error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a))
        assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 4 * error)


def test_the_law_at_small_width_is_not_the_limit():
    # what the test above would miss if it compared limits only
    wide, narrow = (sampled(FORWARDS["gated"], pair(1, 1, 0.5), n, 8000).var(axis=0)[0] * n for n in (256, 4))
    assert narrow > 1.1 * wide


def test_a_field_with_numbers_of_its_own_for_each_input_is_another_function():
    net = LimitNet(np.array(pair(1, 1, 0.5)))
    field = net.stream() * np.array([1.0, 2.0])
    squared = np.square(np.tanh(net.stream())) * np.array([1.0, 2.0])
    shifted = net.stream() + np.array([0.0, 1.0])
    for u, ratio in ((field, 4.0), (squared, 4.0)):
        moments = net.moments(u)[0]
        assert moments[1, 1] == pytest.approx(ratio * moments[0, 0], rel=1e-13)
    assert net.moments(shifted)[0][1, 1] == pytest.approx(2.0, rel=1e-13)


def test_the_averages_are_uncorrelated_and_of_variance_one():
    net = RecordingNet(64, np.random.default_rng(0))
    z = net.stream(20000, np.array([[1.7]]))
    y = net.dense(np.maximum(z, 0), 2.0, 0.1)
    net.dense(y, 1.0, 0.0, width=2.0)
    known = net.averages()
    assert known.shape == (20000, 4 + 8 + 4)
    correlations = known.T @ known / len(known)
    assert np.abs(known.mean(axis=0)).max() < 5 / np.sqrt(20000)
    assert np.abs(correlations - np.eye(16)).max() < 0.06
