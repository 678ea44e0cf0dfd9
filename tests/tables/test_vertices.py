"""Four-point vertices of layers of every kind against simulated networks, extrapolated in 1/n."""

import numpy as np
import pytest
import sympy as sp

from symres.check.nets.forward_walk import Forward
from symres.check.nets.gram_net import GramNet
from symres.check.simulation.simulate import Simulation
from symres.check.simulation.width_extrapolation import Budget, Ladder, extrapolated
from tests.oracles.layers import BUILD
from tests.shared import derived

SETTING = {"C_W": "1.3", "C_b": "0.1", "gamma": "0.7", "xi": "0.6"}
KINDS = [name for name in BUILD if "batch" not in name]
ACTIVATIONS = ("relu", "tanh", "gelu", "erf")
CASES = [(kind, phi) for kind in KINDS for phi in ACTIVATIONS]
DEPTH = 3
BUDGET = Budget(precision=0.02, neurons=3_000_000)
LIMIT = 4.5


@pytest.mark.sample(1)
@pytest.mark.parametrize(("kind", "phi"), CASES)
def test_networks_have_the_vertices_of_the_theory(kind, phi):
    """After one layer to three: 96 comparisons or more, none beyond 4.5 errors."""
    layer = BUILD[kind](phi)
    own = {s.name: SETTING[s.name] for s in layer.parameters}
    theory = derived(layer)
    kernels = [float(k) for k in theory.kernels(DEPTH, 1, **own)[1:]]
    claims = theory.vertex(DEPTH, 1, **own)
    numbers = {s: sp.Rational(own[s.name]) for s in layer.parameters}
    simulation = Simulation(Forward(layer.forward, numbers))

    def scales(values):
        return np.maximum(np.abs(values), np.square(kernels))

    rng = np.random.default_rng([7, CASES.index((kind, phi))])
    found = extrapolated(simulation.vertices(1.0, kernels), scales, rng, BUDGET, ladder=Ladder(rungs=3, spread=20.0))
    seen = np.isfinite(found.errors)  # heavy tails hide what products of neurons do after three layers
    assert seen[0]
    errors = (np.array(claims[1:]) - found.values)[seen] / found.errors[seen]
    assert np.abs(errors).max() < LIMIT, (claims, found.values, found.errors)


INPUTS = {
    2: [[1, 0.4], [0.4, 1.5]],
    3: [[1, 0.4, -0.5], [0.4, 1.5, 0.6], [-0.5, 0.6, 0.8]],
    4: [[1, 0.4, -0.3, 0.2], [0.4, 1.5, 0.25, -0.1], [-0.3, 0.25, 0.8, 0.35], [0.2, -0.1, 0.35, 1.2]],
}
COMPONENTS = {
    2: ((0, 0, 0, 0), (0, 1, 0, 1), (0, 0, 1, 1), (0, 0, 0, 1), (1, 1, 1, 1), (0, 1, 1, 1)),
    3: ((0, 1, 0, 2), (1, 2, 0, 2), (0, 0, 1, 2), (1, 1, 0, 2), (0, 1, 0, 1), (2, 2, 2, 2)),
    4: ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2), (0, 1, 1, 3), (3, 3, 1, 2), (2, 3, 2, 3)),
}
PAIRED = [("residual", "tanh"), ("residual", "relu"), ("two_layer_block", "relu"), ("pre_ln", "gelu"), ("glu", "erf")]
ROWS = [(p, kind, phi) for p in INPUTS for kind, phi in PAIRED]
WIDTH, NETS = 512, 8000


@pytest.mark.sample(1)
@pytest.mark.parametrize(("p", "kind", "phi"), ROWS)
def test_networks_have_the_vertices_of_several_inputs(p, kind, phi):
    """Six components after two layers, in networks of one width: 1 % is allowed for what is of order 1/n."""
    layer, inputs = BUILD[kind](phi), INPUTS[p]
    own = {s.name: SETTING[s.name] for s in layer.parameters}
    claim = derived(layer).fluctuations(2, inputs, **own).states[-1]
    forward = Forward(layer.forward, {s: sp.Rational(own[s.name]) for s in layer.parameters})
    rng = np.random.default_rng([11, ROWS.index((p, kind, phi))])
    found = []
    for _ in range(NETS // 500):
        net = GramNet(WIDTH, rng)
        z = net.stream(500, np.array(inputs))
        for _ in range(2):
            z = forward(net, z)
        columns = []
        for a, b, c, d in COMPONENTS[p]:
            one, other = (z[..., i] * z[..., j] - claim.kernel[i, j] for i, j in ((a, b), (c, d)))
            columns.append((one.sum(axis=1) * other.sum(axis=1) - (one * other).sum(axis=1)) / (WIDTH - 1))
        found.append(np.stack(columns, axis=1))
    seen = np.concatenate(found)
    expected = np.array([claim.V[place] for place in COMPONENTS[p]])
    scales = [np.sqrt(abs(claim.V[a, b, a, b] * claim.V[c, d, c, d])) for a, b, c, d in COMPONENTS[p]]
    errors = np.hypot(seen.std(axis=0) / np.sqrt(NETS), 0.01 * np.array(scales))
    assert np.abs((expected - seen.mean(axis=0)) / errors).max() < LIMIT
