"""Theory next to measurement: kernels and Jacobian norms of known layers, anew behind what stays measured."""

import math

import pytest
import torch
from torch import nn

import symres.torch as st
from tests.oracles.torch_blocks import Computed


def perceptron(width, gain=1.4):
    layers = []
    for _ in range(6):
        linear = nn.Linear(width, width)
        nn.init.normal_(linear.weight, std=gain / math.sqrt(width))
        nn.init.normal_(linear.bias, std=0.1)
        layers += [nn.Tanh(), linear]
    return nn.Sequential(nn.Linear(width, width), *layers)


def scaled(inputs, outputs):
    linear = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(linear.weight, std=math.sqrt(1.5 / inputs))
    return linear


def half(x, dense):
    return x / 2 + dense(torch.relu(x))


def test_perceptron():
    torch.manual_seed(0)
    found = st.predict(perceptron(256), torch.randn(20, 256), progress=False)
    rows = found.rows()
    assert [row["place"] for row in rows] == ["0", "2", "4", "6", "8", "10", "12"]
    for row in rows:
        assert abs(row["kernel_z"]) < 3 and abs(row["apjn_forward_z"]) < 3
        assert row["kernel_theory_error"] < 0.3 * row["kernel_theory"]
    lines = str(found).splitlines()
    assert len([line for line in lines if line.count("theory") >= 2 and "z = " in line]) == 7
    assert "theory: kernel at 7 of 7 places, |z| at most" in str(found)
    assert "apjn_forward at 7 of 7 places" in str(found)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("kind", "most"), [("tanh", 0.6), ("relu", 0.4), ("residual", 0.4)])
def test_what_is_allowed_is_little_more_than_what_networks_scatter_by(kind, most):
    """Ten outputs of 128 neurons: Jacobians to the output scatter by sqrt(2/1280), not by sqrt(2/10)."""
    phi = nn.Tanh if kind == "tanh" else nn.ReLU
    found, allowed = [], []
    for seed in range(6):
        torch.manual_seed(seed)
        layers = [scaled(128, 128) for _ in range(6)]
        blocks = [Computed(half, layer) if kind == "residual" else nn.Sequential(phi(), layer) for layer in layers]
        model = nn.Sequential(scaled(20, 128), *blocks, scaled(128, 10))
        for row in st.predict(model, torch.randn(8, 20), seed=seed, check=False, progress=False).rows():
            found += [row[f"{name}_z"] for name in ("kernel", "apjn_forward", "apjn_backward")]
            allowed.append(row["apjn_backward_theory_error"] / row["apjn_backward_theory"])
    found = [z for z in found if math.isfinite(z)]
    assert max(map(abs, found)) < 4
    assert 0.1 < math.sqrt(sum(z * z for z in found) / len(found)) < 1.5
    assert max(a for a in allowed if math.isfinite(a)) < most


def test_a_perceptron_by_hand():
    """Linear layers: kernels and norms are products of C_W. 20 inputs in 16 shares, one of them huge, have one mean."""
    torch.manual_seed(0)
    model, inputs = nn.Sequential(*(nn.Linear(64, 64, bias=False) for _ in range(3))), torch.randn(20, 64)
    inputs[3] *= 100
    rows = st.predict(model, inputs, progress=False).rows()
    variances = [64 * float(module.weight.detach().double().square().mean()) for module in model]
    kernel = float(inputs.double().square().mean())
    for number, row in enumerate(rows, 1):
        forward, backward = math.prod(variances[:number]), math.prod(variances[number:])
        assert row["kernel_theory"] == pytest.approx(kernel * forward, rel=1e-9)
        assert row["apjn_forward_theory"] == pytest.approx(forward, rel=1e-9)
        if number < len(rows):
            assert row["apjn_backward_theory"] == pytest.approx(backward, rel=1e-9)
    assert math.isnan(rows[-1]["apjn_backward_theory"])  # it is the output itself


def test_backward_norms_are_predicted_as_far_as_all_behind_is_known():
    torch.manual_seed(0)
    model = nn.Sequential(Mixing(128), *(part for _ in range(3) for part in (nn.Tanh(), nn.Linear(128, 128))))
    rows = {row["place"]: row for row in st.predict(model, torch.randn(6, 4, 128), progress=False).rows()}
    known = [place for place, row in rows.items() if math.isfinite(row["apjn_backward_theory"])]
    assert known == ["input of 0.norm2", "0", "2", "4"]
    assert all(abs(rows[place]["apjn_backward_z"]) < 3 for place in known)


def test_a_huge_input_does_not_hide_that_a_theory_is_wrong(monkeypatch):
    """C_W of every layer is too large by a half; one input of twenty has a kernel of 900."""
    torch.manual_seed(0)
    model, inputs = nn.Sequential(*(nn.Linear(512, 512, bias=False) for _ in range(3))), torch.randn(20, 512)
    inputs[0] *= 30
    right = st.predict(model, inputs, check=False, progress=False)
    assert all(abs(row["kernel_z"]) < 3 for row in right.rows())
    from symres.torch.equations.formula_values import variances

    monkeypatch.setattr(
        "symres.torch.reading.read_model.variances", lambda use: (1.5 * variances(use)[0], variances(use)[1])
    )
    wrong = st.predict(model, inputs, check=False, progress=False)
    assert all(row["kernel_z"] < -3 for row in wrong.rows())
    assert float(wrong.places[0].kernel.error) > 0.5 * wrong.places[0].kernel


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
