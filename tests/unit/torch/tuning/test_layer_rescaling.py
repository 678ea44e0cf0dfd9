"""Layers without skips against whole Jacobians and closed forms."""

import copy
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError


def mlp(widths, activation=nn.ReLU):
    layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), activation())]
    return nn.Sequential(*layers[:-1]).double()


def normal(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def outputs(model, x):
    found = []
    for part in model:
        x = part(x)
        if isinstance(part, (nn.Linear, nn.Conv2d)):
            found.append(x.detach())
    return found


def whole_chi(between, place):
    """Mean over inputs of the squared norm of the Jacobian from one place to the next, per neuron of the next."""
    norms = []
    for row in place:
        jacobian = torch.autograd.functional.jacobian(lambda z: between(z[None])[0], row)
        norms.append(float(jacobian.square().sum()) / (jacobian.numel() / row.numel()))
    return np.mean(norms)


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.GELU])
def test_gradients_keep_their_size_from_layer_to_layer(activation):
    torch.manual_seed(0)
    model, x = mlp([5, 12, 12, 12, 3], activation), normal(24, 5)
    report = st.tune_(model, x, probes=64, kernel=1, progress=False)
    assert [part.name for part in report.parts] == ["0", "2", "4", "6"]
    places = outputs(model, x)
    assert float(places[0].square().mean()) == pytest.approx(1, rel=1e-10)
    assert math.isnan(report.parts[0].chi_after)
    for number, part in enumerate(report.parts[1:]):
        chi = whole_chi(model[2 * number + 1 : 2 * number + 3], places[number])
        assert abs(chi - 1) < 4 * part.chi_tuned.error
        assert 0 < part.chi_tuned.error < 0.1
        assert abs(part.chi_before - 1) > 0.3
        assert abs(part.chi_after - chi) < 4 * part.chi_after.error


def test_kernels_reach_what_is_asked_for():
    torch.manual_seed(1)
    model, x = mlp([5, 9, 9, 4], nn.Tanh), normal(20, 5)
    st.tune_(model, x, target="size", kernel="1/2", progress=False)
    assert [float(h.square().mean()) for h in outputs(model, x)] == pytest.approx([0.5] * 3, rel=1e-10)
    biases = [layer.bias.clone() for layer in model if isinstance(layer, nn.Linear)]
    report = st.tune_(model, 2 * x, target="size", progress=False)  # the kernel of the first layer as it is
    kernels = [float(h.square().mean()) for h in outputs(model, 2 * x)]
    assert kernels == pytest.approx([float(report.parts[0].kernel_before)] * 3, rel=1e-10)
    assert all(
        torch.equal(bias, layer.bias) for bias, layer in zip(biases, (model[0], model[2], model[4]), strict=True)
    )


def test_weights_keep_gradients_and_biases_kernels():
    # C_W = 1/<tanh'^2> and C_b = K - C_W <tanh^2> at K = 1/2, of finite layers
    torch.manual_seed(2)
    model, x = mlp([20, 60, 60, 60], nn.Tanh), normal(20, 20)
    report = st.tune_(model, x, target="both", kernel=0.5, probes=32, progress=False)
    places = outputs(model, x)
    for number, part in enumerate(report.parts):
        assert float(places[number].square().mean()) == pytest.approx(0.5, rel=1e-10)
        if number:
            chi = whole_chi(model[2 * number - 1 : 2 * number + 1], places[number - 1])
            assert abs(chi - 1) < 4 * part.chi_tuned.error
            assert part.bias_factor > 0 and part.bias_factor.error > 0
    with pytest.raises(DeclarationError, match=r"kernel = 0\.5 at 2: .*no factor of its biases gives the rest"):
        st.tune_(mlp([20, 60, 60], nn.ReLU), x, target="both", kernel=0.5, progress=False)
    with pytest.raises(DeclarationError, match="its biases alone have the mean square"):
        st.tune_(copy.deepcopy(model), x, target="size", kernel=1e-9, progress=False)


def test_convolutions_in_place_activations_and_growth():
    torch.manual_seed(3)
    model = nn.Sequential(
        *(nn.Conv2d(2, 6, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(6, 6, 3), nn.ReLU(inplace=True)),
        *(nn.MaxPool2d(2), nn.Conv2d(6, 4, 2)),
    ).double()
    x = normal(12, 2, 8, 8)
    report = st.tune_(model, x, layers=nn.Conv2d, growth=4, probes=64, progress=False)
    places = outputs(copy.deepcopy(model), x)
    for number, part in ((1, report.parts[1]), (2, report.parts[2])):
        between = model[1:3] if number == 1 else model[3:6]
        chi = whole_chi(lambda z, between=between: between(z.clone()), places[number - 1])
        assert abs(chi - 2) < 4 * part.chi_tuned.error


def test_a_deep_network_keeps_its_gradient():
    torch.manual_seed(4)
    model, x = mlp([16, *[64] * 20], nn.ReLU), normal(16, 16)

    def span():
        found = st.measure(model, x, probes=8, exact=False, progress=False).places
        rows = [[float(getattr(place, name)) for place in found] for name in ("kernel", "apjn_backward")]
        return [max(row) / min(row) for row in rows]

    assert min(span()[1:]) > 1e3
    report = st.tune_(model, x, progress=False)
    assert span()[1] < 3  # the product of 20 single layers of width 64 scatters
    assert "20 layers tuned for gradients" in str(report)
    assert report.frame()["weight_factor"][0] == 1
