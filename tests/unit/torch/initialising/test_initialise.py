"""Initialised models: variances in closed form, kernels and gradients by plain hooks, and what must not change."""

import math
from functools import partial

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles.hooked_streams import hooked_streams
from tests.oracles.torch_blocks import GatedBlock, NormedBlock, mlp
from tests.torch_state import untouched

WIDTH = 64


class ScaledSum(NormedBlock):
    def forward(self, x):
        return super().forward(x) / math.sqrt(2)


class Attention(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width), nn.MultiheadAttention(width, 2, batch_first=True)

    def forward(self, x):
        h = self.norm(x)
        return x + self.mix(h, h, h, need_weights=False)[0]


class Stack(nn.Module):
    def __init__(self, blocks, words=0, tied=False):
        super().__init__()
        self.read = nn.Embedding(words, WIDTH) if words else nn.Linear(20, WIDTH)
        self.blocks, self.norm, self.head = nn.ModuleList(blocks), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, words or 10)
        if tied:
            self.head.weight = self.read.weight

    def forward(self, x):
        x = self.read(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@pytest.fixture(scope="module")
def words():
    return torch.randint(0, 30, (8, 6), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def relu(vectors):
    """The report of ``mlp(4, 128, nn.ReLU)``, whose advice other tests take over."""
    return st.init_(mlp(4, 128, nn.ReLU), inputs=vectors)


def assert_variance(tensor, variance):
    """Within 5 standard errors of the mean square of normal numbers."""
    found = float(tensor.detach().double().square().mean())
    assert found == pytest.approx(variance, rel=5 * math.sqrt(2 / tensor.numel()))


class TestVariances:
    def test_relu_has_twice_the_inverse_of_the_fan_in_and_outputs_of_mean_square_one(self, vectors):
        model = mlp(4, 128, nn.ReLU)
        report = st.init_(model, inputs=vectors)
        assert report["2.weight"].variance == pytest.approx(2)
        assert report["2.bias"].variance == 0 and not model[2].bias.detach().any()
        assert_variance(model[2].weight, 2 / 128)
        square = float(vectors.square().mean())
        assert report["0.weight"].variance * square == pytest.approx(report.advice[0][1].kernel)
        larger = st.init_(mlp(4, 128, nn.ReLU), inputs=3 * vectors, like=report)
        assert report["0.weight"].variance == pytest.approx(9 * larger["0.weight"].variance)
        # <relu(z)^2> = K/2
        assert report["8.weight"].variance == pytest.approx(2 / report.advice[0][1].kernel)

    @pytest.mark.parametrize("given", [True, False])
    def test_linear_layers_in_a_row_are_one_read_in(self, vectors, given):
        model = nn.Sequential(nn.Linear(20, 32), *mlp(3, 64, nn.GELU, inputs=32))
        report = st.init_(model, inputs=vectors if given else None, seed=0)
        ((text, advice),) = report.advice
        assert text == "Dense(gelu(z))"
        for name in ("0.weight", "1.weight"):
            assert "read-in" in report[name].why
        assert "measured for its inputs" in report["1.weight"].why
        assert report.check.streams[1].kernel == pytest.approx(advice.kernel, rel=0.5)

    @pytest.mark.parametrize(("bias", "equation"), [(True, "Dense(z)"), (False, "Dense(z, C_b=0)")])
    def test_a_linear_model_has_linear_layers(self, vectors, bias, equation):
        model = nn.Sequential(*(nn.Linear(i, o, bias) for i, o in [(20, 64), (64, 64), (64, 64), (64, 3)]))
        report = st.init_(model, inputs=vectors)
        assert [text for text, _ in report.advice] == [equation]
        assert report.linear == (equation,)
        assert f"z' = {equation}: linear layers without an activation before them" in str(report)

    def test_gelu_is_at_the_half_stable_point(self, vectors):
        model = mlp(6, 256, nn.GELU)
        report = st.init_(model, inputs=vectors)
        K = (3 + math.sqrt(17)) / 2
        assert report.advice[0][1].kernel == pytest.approx(K)
        assert report["4.weight"].variance == pytest.approx(1.98305825743755)
        assert report["4.bias"].variance == pytest.approx(0.172922390756067)
        assert_variance(model[4].weight, 1.98305825743755 / 256)
        assert_variance(model[4].bias, 0.172922390756067)
        kernels, _ = hooked_streams(model.double(), ["0"], (vectors.double(),))
        # 256 neurons, whose weights and biases are drawn once
        assert kernels[0] == pytest.approx(K, rel=5 * math.sqrt(2 / 256))

    def test_without_inputs_their_mean_square_is_one(self):
        report = st.init_(mlp(3, 128, nn.Tanh))
        assert report["0.weight"].variance == pytest.approx(report.advice[0][1].kernel)
        assert any("assumed" in note for note in report.notes)

    @pytest.mark.exhaustive
    def test_layers_without_biases_have_points_without(self, vectors):
        report = st.init_(mlp(4, 256, nn.GELU, bias=False), inputs=vectors)
        (_, advice), *_ = report.advice
        assert advice.holds and advice.C_b == 0 and report.check.holds
        assert report["2.weight"].variance == advice.C_W
        assert 1.98 < advice.C_W < 4  # its critical point K* = 0 with C_W = 4 is unstable

    def test_branches_carry_xi_at_their_end_and_norms_begin_with_one_and_zero(self, vectors):
        model = Stack([NormedBlock(WIDTH) for _ in range(4)])
        norm = model.blocks[0].norm
        nn.init.normal_(norm.weight), nn.init.normal_(norm.bias)
        report = st.init_(model, inputs=vectors)
        assert (norm.weight == 1).all() and not norm.bias.detach().any()
        xi = report.advice[0][1].parameters["xi"]
        assert report["blocks.2.first.weight"].variance == pytest.approx(1)
        assert report["blocks.2.second.weight"].variance == pytest.approx(xi**2)
        assert_variance(model.blocks[2].second.weight, xi**2 / (4 * WIDTH))
        assert report.advice[0][1].depth == 4
        assert any("lazy" in note for note in report.notes)

    @pytest.mark.exhaustive
    def test_sums_over_a_root_are_residual(self, vectors):
        # z' = (z + Dense(gelu(Dense(norm))))/sqrt(2): kernels stay where <gelu^2> C_W is the kernel
        model = Stack([ScaledSum(WIDTH) for _ in range(6)])
        report = st.init_(model, inputs=vectors, seed=1)
        assert all("6 branches" in report[f"blocks.{k}.second.weight"].why for k in range(6))
        assert len({report[f"blocks.{k}.second.weight"].variance for k in range(6)}) == 1
        assert report.check.kernel_range < 2 and report.check.gradient_range < 2

    def test_rows_of_value_and_gate_are_both_drawn(self, vectors):
        st.init_(model := Stack([GatedBlock(WIDTH, bias=False) for _ in range(3)]), inputs=vectors)
        for rows in model.blocks[1].up.weight.chunk(2):
            assert_variance(rows, 1 / WIDTH)

    def test_a_chain_of_two_activations_hands_the_kernel_over(self, vectors):
        hidden = [m for kind in (nn.GELU, nn.Tanh) for m in (kind(), nn.Linear(256, 256))]
        model = nn.Sequential(nn.Linear(20, 256), *hidden, nn.Tanh(), nn.Linear(256, 5))
        report = st.init_(model, inputs=vectors)
        tanh = dict(report.advice)["Dense(tanh(z))"].kernel
        kernels, _ = hooked_streams(model.double(), ["0", "2"], (vectors.double(),))
        assert kernels[0] == pytest.approx((3 + math.sqrt(17)) / 2, rel=5 * math.sqrt(2 / 256))
        assert kernels[1] == pytest.approx(tanh, rel=5 * math.sqrt(2 / 256))


class TestMatch:
    def test_a_chain_is_critical_at_its_own_kernel(self, vectors):
        model = mlp(4, 256, nn.Tanh)
        with torch.no_grad():
            model[0].weight.normal_(std=0.1)
            model[0].bias.zero_()
        own = float(model[0](vectors).detach().square().mean())
        report = st.init_(model, "match", vectors)
        advice = report.advice[0][1]
        assert advice.kernel == pytest.approx(own, rel=1e-5)
        draws = math.sqrt(own) * torch.randn(400_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        slopes = (1 - torch.tanh(draws) ** 2) ** 2
        squares = torch.tanh(draws) ** 2
        for mean, values, wanted in (
            (advice.C_W * slopes.mean(), slopes, 1.0),
            (advice.C_b + advice.C_W * squares.mean(), squares, own),
        ):
            error = advice.C_W * float(values.std()) / math.sqrt(len(values))
            assert abs(float(mean) - wanted) < 5 * error


class TestSignals:
    """Kernels and gradients of models, against the report's theory, by plain hooks."""

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("block", [NormedBlock, partial(NormedBlock, post=True), partial(GatedBlock, bias=False)])
    def test_residual_stacks_keep_both(self, block, vectors):
        model = Stack([block(WIDTH) for _ in range(6)])
        report = st.init_(model, inputs=vectors)
        names = ["read", *(f"blocks.{k}" for k in range(6))]
        kernels, gradients = hooked_streams(model.double(), names, (vectors.double(),), draws=256)
        assert [stream.place for stream in report.check.streams] == names
        for stream, kernel, gradient in zip(report.check.streams, kernels, gradients, strict=True):
            assert stream.kernel == pytest.approx(kernel, rel=1e-4)  # weights in single precision
            assert stream.gradient == pytest.approx(gradient, rel=0.1)  # both are averages over random signs
        assert max(kernels) < 5 * min(kernels) and max(gradients) < 5 * min(gradients)
        assert report.check.holds and report.check.is_near

    def test_convolutions_with_pools(self):
        images = torch.randn(8, 3, 12, 12, generator=torch.Generator().manual_seed(2))
        layers = [nn.Conv2d(3, 48, 3, padding=1), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(48, 48, 3, padding=1), nn.ReLU()]
        model = nn.Sequential(*layers, nn.AvgPool2d(12), nn.Flatten(), nn.Linear(48, 10))
        report = st.init_(model, inputs=images)
        assert report["4.weight"].variance == pytest.approx(2)
        assert_variance(model[4].weight, 2 / (48 * 9))
        kernels, gradients = hooked_streams(model.double(), list("02468"), (images.double(),))
        assert max(kernels) < 5 * min(kernels) and max(gradients) < 5 * min(gradients)
        # averaged over readouts, outputs have the mean square Var(w) sum_j h_j^2; ten neurons alone are off by 0.4
        features = model[:-1](images.double()).detach().square().sum(dim=1).mean()
        found = features * model[-1].weight.detach().square().mean()
        assert float(found) == pytest.approx(1, rel=4 * math.sqrt(2 / 480))


class TestWhatIsLeft:
    def test_attention_gets_the_xi_of_equal_tokens(self, words):
        model = Stack([m for _ in range(2) for m in (Attention(), NormedBlock(WIDTH))], words=30)
        before = model.read.weight.detach().clone()
        report = st.init_(model, inputs=words)
        xi = report.advice[0][1].parameters["xi"]
        assert report.advice[0][1].depth == 4
        assert report["blocks.0.mix.out_proj.weight"].variance == pytest.approx(xi**2)
        assert report["blocks.0.mix.out_proj.weight"].reason == "theory"
        assert ", of equal tokens" in report["blocks.0.mix.out_proj.weight"].why
        parts = [report[f"blocks.0.mix.in_proj_weight{rows}"] for rows in ("[0:64]", "[64:128]", "[128:192]")]
        assert [s.variance for s in parts] == [1, 1, 1]  # of queries, keys and values
        assert report["blocks.0.mix.in_proj_weight"] is parts[0]
        assert any("equal tokens" in note for note in report.notes)
        assert [setting.module for setting in report.left] == ["read"]
        assert torch.equal(model.read.weight, before)
        assert report.check.holds

    def test_a_readout_that_is_the_embedding_is_left(self, words):
        model = Stack([NormedBlock(WIDTH) for _ in range(3)], words=30, tied=True)
        before = model.head.weight.detach().clone()
        report = st.init_(model, inputs=words)
        assert torch.equal(model.head.weight, before)
        assert any("head" in note and "embedding" in note for note in report.notes)

    def test_tied_layers_are_set_once_and_frozen_ones_are_left(self, vectors, relu):
        model = mlp(4, 128, nn.ReLU)
        model[4].weight = model[2].weight
        model[6].weight.requires_grad_(False)
        before = model[6].weight.detach().clone()
        report = st.init_(model, inputs=vectors, like=relu)
        assert "4.weight" in report["2.weight"].why
        assert_variance(model[4].weight, 2 / 128)
        assert torch.equal(model[6].weight, before) and not model[6].weight.requires_grad
        assert report["6.weight"].reason == "left"

    @pytest.mark.exhaustive
    def test_running_statistics_start_anew(self, vectors):
        model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))
        model(3 * vectors)
        assert model[1].running_var.max() != 1
        st.init_(model, inputs=vectors, force=True)
        assert (model[1].running_var == 1).all() and int(model[1].num_batches_tracked) == 0


class TestDeepForTheirWidth:
    def test_averages_that_survive_are_enough_and_the_scatter_is_told(self, vectors):
        report = st.init_(mlp(20, 32, nn.ReLU), inputs=vectors)
        (_, advice), *_ = report.advice
        assert not advice.holds and advice.trial.holds_on_average and advice.trial.typical > 5
        assert report["2.weight"].variance == pytest.approx(2)
        shown = str(report)
        assert f"kept on average over networks, but not in {advice.trial.leaving} of 32 single networks" in shown
        assert "On average over networks of 19 layers and width 32, C_W = 2, C_b = 0 keep" in shown
        assert "Every setting that was tried" not in shown

    @pytest.mark.exhaustive
    @pytest.mark.parametrize(
        ("depth", "activation", "told"),
        [
            (20, nn.ReLU, "Every setting that was tried changes"),
            (12, nn.GELU, "in networks of 11 layers and width 8.*nearest layer"),
        ],
    )
    def test_what_nothing_saves_is_refused(self, vectors, depth, activation, told):
        model = mlp(depth, 8, activation)
        assert issubclass(st.NothingHolds, DeclarationError)
        with untouched(model), pytest.raises(st.NothingHolds, match=told) as refused:
            st.init_(model, inputs=vectors)
        assert not any(end in str(refused.value) for end in (".;", "\n"))


class TestNothingElseChanges:
    def test_a_dry_run_reports_the_same_and_changes_nothing(self, vectors, relu):
        model = mlp(4, 128, nn.ReLU).train()
        with untouched(model):
            dry = st.init_(model, inputs=vectors, dry_run=True, like=relu)
        wet = st.init_(model, inputs=vectors, like=relu)
        assert dry.settings == wet.settings and (dry.seed, dry.check) == (wet.seed, wet.check)
        assert (dry.changed, wet.changed) == (False, True)
        assert model.training

    def test_seeds_decide_and_the_process_goes_on(self, vectors, relu):
        models = [mlp(4, 128, nn.ReLU) for _ in range(3)]
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        st.init_(models[0], inputs=vectors, seed=1, like=relu)
        for model, seed in zip(models[1:], (1, 2), strict=True):
            st.init_(model, inputs=vectors, seed=seed, like=relu)
        assert torch.equal(torch.rand(3), expected)
        one, same, other = (model[2].weight for model in models)
        assert torch.equal(one, same) and not torch.equal(one, other)

    def test_types_are_kept(self, vectors, relu):
        model = mlp(4, 128, nn.ReLU).bfloat16()
        st.init_(model, inputs=vectors, like=relu)
        assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
        assert_variance(model[2].weight, 2 / 128)

    @pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm", "orthogonal"])
    def test_weights_that_are_computed_are_left_and_the_others_set(self, vectors, kind):
        model = mlp(3, 128, nn.ReLU)
        getattr(nn.utils.parametrizations, kind)(model[2])
        before = [p.detach().clone() for p in model[2].parametrizations.parameters()]
        report = st.init_(model, inputs=vectors)
        assert all(map(torch.equal, before, model[2].parametrizations.parameters()))
        assert {s.module for s in report.left} == {"2.parametrizations.weight"}
        assert all("forward computes the weight of a layer from it" in s.why for s in report.left)
        assert {"0.weight", "4.weight"} <= {s.name for s in report.settings} - {s.name for s in report.left}

    @pytest.mark.parametrize("groups", [1, 4])
    def test_an_output_of_a_transposed_convolution_sees_the_inputs_over_its_strides(self, groups):
        model = nn.Sequential(nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1, groups=groups), nn.Conv2d(32, 1, 1))
        inputs = torch.randn(4, 64, 16, 16, generator=torch.Generator().manual_seed(1))
        report = st.init_(model, inputs=inputs, generator=torch.Generator().manual_seed(2))
        (up,) = [s for s in report.settings if s.name == "0.weight"]
        inside = model[0](inputs)[..., 2:-2, 2:-2]
        assert float(inside.square().mean()) == pytest.approx(up.variance * float(inputs.square().mean()), rel=0.15)


class TestReport:
    def test_it_has_a_row_for_every_tensor_and_says_why(self, vectors, relu):
        model = mlp(4, 128, nn.ReLU)
        report = st.init_(model, inputs=vectors, like=relu)
        frame = report.frame()
        assert len(frame) == len(list(model.parameters()))
        assert set(frame.columns) >= {"module", "tensor", "std", "C_W", "C_b", "reason", "why"}
        row = frame[(frame.module == "2") & (frame.tensor == "weight")].iloc[0]
        assert row["std"] == pytest.approx(math.sqrt(row.C_W / 128))
        text = str(report)
        assert "readout" in text and "afterwards" in text and "Dense(relu(z))" in text
        assert report.linear == () and "without an activation" not in text
        assert len(report.check.frame()) == 4
