"""Measured networks against what symres derives: kernels, cosines and Jacobian norms with z-scores.

The networks are written in PyTorch by hand. Their numbers may differ from those at infinite width by their standard
error over networks, and by corrections of order depth/n, for which ``ALLOWED`` of them are allowed; batch normalisation
has corrections of order depth/batch too.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import symres as sr
import symres.torch as st
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


class Mlp(nn.Module):
    def __init__(self, width, **scales):
        super().__init__()
        self.dense = dense(width, **scales)

    def forward(self, z):
        return self.dense(functional.gelu(z))


class Skip(nn.Module):
    def __init__(self, width, **scales):
        super().__init__()
        self.dense = dense(width, **scales)

    def forward(self, z):
        return z / 2 + self.dense(torch.erf(z))


class PreNorm(nn.Module):
    def __init__(self, width, **scales):
        super().__init__()
        self.norm, self.dense = nn.LayerNorm(width, eps=0.0), dense(width, **scales)

    def forward(self, z):
        return z + self.dense(functional.relu(self.norm(z)))


class SwiGlu(nn.Module):
    def __init__(self, width, **scales):
        super().__init__()
        self.gate, self.up, self.down = (dense(width, **scales) for _ in range(3))

    def forward(self, z):
        u = z / z.square().mean(dim=-1, keepdim=True).sqrt()
        return z + self.down(functional.silu(self.gate(u)) * self.up(u))


class BatchNormed(nn.Module):
    def __init__(self, width, **scales):
        super().__init__()
        self.norm, self.dense = nn.BatchNorm1d(width, eps=1e-12), dense(width, **scales)

    def forward(self, z):
        return z / 2 + self.dense(functional.relu(self.norm(z)))


@dataclass(frozen=True)
class Case:
    """A block, its forward equation, its scales and the kernel that enters."""

    block: type[nn.Module]
    layer: sr.Layer
    scales: dict[str, float]
    kernel: float
    batch: bool = False


silu, u = sr.activation("silu"), sr.RMSNorm(sr.z)
CASES = {
    "mlp": Case(Mlp, sr.mlp("gelu"), {"C_W": 1.6, "C_b": 0.3}, 1.5),
    "residual": Case(Skip, sr.residual("erf", gamma="1/2"), {"C_W": 1.0, "C_b": 0.1}, 1.0),
    "pre_ln": Case(PreNorm, sr.pre_ln("relu", gamma=1), {"C_W": 2.0, "C_b": 0.1}, 1.0),
    "swiglu": Case(SwiGlu, sr.Layer(sr.z + sr.Dense(silu(sr.Dense(u)) * sr.Dense(u))), {"C_W": 1.5, "C_b": 0.1}, 1.0),
    "batch_norm": Case(BatchNormed, sr.batch_norm("relu", gamma="1/2"), {"C_W": 1.5, "C_b": 0.1}, 1.0, batch=True),
}


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
