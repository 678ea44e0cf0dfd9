"""Constructions of common model families that a sweep over libraries found refused: they are set, or named."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import symres.torch as st
from symres.core.errors import SymresError
from tests.oracles.hooked_streams import hooked_streams
from tests.oracles.small_starts import Attention
from tests.oracles.torch_blocks import Computed


class ParallelBlock(nn.Module):
    """Attention and perceptron side by side behind one norm, as in Phi, GPT-J and Falcon."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads=1)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        normed = self.norm(x)
        return x + self.attention(normed) + self.down(F.gelu(self.up(normed)))


class ParallelNetwork(nn.Module):
    """Blocks on a small embedding, which begins as language models begin: with the standard deviation 0.02."""

    def __init__(self, width=32, depth=3):
        super().__init__()
        self.tokens = nn.Embedding(32, width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.blocks = nn.Sequential(*(ParallelBlock(width) for _ in range(depth)))
        self.norm, self.readout = nn.LayerNorm(width), nn.Linear(width, 32)

    def forward(self, tokens):
        return self.readout(self.norm(self.blocks(self.tokens(tokens))))


class CheckedTokens(ParallelNetwork):
    """Its forward looks at the tokens before anything is made of them, as GPT-2 of transformers does for a warning."""

    def forward(self, tokens):
        if 31 in tokens[:, [0, -1]] and tokens.max() > 31:
            raise ValueError
        return super().forward(tokens)


class PatchTransformer(nn.Module):
    """A vision transformer whose class token begins small, as timm's does."""

    def __init__(self, width=32, depth=2):
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, width, 4, stride=4), nn.Parameter(1e-3 * torch.randn(1, 1, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth))
        self.attentions = nn.ModuleList(Attention(width, heads=1) for _ in range(depth))
        self.ups = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.downs = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))
        self.norm, self.readout = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).mT
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)
        for k, attention in enumerate(self.attentions):
            x = x + attention(self.norms[2 * k](x))
            x = x + self.downs[k](F.gelu(self.ups[k](self.norms[2 * k + 1](x))))
        return self.readout(self.norm(x[:, 0]))


class PooledShortcut(nn.Module):
    """A residual block of ResNet-D: an average before the shortcut where there are fewer positions."""

    def __init__(self, a, b):
        super().__init__()
        self.branch = nn.Sequential(
            *(nn.Conv2d(a, b, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()),
            *(nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b)),
        )
        self.shortcut = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b))

    def forward(self, x):
        return F.relu(self.branch(x) + self.shortcut(x))


class Graph(nn.Module):
    """Means over neighbours between dense layers."""

    def __init__(self, width=64, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, features, neighbours):
        for layer in self.layers:
            features = neighbours @ layer(features.relu())
        return features


def sines(x, *layers):
    """A SIREN: sines of frequency 30."""
    for layer in layers[:-1]:
        x = torch.sin(30 * layer(x))
    return layers[-1](x)


def slope_of_itself(x, field):
    """A derivative in its inputs, as the loss of a physics-informed network needs it."""
    x = x.detach().requires_grad_()
    return torch.autograd.grad(field(x).sum(), x, create_graph=True)[0]


def tokens():
    return torch.randint(0, 32, (8, 12), generator=torch.Generator().manual_seed(1))


def images(size=16):
    return torch.randn(8, 3, size, size, generator=torch.Generator().manual_seed(1))


def stays_level(model, names, *inputs):
    """Whether hooks see kernels and squared gradients within a factor of 5 of each other."""
    return all(max(values) < 5 * min(values) for values in hooked_streams(model.eval(), names, inputs))


def initialised(build, *inputs):
    torch.manual_seed(0)
    model = build()
    return model, st.init_(model, inputs=inputs, seed=0)


def test_parallel_branches_are_made_for_a_small_embedding():
    model, _ = initialised(ParallelNetwork, tokens())
    assert stays_level(model, ["tokens", *(f"blocks.{k}" for k in range(3))], tokens())


def test_a_look_at_the_tokens_is_no_branch_on_the_stream():
    torch.manual_seed(0)
    model = CheckedTokens()
    read = st.read(model, tokens(), check=False)
    assert "readout" in [block.place for block in read.recognised]
    assert {part.kind for block in read.unrecognised for part in block.opaque} == {"Embedding"}


def test_a_class_token_gets_the_size_of_the_stream():
    model, report = initialised(PatchTransformer, images())
    square = float(model.patches(images()).detach().square().mean())
    assert float(model.token.detach().square().mean()) == pytest.approx(square, rel=0.8)  # 32 numbers
    assert report["token"].std == pytest.approx(square**0.5, rel=1e-4)
    assert stays_level(model, [f"attentions.{k}" for k in range(2)], images())


def test_a_pool_before_a_shortcut_is_measured():
    def build():
        blocks = (PooledShortcut(32, 64), PooledShortcut(64, 128))
        return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *blocks, nn.Flatten(), nn.Linear(2048, 10))

    model, _ = initialised(build, images())
    norms = [model[k].shortcut[2].weight.detach().square().mean() for k in (1, 2)]
    entering = [model[:k].train()(images()).detach().square().mean() for k in (1, 2)]
    assert [float(n) for n in norms] == pytest.approx([float(e) for e in entering], rel=1e-3)


def test_a_factor_behind_a_dense_layer_counts():
    inputs = 2 * torch.rand(64, 2, generator=torch.Generator().manual_seed(1)) - 1
    layers = [nn.Linear(2, 64), *(nn.Linear(64, 64) for _ in range(4)), nn.Linear(64, 1)]
    model, _ = initialised(lambda: Computed(sines, *layers), inputs)
    assert stays_level(model, [f"layers.{k}" for k in range(5)], inputs)


def test_a_graph_of_many_nodes_is_taken_whole():
    source = torch.Generator().manual_seed(1)
    features = torch.randn(100, 64, generator=source)
    neighbours = (torch.rand(100, 100, generator=source) < 0.05) + torch.eye(100)
    neighbours = neighbours / neighbours.sum(1, keepdim=True)
    torch.manual_seed(0)
    model = Graph()
    assert st.read(model, (features, neighbours), check=False).blocks
    report = st.init_(model, inputs=(features, neighbours), seed=0)
    assert report.check.inputs == 100
    assert {setting.tensor for setting in report.settings if setting.std > 0} == {"weight"}


def test_a_model_that_differentiates_itself_is_refused_by_the_name_of_the_operation():
    with pytest.raises(SymresError, match=r"operation grad in .*initialise the module without this operation"):
        field = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        initialised(lambda: Computed(slope_of_itself, field), torch.randn(8, 2))


class NormedConvolutions(nn.Module):
    """Pre-activation block whose norms average over channels and pixels."""

    def __init__(self, channels):
        super().__init__()
        self.norm, self.norm_2 = nn.GroupNorm(1, channels), nn.GroupNorm(1, channels)
        self.conv, self.conv_2 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, x):
        return x + self.conv_2(F.relu(self.norm_2(self.conv(F.relu(self.norm(x))))))


def test_norms_over_channels_and_pixels_have_the_advice_for_as_many_neurons_as_channels():
    def build():
        blocks = (NormedConvolutions(32) for _ in range(3))
        pool = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
        return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *blocks, *pool)

    model, report = initialised(build, images())
    assert "of width 32" in str(report)
    assert report["1.conv_2.weight"].reason.name == "THEORY"
    assert stays_level(model, [str(k) for k in range(4)], images())
    assert float(model(images()).detach().square().mean()) == pytest.approx(1, rel=0.8)  # of ten outputs
