"""Constructions of today's models: what cannot be set is left and named, and everything else is set."""

import math

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

import symres.torch as st
from tests.oracles import modern_networks as nets
from tests.oracles.torch_blocks import mlp


@pytest.fixture(scope="module")
def usual(vectors):
    return st.init_(mlp(3, 256), inputs=vectors, dry_run=True)


@pytest.fixture(scope="module")
def tokens():
    return torch.randn(4, 6, 20, generator=torch.Generator().manual_seed(2))


class TestDistributions:
    @pytest.mark.parametrize(
        ("name", "largest", "fourth"),
        # the largest number and <w^4>/<w^2>^2, both in units of the variance; of a normal one cut at two deviations
        [("truncated", 2 / 0.8796256610342398, 2.365), ("uniform", math.sqrt(3), 9 / 5), ("normal", 9, 3)],
    )
    def test_all_have_the_variance_that_is_asked(self, name, largest, fourth, vectors, usual):
        model = mlp(3, 256)
        report = st.init_(model, inputs=vectors, distribution=name, seed=3, like=usual)
        numbers = model[2].weight.detach() * math.sqrt(256 / 2)
        assert float(numbers.square().mean()) == pytest.approx(1, rel=0.02)
        assert float(numbers.abs().max()) <= largest
        assert float((numbers**4).mean() / numbers.square().mean() ** 2) == pytest.approx(fourth, rel=0.03)
        assert report.check.is_near

    def test_orthogonal_matrices_are_scaled_by_the_root_of_C_W(self, vectors, usual):
        model = mlp(3, 256)
        st.init_(model, inputs=vectors, distribution="orthogonal", like=usual)
        square = model[2].weight.detach() @ model[2].weight.detach().T
        assert torch.allclose(square, 2 * torch.eye(256), atol=1e-4)
        wide = model[0].weight.detach()  # 20 inputs, 256 outputs: columns are orthogonal
        C_W = float(20 * wide.square().mean())
        assert C_W == pytest.approx(usual["0.weight"].variance, rel=1e-5)
        assert torch.allclose(wide.T @ wide, torch.eye(20) * C_W * 256 / 20, atol=1e-3)


class Masked(nn.Linear):
    """A mask in forward, as in autoregressive networks."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("mask", torch.rand(self.weight.shape).less(0.3))

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.mask, self.bias)


class TestMasks:
    def pruned(self):
        model = mlp(3, 256)
        prune.random_unstructured(model[2], "weight", amount=0.8)
        return model, model[2].weight_orig, model[2].weight_mask.bool()

    def masked(self):
        model = mlp(3, 256)
        model[2] = Masked(256, 256)
        return model, model[2].weight, model[2].mask

    def test_removed_neurons_are_told(self, vectors, usual):
        model = mlp(3, 256)
        prune.ln_structured(model[2], "weight", amount=0.5, n=2, dim=0)
        report = st.init_(model, inputs=vectors, like=usual)
        assert any("a mask removes 0.5 of the neurons of 2" in note for note in report.notes)

    @pytest.mark.parametrize("kind", ["pruned", "masked"])
    def test_kept_entries_make_up_for_the_others(self, kind, vectors, usual):
        torch.manual_seed(0)
        model, weight, kept = getattr(self, kind)()
        before = weight.detach().clone()
        report = st.init_(model, inputs=vectors, like=usual)
        density = float(kept.float().mean())
        assert density < 0.5
        assert float(weight[kept].var()) * 256 * density == pytest.approx(2, rel=0.05)
        assert torch.equal(weight[~kept], before[~kept])
        assert report.check.is_near and f"{density:.3g} of the entries are kept" in str(report)
        if kind == "pruned":  # what pruning computes is as new
            assert torch.equal(model[2].weight, weight * kept)


class TestComputedWeights:
    def test_a_bias_that_is_put_together_is_left_and_the_others_are_set(self, tokens):
        model = nn.Sequential(nn.Linear(20, 32), nets.JoinedBias(), nets.JoinedBias(), nn.Linear(32, 5))
        report = st.init_(model, inputs=tokens)
        assert {s.name for s in report.left} == {f"{n}.{b}_bias" for n in "12" for b in "qv"}
        assert all("forward computes the bias of a layer from it" in s.why for s in report.left)
        assert bool((model[1].q_bias == 0.1).all())
        assert float(model[1].qkv.weight.var()) * 32 == pytest.approx(1, rel=0.1)

    def test_standardised_weights_are_left_and_no_theory_is_claimed_for_them(self, vectors):
        hidden = [m for _ in range(3) for m in (nets.StandardisedDense(64, 64), nn.ReLU())]
        model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), *hidden, nn.Linear(64, 5))
        before = model[2].weight.detach().clone()
        report = st.init_(model, inputs=vectors)
        assert torch.equal(model[2].weight, before)
        assert {"2.weight", "2.gain"} <= {s.name for s in report.left}
        assert all(math.isnan(s.kernel_theory) for s in report.check.streams if s.place == "2")


class TestParts:
    @pytest.mark.exhaustive  # each of the three attempts draws trial networks of several kinds of layers, 20 s
    def test_a_kind_without_a_setting_stays_measured(self):
        torch.manual_seed(0)
        report = st.init_(nets.MobileNet(), inputs=torch.randn(8, 3, 8, 8), seed=0)
        assert all("what starts small is kept" in s.why for s in report.left)
        assert any("measured, without advice of the theory" in note for note in report.notes)
        assert any("a grouped convolution" in note for note in report.notes)

    def test_fused_attention_is_read_and_grouped_convolutions_and_pools_are_named(self, tokens):
        model = nn.Sequential(nn.Linear(20, 32), nets.Fused(), nets.Fused(), nn.Linear(32, 5))
        report, reading = st.init_(model, inputs=tokens), st.read(model, tokens)
        assert not report.left
        assert reading["1.attention"].is_known and not reading.unrecognised
        convolutions = nn.Sequential(
            nn.Conv2d(3, 16, 3, bias=False), nn.MaxPool2d(2), nn.Conv2d(16, 16, 3, groups=4, bias=False),
            nets.SqueezeExcite(16, 8), nn.Flatten(), nn.Linear(64, 5),
        )  # fmt: skip
        pictures = torch.randn(8, 3, 10, 10)
        assert not st.init_(convolutions, inputs=pictures).left
        unread = {block.place: block.opaque[0].kind for block in st.read(convolutions, pictures).unrecognised}
        assert unread == {"1": "MaxPool2d", "2": "Conv2d", "3": "SqueezeExcite"}
