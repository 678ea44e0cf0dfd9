"""Theory next to measurement: kernels and Jacobian norms of known layers, anew behind what stays measured."""

import math

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError


def perceptron(width, gain=1.4):
    layers = []
    for _ in range(6):
        linear = nn.Linear(width, width)
        nn.init.normal_(linear.weight, std=gain / math.sqrt(width))
        nn.init.normal_(linear.bias, std=0.1)
        layers += [nn.Tanh(), linear]
    return nn.Sequential(nn.Linear(width, width), *layers)


def test_perceptron():
    torch.manual_seed(0)
    found = st.predict(perceptron(256), torch.randn(20, 256), progress=False)
    rows = found.rows()
    assert [row["place"] for row in rows] == ["0", "2", "4", "6", "8", "10", "12"]
    for row in rows:
        assert abs(row["kernel_z"]) < 3 and abs(row["apjn_forward_z"]) < 3
        assert row["kernel_theory_error"] < 0.3 * row["kernel_theory"]


def test_a_perceptron_by_hand():
    """Linear layers: kernels and norms are products of C_W, apart from biases."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(64, 64, bias=False) for _ in range(3)))
    inputs = torch.randn(10, 64)
    kernel, norm = float(inputs.double().square().mean()), 1.0
    for row, module in zip(st.predict(model, inputs, progress=False).rows(), model, strict=True):
        variance = 64 * float(module.weight.detach().double().square().mean())
        kernel, norm = kernel * variance, norm * variance
        assert row["kernel_theory"] == pytest.approx(kernel, rel=1e-9)
        assert row["apjn_forward_theory"] == pytest.approx(norm, rel=1e-9)


class Mixing(nn.Module):
    """Two layers of every block that the theory knows, and an average over positions, which it does not."""

    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.norm1(x).mean(dim=1, keepdim=True)
        return x + self.fc2(torch.relu(self.fc1(self.norm2(x))))


def test_theory_starts_anew_behind_what_stays_measured():
    torch.manual_seed(0)
    found = st.predict(nn.Sequential(*(Mixing(128) for _ in range(3))), torch.randn(6, 4, 128), progress=False)
    known = [row for row in found.rows() if math.isfinite(row["kernel_theory"])]
    assert [row["place"] for row in known] == ["0", "1", "2"]
    assert all(abs(row["kernel_z"]) < 3 and abs(row["apjn_forward_z"]) < 3 for row in known)
    assert found["input of 1.norm2"].kernel > found["0"].kernel


def test_a_theory_that_is_wrong_is_seen(monkeypatch):
    """C_W of every layer is too large by a quarter."""
    from symres.torch.equations.dense_variances import variances

    monkeypatch.setattr(
        "symres.torch.reading.assembling.variances", lambda use: (1.25 * variances(use)[0], variances(use)[1])
    )
    torch.manual_seed(0)
    found = st.predict(perceptron(512), torch.randn(20, 512), check=False, progress=False)
    assert max(abs(row["apjn_forward_z"]) for row in found.rows()) > 3


def test_no_known_layer():
    with pytest.raises(DeclarationError, match="known layer"):
        st.predict(nn.Softmax(-1), torch.randn(4, 8), progress=False)
