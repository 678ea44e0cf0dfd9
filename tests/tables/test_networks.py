"""Measured networks against what symres derives: kernels, cosines and Jacobian norms with z-scores, vertices.

The networks of PyTorch are written by hand. Their numbers may differ from those at infinite width by their standard
error over networks, and by corrections of order depth/n, for which ``ALLOWED`` of them are allowed; batch normalisation
has corrections of order depth/batch too. Four-point vertices of layers of every kind are those of simulated networks,
extrapolated in 1/n.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import sympy as sp
import torch
from torch import nn
from torch.nn import functional

import symres as sr
import symres.torch as st
from symres.check.nets.forward_walk import Forward
from symres.check.nets.gram_net import GramNet
from symres.check.simulation.simulate import Simulation
from symres.check.simulation.width_extrapolation import Budget, Ladder, extrapolated
from tests.oracles.layers import BUILD
from tests.oracles.torch_blocks import Computed
from tests.shared import derived

ALLOWED = 1.0  # relative correction in units of depth/n (depth/batch)
ERRORS = 4.0
PLACES = (1, 3, 5, 10, 15, 20)
INPUTS = 3


def dense(width, C_W, C_b):
    layer = nn.Linear(width, width)
    nn.init.normal_(layer.weight, std=(C_W / width) ** 0.5)
    nn.init.normal_(layer.bias, std=C_b**0.5)
    return layer


def block(function, count=1, norm=None):
    """Builds blocks of some width: a function of the stream, of a norm if there is one, and of so many dense layers."""
    norms = () if norm is None else (norm,)
    return lambda width, **scales: Computed(
        function, *(norm(width) for norm in norms), *(dense(width, **scales) for _ in range(count))
    )


def rms_norm(z):
    return z / z.square().mean(dim=-1, keepdim=True).sqrt()


@dataclass(frozen=True)
class Case:
    """A block, its forward equation, its scales and the kernel that enters."""

    block: Callable[..., nn.Module]
    layer: sr.Layer
    scales: dict[str, float]
    kernel: float
    batch: bool = False


silu, u, relu = sr.activation("silu"), sr.RMSNorm(sr.z), functional.relu
SWIGLU = sr.Layer(sr.z + sr.Dense(silu(sr.Dense(u)) * sr.Dense(u)))
CASES = {
    "mlp": Case(
        block(lambda z, dense: dense(functional.gelu(z))),
        sr.mlp("gelu"), {"C_W": 1.6, "C_b": 0.3}, 1.5,
    ),
    "residual": Case(
        block(lambda z, dense: z / 2 + dense(torch.erf(z))),
        sr.residual("erf", gamma="1/2"), {"C_W": 1.0, "C_b": 0.1}, 1.0,
    ),
    "pre_ln": Case(
        block(lambda z, norm, dense: z + dense(relu(norm(z))), norm=lambda width: nn.LayerNorm(width, eps=0.0)),
        sr.pre_ln("relu", gamma=1), {"C_W": 2.0, "C_b": 0.1}, 1.0,
    ),
    "swiglu": Case(
        block(lambda z, gate, up, down: z + down(functional.silu(gate(rms_norm(z))) * up(rms_norm(z))), count=3),
        SWIGLU, {"C_W": 1.5, "C_b": 0.1}, 1.0,
    ),
    "batch_norm": Case(
        block(lambda z, norm, dense: z / 2 + dense(relu(norm(z))), norm=lambda width: nn.BatchNorm1d(width, eps=1e-12)),
        sr.batch_norm("relu", gamma="1/2"), {"C_W": 1.5, "C_b": 0.1}, 1.0, batch=True,
    ),
}  # fmt: skip


def network(case, width, depth):
    """A read-in of variance kernel/width, then equal blocks."""

    def build():
        read_in = nn.Linear(width, width, bias=False)
        nn.init.normal_(read_in.weight, std=(case.kernel / width) ** 0.5)
        return nn.Sequential(read_in, *(case.block(width, **case.scales) for _ in range(depth)))

    return build


def inputs_of(width, size, cosine=0.0):
    """Inputs with mean square 1, and a mean cosine of two of them; a large batch has none below 0."""
    generator = torch.Generator().manual_seed(11)
    drawn = torch.randn(size, width, generator=generator)
    drawn = (1 - cosine) ** 0.5 * drawn + cosine**0.5 * torch.randn(width, generator=generator)
    return functional.normalize(drawn) * width**0.5


@cache
def measured_network(name, width, depth, seeds, batch):
    """The inputs and the measurement, from the stream that enters the first block."""
    case = CASES[name]
    inputs = inputs_of(width, batch, 0.2) if case.batch else inputs_of(width, INPUTS)
    build, mode = network(case, width, depth), "train" if case.batch else "eval"
    return inputs, st.measure(
        build, inputs, lambda name, module: name.isdigit(), seeds=seeds, probes=2, mode=mode, start="0"
    )


def compared(name, *, width, depth, seeds, batch, factor=1.0):
    """Rows (what, measured, standard error, theory, allowance) of a network; C_W of the theory times a factor."""
    case = CASES[name]
    inputs, measured = measured_network(name, width, depth, seeds, batch)
    theory = derived(case.layer)
    scales = case.scales | {"C_W": case.scales["C_W"] * factor}
    first = float((inputs @ inputs.T)[np.triu_indices(len(inputs), 1)].mean()) / width * case.kernel
    values = theory.dual_kernels(depth, case.kernel, case.kernel, first, **scales)
    shared = {"C": first} if case.batch else {}
    smallest = min(width, batch) if case.batch else width
    rows = []
    for place in [place for place in PLACES if place <= depth]:
        found, dual = measured.places[place], values[place]
        rows.append((f"{name} K {place}", found.kernel, float(dual.K1), place))
        rows.append((f"{name} C {place}", found.covariance, float(dual.C), place))
        forward = theory.jacobian(0, place, case.kernel, **scales, **shared)
        rows.append((f"{name} J 0,{place}", found.apjn_forward, float(forward), place))
        if place < depth:
            backward = theory.network(depth).jacobian(place, depth, case.kernel, **scales, **shared)
            rows.append((f"{name} J {place},{depth}", found.apjn_backward, float(backward), depth - place))
    return [
        (what, float(number), number.error, expected, ALLOWED * layers / smallest * abs(expected))
        for what, number, expected, layers in rows
    ]


def z_scores(rows):
    return np.array([(found - expected) / error for _, found, error, expected, _ in rows])


def disagreements(rows):
    """Rows that differ by more than four standard errors plus the allowance."""
    return [row for row in rows if abs(row[1] - row[3]) > ERRORS * row[2] + row[4]]


FULL = {"width": 512, "depth": 20, "seeds": 30, "batch": 128}
SMALL = {"width": 128, "depth": 5, "seeds": 20, "batch": 64}


@pytest.mark.parametrize("name", ["mlp", "pre_ln"])
def test_small_networks_agree_with_theory(name):
    rows = compared(name, **SMALL)
    assert not disagreements(rows)
    assert np.isfinite(z_scores(rows)).all()
    assert disagreements(compared(name, **SMALL, factor=1.3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_wide_networks_agree_with_theory(name):
    rows = compared(name, **FULL)
    assert len(rows) >= 20
    assert not disagreements(rows)
    scores = z_scores(rows)
    assert np.isfinite(scores).all()
    assert CASES[name].batch or np.median(np.abs(scores)) < 2  # corrections by the batch are larger than errors
    for factor in (1.05, 0.95):
        assert disagreements(compared(name, **FULL, factor=factor))


SETTING = {"C_W": "1.3", "C_b": "0.1", "gamma": "0.7", "xi": "0.6"}
KINDS = [name for name in BUILD if "batch" not in name]
ACTIVATIONS = ("relu", "tanh", "gelu", "erf")
LAYERS = [(kind, phi) for kind in KINDS for phi in ACTIVATIONS]
DEPTH = 3
BUDGET = Budget(precision=0.02, neurons=3_000_000)
LIMIT = 4.5


@pytest.mark.sample(1)
@pytest.mark.parametrize(("kind", "phi"), LAYERS)
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

    rng = np.random.default_rng([7, LAYERS.index((kind, phi))])
    found = extrapolated(simulation.vertices(1.0, kernels), scales, rng, BUDGET, ladder=Ladder(rungs=3, spread=20.0))
    seen = np.isfinite(found.errors)  # heavy tails hide what products of neurons do after three layers
    assert seen[0]
    errors = (np.array(claims[1:]) - found.values)[seen] / found.errors[seen]
    assert np.abs(errors).max() < LIMIT, (claims, found.values, found.errors)


KERNELS = {
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
ROWS = [(p, kind, phi) for p in KERNELS for kind, phi in PAIRED]
WIDTH, NETS = 512, 8000


@pytest.mark.sample(1)
@pytest.mark.parametrize(("p", "kind", "phi"), ROWS)
def test_networks_have_the_vertices_of_several_inputs(p, kind, phi):
    """Six components after two layers, in networks of one width: 1 % is allowed for what is of order 1/n."""
    layer, inputs = BUILD[kind](phi), KERNELS[p]
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
