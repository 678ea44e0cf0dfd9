"""Predicted pixels: kernels and Jacobian norms of random convolutional networks beside those that are measured."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import symres as sr
import symres.torch as st
from symres.layers.grids import Wrapped


def conv(inputs, outputs, mode, size=3, stride=1, variance=2.0, groups=1):
    layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False, padding_mode=mode, groups=groups)
    nn.init.normal_(layer.weight, std=math.sqrt(variance / layer.weight[0].numel()))
    return layer


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Block(nn.Module):
    """A residual block with norms before activations; with a stride the skip connection is a convolution, too."""

    def __init__(self, width, mode, norm, stride=1):
        super().__init__()
        self.norm1, self.norm2 = norm(width), norm(width)
        self.first, self.second = conv(width, width, mode, stride=stride), conv(width, width, mode)
        self.skip = conv(width, width, mode, 1, stride, 1.0) if stride > 1 else nn.Identity()

    def forward(self, x):
        h = self.first(torch.relu(self.norm1(x)))
        return self.skip(x) + self.second(torch.relu(self.norm2(h)))


class ConvNext(nn.Module):
    """A convolution in groups, a norm over channels, two dense layers and a factor."""

    def __init__(self, width, mode):
        super().__init__()
        self.depthwise, self.norm = conv(width, width, mode, 7, variance=1.0, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.factor = nn.Parameter(torch.ones(width))
        for layer in (self.up, self.down):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5)

    def forward(self, x):
        h = self.down(functional.gelu(self.up(self.norm(self.depthwise(x).permute(0, 2, 3, 1)))))
        return x + (self.factor * h).permute(0, 3, 1, 2)


NORMS = {"channels": ChannelNorm, "channels and pixels": lambda width: nn.GroupNorm(1, width), "batch": nn.BatchNorm2d}


def resnet(mode, norm, width=64):
    blocks = [Block(width, mode, NORMS[norm], stride) for stride in (1, 1, 2, 1)]
    return nn.Sequential(conv(3, width, mode), *blocks)


def convnext(mode, width=64):
    shrinking = [nn.Conv2d(inputs, width, 2, 2) for inputs in (12, width)]
    return nn.Sequential(shrinking[0], *(ConvNext(width, mode) for _ in range(2)), shrinking[1], ConvNext(width, mode))


def images(side, channels=3, count=2):
    """With correlations of near pixels."""
    smooth = functional.avg_pool2d(torch.randn(count, channels, side + 2, side + 2), 3, 1)
    return torch.randn(count, channels, side, side) + 4 * smooth


def test_zeros_beyond_edges_are_predicted():
    torch.manual_seed(0)
    model = nn.Sequential(conv(3, 128, "zeros"), nn.ReLU(), conv(128, 128, "zeros", 5, 2), nn.ReLU())
    model.extend([nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)])
    inputs = images(6)
    measured = st.predict(model, inputs, check=False, progress=False)
    kernels = [model[:1](inputs), model[:3](inputs)]
    rows = measured.rows()
    assert [row["place"] for row in rows] == ["0", "2", "6"]
    for row, kernel in zip(rows, kernels, strict=False):
        assert row["kernel_theory"] == pytest.approx(float(kernel.detach().square().mean()), rel=0.1)
        assert row["apjn_forward_theory"] == pytest.approx(row["apjn_forward"], rel=0.15)
        assert row["token_cosine_theory"] == pytest.approx(row["token_cosine"], abs=0.05)
    inside = functional.avg_pool2d(torch.ones(1, 1, 6, 6), 3, 1, 1).mean()  # of windows
    assert rows[0]["apjn_forward_theory"] == pytest.approx(float(27 * model[0].weight.square().mean() * inside))
    assert abs(rows[2]["kernel_z"]) < 3 and abs(rows[0]["apjn_backward_z"]) < 3


@pytest.mark.parametrize("stride", [1, 2])
def test_circular_images_as_they_are(stride):
    """Of an image whose pixels are alike they have the kernels of a torus."""
    layer = sr.Layer(sr.Conv(sr.activation("relu")(sr.z), 2, 0, window=[1, 1, 2], stride=stride))
    of_circle = np.array([1.0, 0.4, 0.1, 0.2, 0.1, 0.4])
    matrix = np.array([np.roll(of_circle, place) for place in range(6)])
    circle = layer.derive(positions=sr.Torus(6)).kernels(1, of_circle)[-1]
    kernel = layer.derive(positions=Wrapped(6)).kernels(1, matrix)[-1]
    assert kernel[0] == pytest.approx(circle, rel=1e-12)
    alone = layer.derive(positions=Wrapped(6)).kernels(1, np.diag(np.arange(1.0, 7)))[-1]
    seen = np.roll(np.arange(1.0, 7), 1) + np.arange(1.0, 7) + 2 * np.roll(np.arange(1.0, 7), -1)
    assert alone.diagonal() == pytest.approx(seen[::stride] / 4, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "stride", "padding", "dilation"),
    [(3, 1, 1, 1), (3, 2, 1, 1), (3, 1, 2, 2), (4, 2, 1, 1), (2, 2, 0, 1), ((1, 5), 1, (0, 2), 1), (2, 1, "same", 1)],
)
def test_windows_are_those_of_pytorch(size, stride, padding, dilation):
    layer = nn.Conv2d(1, 1, size, stride, padding, dilation)
    (use,) = st.read(layer, torch.randn(1, 1, 8, 8), check=False).blocks[0].windows
    nn.init.ones_(layer.weight), nn.init.zeros_(layer.bias)
    image = torch.randn(1, 1, 8, 8, dtype=torch.float64)
    window = torch.tensor(use.around, dtype=torch.float64)[None, None]
    ends = functional.conv2d(image, window, stride=stride, padding=window.shape[-1] // 2)
    assert torch.allclose(ends, layer.double()(image))


def test_windows_that_leave_out_edges_are_taken_pixel_by_pixel():
    layer = nn.Conv2d(8, 64, 3)
    (block,) = st.read(layer, torch.randn(2, 8, 6, 6), check=False).blocks
    assert block.windows[0].around is None and block.of_positions is None
    measured = st.predict(nn.Sequential(layer, nn.ReLU(), nn.Conv2d(64, 64, 1)), torch.randn(2, 8, 6, 6), check=False)
    assert "pixels one by one" in str(measured)


def test_a_batch_is_predicted_in_train_mode():
    """Two blocks of a pre-activation ResNet; by running statistics there is no theory, which a note says."""
    torch.manual_seed(0)
    model = nn.Sequential(conv(3, 64, "zeros"), *(Block(64, "zeros", nn.BatchNorm2d) for _ in range(2)))
    inputs = images(4, count=8)
    measured = st.predict(model, inputs, check=False, progress=False)
    for row in measured.rows():
        for name in ("kernel", "apjn_forward"):
            assert row[f"{name}_theory"] == pytest.approx(row[name], rel=0.15)
        assert row["token_cosine_theory"] == pytest.approx(row["token_cosine"], abs=0.05)
    assert "add to kernels: batch " in str(measured)
    running = st.predict(model, inputs, check=False, progress=False, mode="eval")
    assert [math.isfinite(row["kernel_theory"]) for row in running.rows()] == [True, False, False]
    assert "no theory of running statistics: 1 ... 2 (pass mode='train')" in str(running)


def test_batches_of_rows():
    """A perceptron with batch norms, of whose inputs some are alike."""
    torch.manual_seed(0)
    widths = [(16, 512), (512, 512), (512, 512)]
    layers = [(nn.Linear(a, b, bias=False), nn.BatchNorm1d(b), nn.ReLU()) for a, b in widths]
    model = nn.Sequential(*(part for layer in layers for part in layer), nn.Linear(512, 8))
    inputs = torch.randn(1, 16) + torch.randn(12, 16)
    for row in st.predict(model, inputs, check=False, progress=False).rows()[:-1]:
        assert row["kernel_theory"] == pytest.approx(row["kernel"], rel=0.1)
        assert row["apjn_forward_theory"] == pytest.approx(row["apjn_forward"], rel=0.1)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_gradients_through_the_smallest_batches_have_no_theory(count):
    """Variances over so few places differ too much from neuron to neuron; in front of them all is as it was."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 256))
    first, last = st.predict(model, torch.randn(count, 16), check=False, progress=False).rows()
    assert first["apjn_forward_theory"] == pytest.approx(first["apjn_forward"], rel=0.1)
    assert math.isnan(last["apjn_forward_theory"])


class PostActivation(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = conv(width, width, "zeros"), conv(width, width, "zeros")

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.first(x))))


def test_theory_ends_where_activations_are_added_to_the_stream():
    torch.manual_seed(0)
    model = nn.Sequential(
        conv(3, 64, "zeros"), nn.ReLU(), *(PostActivation(64) for _ in range(2)), conv(64, 64, "zeros")
    )
    measured = st.predict(model, images(4), check=False, progress=False)
    assert [row["place"] for row in measured.rows() if math.isfinite(row["kernel_theory"])] == ["0"]
    assert "not Gaussian behind 2 ... 3: " in str(measured)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["zeros", "circular"])
@pytest.mark.parametrize("kind", [*NORMS, "convnext"])
def test_random_networks(kind, mode):
    """Means of ten networks within 5 %, those of ConvNeXt, on an image of 12 channels, within 10 %; or 4 errors."""
    found = {}
    for seed in range(10):
        torch.manual_seed(seed)
        model = convnext(mode) if kind == "convnext" else resnet(mode, kind)
        inputs = images(16, 12) if kind == "convnext" else images(8, count=8 if kind == "batch" else 2)
        measured = st.predict(model, inputs, check=False, progress=False)
        for row in measured.rows():
            for name in ("kernel", "apjn_forward", "apjn_backward"):
                if math.isfinite(theory := row.get(f"{name}_theory", math.nan)):
                    found.setdefault((row["place"], name), []).append([row[name], theory])
                    assert abs(row[f"{name}_z"]) < 3
    assert len(found) == 14
    for values in map(np.array, found.values()):
        measured, theory = values.mean(axis=0)
        error = (values[:, 0] - values[:, 1]).std(ddof=1) / math.sqrt(10)
        assert abs(measured - theory) < max((0.1 if kind == "convnext" else 0.05) * theory, 4 * error)
