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


def convolutions():
    parts = nn.Conv2d(2, 6, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(6, 6, 3), nn.ReLU(inplace=True)
    return nn.Sequential(*parts, nn.MaxPool2d(2), nn.Conv2d(6, 4, 2)).double()


def outputs(model, x):
    places = []
    for part in copy.deepcopy(model):
        x = part(x)
        if isinstance(part, (nn.Linear, nn.Conv2d)):
            places.append(x.detach().clone())
    return places


def kernels(model, x):
    return [float(place.square().mean()) for place in outputs(model, x)]


def whole_chis(model, x):
    """Mean over inputs of the squared norm of the Jacobian from each layer to the next, per neuron of the next."""
    layers = [number for number, part in enumerate(model) if isinstance(part, (nn.Linear, nn.Conv2d))]
    chis = []
    for (first, last), place in zip(pairwise(layers), outputs(model, x), strict=False):
        between = model[first + 1 : last + 1]
        norms = []
        for row in place:
            jacobian = torch.autograd.functional.jacobian(lambda z, part=between: part(z.clone()[None])[0], row)
            norms.append(float(jacobian.square().sum()) / (jacobian.numel() / row.numel()))
        chis.append(np.mean(norms))
    return chis


GRADIENTS = {
    **{phi.__name__: (lambda phi=phi: mlp([5, 12, 12, 12, 3], phi), normal(24, 5), 1, {"kernel": 1})
       for phi in (nn.ReLU, nn.GELU)},
    "convolutions": (convolutions, normal(12, 2, 8, 8), 2, {"layers": nn.Conv2d, "growth": 4}),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_change_as_is_asked_for_from_layer_to_layer(name):
    build, x, wanted, how = GRADIENTS[name]
    torch.manual_seed(0)
    model = build()
    first, *parts = st.tune_(model, x, probes=64, progress=False, **how).parts
    assert math.isnan(first.chi_after)
    if "kernel" in how:
        assert kernels(model, x)[0] == pytest.approx(1, rel=1e-10)
    for part, chi in zip(parts, whole_chis(model, x), strict=True):
        assert abs(chi - wanted) < 4 * part.chi_tuned.error
        assert 0 < part.chi_tuned.error < 0.1 * wanted
        assert abs(part.chi_before - wanted) > 0.3
        assert abs(part.chi_after - chi) < 4 * part.chi_after.error


def test_kernels_reach_what_is_asked_for():
    torch.manual_seed(1)
    model, x = mlp([5, 9, 9, 4], nn.Tanh), normal(20, 5)
    st.tune_(model, x, target="size", kernel="1/2", progress=False)
    assert kernels(model, x) == pytest.approx([0.5] * 3, rel=1e-10)
    biases = [model[number].bias.clone() for number in (0, 2, 4)]
    report = st.tune_(model, 2 * x, target="size", progress=False)  # the kernel of the first layer as it is
    assert kernels(model, 2 * x) == pytest.approx([float(report.parts[0].kernel_before)] * 3, rel=1e-10)
    assert all(torch.equal(bias, model[number].bias) for bias, number in zip(biases, (0, 2, 4), strict=True))


def test_weights_keep_gradients_and_biases_kernels():
    # C_W = 1/<tanh'^2> and C_b = K - C_W <tanh^2> at K = 1/2, of finite layers
    torch.manual_seed(2)
    model, x = mlp([20, 60, 60, 60], nn.Tanh), normal(20, 20)
    _, *parts = st.tune_(model, x, target="both", kernel=0.5, probes=32, progress=False).parts
    assert kernels(model, x) == pytest.approx([0.5] * 3, rel=1e-10)
    for part, chi in zip(parts, whole_chis(model, x), strict=True):
        assert abs(chi - 1) < 4 * part.chi_tuned.error
        assert part.bias_factor > 0 and part.bias_factor.error > 0
    with pytest.raises(DeclarationError, match=r"kernel = 0\.5 at 2: .*no factor of its biases gives the rest"):
        st.tune_(mlp([20, 60, 60], nn.ReLU), x, target="both", kernel=0.5, progress=False)
    with pytest.raises(DeclarationError, match="its biases alone have the mean square"):
        st.tune_(model, x, target="size", kernel=1e-9, progress=False)


def test_a_deep_network_keeps_its_gradient():
    torch.manual_seed(4)
    model, x = mlp([16, *[64] * 20], nn.ReLU), normal(16, 16)

    def spans():
        places = st.measure(model, x, probes=8, exact=False, progress=False).places
        rows = [[float(getattr(place, name)) for place in places] for name in ("kernel", "apjn_backward")]
        return [max(row) / min(row) for row in rows]

    assert spans()[1] > 1e3
    report = st.tune_(model, x, progress=False)
    assert spans()[1] < 3  # the product of 20 single layers of width 64 scatters
    assert "20 layers tuned for gradients" in str(report)
    assert report.frame()["weight_factor"][0] == 1
