"""Parametrisations are told apart by how their first steps depend on the width."""

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

import symres.torch as st

WIDTHS = (64, 128, 256)


class Perceptron(nn.Module):
    """Two hidden layers without biases in one of three parametrisations."""

    def __init__(self, width, kind):
        super().__init__()
        self.width, self.kind = width, kind
        self.layers = nn.ModuleList(nn.Linear(*pair, bias=False) for pair in pairwise((20, width, width, 10)))
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=1.0 if kind == "NTK" else math.sqrt(2 / layer.in_features))
        if kind == "mup":
            nn.init.normal_(self.layers[-1].weight, std=1 / width)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x if layer is self.layers[0] else torch.relu(x))
            x = x * math.sqrt(2 / layer.in_features) if self.kind == "NTK" else x
        return x


def maximal_updates(model, rate):
    """Adam with rates that fall with the fan-in, but for the first layer."""
    first, *others = ([layer.weight] for layer in model.layers)
    inner = rate * WIDTHS[0] / model.width
    return torch.optim.Adam([{"params": first, "lr": rate}, *({"params": p, "lr": inner} for p in others)])


@pytest.fixture(scope="module")
def inputs():
    return torch.randn(16, 20, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("kind", "optimizer", "output", "hidden", "falls"),
    # exponents of what training changes at the output and in the second layer, and whether the best rate falls
    [
        ("standard", "adam", 1, 1, True),
        ("standard", "sgd", 1, 1 / 2, True),
        ("NTK", "sgd", 0, -1 / 2, False),
        ("mup", maximal_updates, 0, 0, False),
    ],
)
def test_parametrisations_are_told_apart(kind, optimizer, output, hidden, falls, inputs):
    found = st.coordinate_check(lambda n: Perceptron(n, kind), inputs, widths=WIDTHS, optimizer=optimizer)
    assert found.verdict == kind
    assert float(found.change_exponents["output"]) == pytest.approx(output, abs=0.35)
    assert float(found.change_exponents["layers.1"]) == pytest.approx(hidden, abs=0.35)
    low, high = (-2, -0.7) if falls else (-0.5, 0.5)
    assert low < float(found.rate_exponent) < high
    assert kind in str(found) and "best learning rates" in str(found)


@pytest.fixture(scope="module")
def small(inputs):
    build, state = lambda n: Perceptron(n, "standard"), torch.get_rng_state()
    found = st.coordinate_check(build, inputs, widths=(8, 16, 32), steps=2, rates=(1e-3, 1e-2, 1e-1), seeds=2)
    assert torch.equal(torch.get_rng_state(), state)  # the random numbers of the process go on
    return found


def test_the_table_has_sizes_that_hooks_see(small, inputs):
    frame = small.frame()
    assert len(frame) == 3 * 4 * 3
    torch.manual_seed(0)
    networks = [Perceptron(16, "standard")]
    torch.manual_seed(1)
    networks.append(Perceptron(16, "standard"))
    expected = sum(float(network(inputs).detach().square().mean().sqrt()) for network in networks) / 2
    (row,) = frame[(frame.width == 16) & (frame.place == "output") & (frame.step == 0)].itertuples()
    assert row.size == pytest.approx(expected, rel=1e-5) and row.change == 0


def test_the_figure_has_a_line_for_each_step_and_width(small):
    figure = small.plot()
    axes = [axis for part in figure.subfigs for axis in part.axes]
    assert [len(axis.lines) for axis in axes] == [3, 3, 3, 3, 1]
    assert figure._repr_png_().startswith(b"\x89PNG")  # notebooks show it
    both = [side for axis in axes for side in (axis.xaxis, axis.yaxis)]
    labels = [label for side in both for label in side.get_ticklabels(which="both")]
    assert len({label.get_fontsize() for label in labels if label.get_text()}) == 1
