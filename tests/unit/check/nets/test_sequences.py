"""Networks of sequences: heads, windows and pools by their definition, tangents, and the infinitely wide one."""

import numpy as np
import pytest

import symres as sr
from symres.check.nets import Dual, GramNet, LimitTokens, WeightNet
from symres.check.nets.forward_walk import Forward
from symres.check.nets.gram_net import softmax
from symres.check.nets.random_field import OracleLimit
from symres.check.nets.source_law import Rules
from symres.check.simulation.simulate import Simulation

T, K, C = 5, 1.2, 0.4
EQUATIONS = {
    "attention": "Attention(z, 1, 1/5, 4, 1, C_bQ=1/2, C_bV=1/3)",
    "tied": 'Attention(z, 1, 0, 2, 1, tied=True, scale="1/d")',
    "other keys": "h = Dense(z, 1, 0); Attention(z, 1, 0, 4, 1, keys=h)",
    "convolution": "z/2 + Conv(z, 2, 1/5, 3)",
    "pool": "z/2 + Dense(Pool(z^2), 1/2, 1/5)",
}


def forward(name):
    return Forward(sr.layer(EQUATIONS[name]).forward, {})


def moments(y):
    """Kernel and covariance of two positions, for each network."""
    gram = np.einsum("nia,nib->nab", y, y) / y.shape[1]
    own, total = gram.trace(axis1=1, axis2=2), gram.sum(axis=(1, 2))
    return np.stack([own / T, (total - own) / (T * (T - 1))], axis=1)


def of_networks(name, kind, n, nets):
    net = kind(n, np.random.default_rng(n), T)
    return moments(forward(name)(net, net.stream(nets, (K - C) * np.eye(T) + C)))


@pytest.mark.parametrize("name", EQUATIONS)
def test_gram_matrices_and_weights_have_one_law(name):
    gram, weights = (of_networks(name, kind, 32, 600) for kind in (GramNet, WeightNet))
    for statistic in (np.mean, np.var):
        one, other = (statistic(samples, axis=0) for samples in (gram, weights))
        spread = np.sqrt(2) * np.std([statistic(part, axis=0) for part in np.split(gram, 12)], axis=0) / np.sqrt(11)
        assert (np.abs(one - other) < 4 * spread).all()


def test_the_infinite_network_pools_linear_forms_alone():
    net = LimitTokens(K, C, T, Rules())
    second = net.moments(Forward(sr.layer("z/2 + Pool(z)/2").forward, {})(net, net.stream()))[0]
    mean = C + (K - C) / T  # also the covariance of the average with a position
    assert np.allclose(second, K / 4 * np.eye(2) + C / 4 * (1 - np.eye(2)) + 3 * mean / 4, rtol=1e-13)
    with pytest.raises(OracleLimit, match="positions"):
        forward("pool")(net, net.stream())


@pytest.mark.parametrize("name", [name for name in EQUATIONS if name != "pool"])
def test_the_infinite_network_is_the_limit_of_wide_ones(name):
    net = LimitTokens(K, C, T, Rules())
    second = net.moments(forward(name)(net, net.stream()))[0]
    samples = of_networks(name, GramNet, 512, 60)
    error = samples.std(axis=0) / np.sqrt(60)
    assert (np.abs(samples.mean(axis=0) - second[0]) < 4 * error + 2e-3).all()


@pytest.mark.parametrize("name", EQUATIONS)
def test_tangents_are_differences(name):
    step, layer = 1e-6, forward(name)
    z, dz = np.random.default_rng(0).standard_normal((2, 3, 16, 2 * T))

    def after(neurons):
        return layer(WeightNet(16, np.random.default_rng(1), T), neurons)

    differences = (after(z + step * dz) - after(z - step * dz)) / (2 * step)
    assert np.allclose(after(Dual(z, dz[..., None])).tangent[..., 0], differences, atol=1e-7)


def test_sequences_do_not_meet():
    """Two sequences in one array, with one network: each is what it would be alone."""
    z = np.random.default_rng(0).standard_normal((2, 16, 2 * T))
    for name in EQUATIONS:
        both, first = (forward(name)(WeightNet(16, np.random.default_rng(1), T), x) for x in (z, z[..., :T]))
        assert np.allclose(both[..., :T], first, atol=1e-12)


def test_positions_are_grouped_and_back():
    net, u = GramNet(8, np.random.default_rng(0), 3), np.arange(2 * 8 * 6).reshape(2, 8, 6)
    grouped = net.by_position(u, 4)
    assert grouped.shape == (2, 4, 2, 3, 2)
    assert grouped[1, 2, 1, 0, 1] == u[1, 2 * 2 + 1, 3]
    assert (net.by_neuron(grouped) == u).all()
    assert np.allclose(softmax(np.log(np.arange(1.0, 4)).reshape(1, 1, 1, 1, 3)).ravel(), [1 / 6, 1 / 3, 1 / 2])


@pytest.mark.parametrize("shared", [-0.25, 0.0, 0.4])
def test_streams_have_the_covariance_that_is_asked_for(shared):
    simulation = Simulation(forward("attention"), shared=shared, positions=T)
    z = simulation._inputs(GramNet(64, np.random.default_rng(0), T), 500, K)
    samples = moments(z)
    assert (np.abs(samples.mean(axis=0) - (K, shared)) < 4 * samples.std(axis=0) / np.sqrt(500)).all()


def test_scores_of_more_keys_than_quasi_random_points_have_coordinates():
    theory = sr.layer("Attention(z, 1, 0, 1, 1)").derive(positions=sr.Tokens(10**9))  # their claims take minutes
    report = sr.check(theory, against="quadrature", points=1, quantities=["covariance_map"], progress=False)
    assert str(report.verdicts[0].outcome) == "INCONCLUSIVE" and "21201 coordinates" in report.verdicts[0].reason
