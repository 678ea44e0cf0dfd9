"""Tuned blocks against closed forms and whole Jacobians, and that a model is changed only where it is meant."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn

import symres as sr
import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles.torch_blocks import GPT, Computed, ConvBlock, DenseBlock, GPTBlock, MixerBlock
from tests.torch_state import untouched


class Weighted(nn.Module):
    """gamma z + xi f(z), with f given."""

    def __init__(self, function, gamma=1.0, xi=1.0):
        super().__init__()
        self.function, self.gamma = function, gamma
        self.xi = nn.Parameter(torch.tensor(float(xi), dtype=torch.float64))

    def forward(self, x):
        return self.gamma * x + self.xi * self.function(x)


WEIGHTS = {"branch_weight": "xi", "skip_weight": "gamma"}


def normal(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def tuned(model, inputs, blocks=None, **how):
    return st.tune_(model, inputs, blocks, **{"progress": False, "probes": 8} | how)


def whole_jacobians(function, stream):
    """Of the branch of each input, shape (inputs, n, n)."""
    return torch.stack([torch.autograd.functional.jacobian(lambda z: function(z[None])[0], z) for z in stream])


@pytest.mark.parametrize("target", ["size", "gradient", "apjn"])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_branch_along_the_stream_has_no_scatter(target, factor):
    # (gamma + 0.5 xi)^2 = 1, and no random direction can tell otherwise
    model = nn.Sequential(Weighted(lambda z: factor * z), Weighted(lambda z: factor * z))
    report = tuned(model, normal(4, 5), "*", target=target, gamma="0.6", **WEIGHTS)
    for part, block in zip(report.parts, model, strict=True):
        assert block.xi.item() == pytest.approx(0.4 / factor, rel=1e-12)
        assert block.gamma == pytest.approx(0.6, rel=1e-15)
        assert part.chi_before == pytest.approx((1 + factor) ** 2, rel=1e-12)
        assert (part.chi_after, part.growth_after) == pytest.approx((1, 1), rel=1e-12)
        assert float(part.xi) == block.xi.item()
    if target == "apjn":
        first, second = report.parts
        assert (first.apjn_before, second.apjn_before) == pytest.approx(((1 + factor) ** 2, (1 + factor) ** 4))
        assert second.apjn_after == pytest.approx(1, rel=1e-12)


def test_the_condition_of_gradients_is_that_of_whole_jacobians():
    torch.manual_seed(3)
    branch = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6)).double()
    model, stream = Weighted(branch), normal(40, 6)
    jacobians = whole_jacobians(branch, stream).detach()
    lengths, traces = jacobians.square().sum((1, 2)) / 6, jacobians.diagonal(dim1=1, dim2=2).sum(1) / 6
    model = nn.Sequential(model)
    report = tuned(model, stream, "0", gamma=0.7, probes=64, branch_weight="function.2", skip_weight="gamma")
    (part,) = report.parts
    assert abs(part.J_RR - lengths.mean()) < 4 * part.J_RR.error
    assert abs(part.J_R1 - traces.mean()) < 4 * part.J_R1.error
    assert part.J_RR.error < 0.05 * part.J_RR  # the first of these lines can fail
    exact = np.roots([float(lengths.mean()), 1.4 * float(traces.mean()), 0.49 - 1]).max()
    assert 0 < part.xi.error < 0.05 * part.xi
    after = 0.49 + 1.4 * float(part.xi) * traces.mean() + float(part.xi) ** 2 * lengths.mean()
    assert abs(part.xi - exact) < 4 * part.xi.error
    assert abs(after - 1) < 4 * part.chi_tuned.error
    whole = (0.7 * torch.eye(6) + whole_jacobians(branch, stream)).detach().square().sum((1, 2)).mean() / 6
    assert abs(float(whole) - 1) < 4 * part.chi_tuned.error  # the weights of the model do it


def test_the_condition_of_kernels_is_solved_by_tune_block():
    torch.manual_seed(4)
    branch = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8)).double()
    z = normal(30, 8)
    R = branch(z).detach()
    moments = [float((a * b).mean()) for a, b in ((R, R), (z, z), (R, z))]
    for unknown, given in (("xi", {"gamma": 0.8}), ("gamma", {"xi": 1.5})):
        model = nn.Sequential(Weighted(copy.deepcopy(branch)))
        (part,) = tuned(model, z, "0", target="size", unknown=unknown, **WEIGHTS, **given).parts
        assert getattr(part, unknown) == pytest.approx(sr.tune_block(*moments, **given), rel=1e-10)
        assert part.growth_after == pytest.approx(1, rel=1e-10)
        assert float(model(z).square().mean() / z.square().mean()) == pytest.approx(1, rel=1e-10)


def test_both_conditions_at_once_are_deprecated_and_mean_gradients():
    models = [nn.Sequential(Weighted(lambda z: 2 * z)) for _ in range(2)]
    with pytest.warns(FutureWarning, match="target='both' is deprecated"):
        old = tuned(models[0], normal(4, 5), "0", target="both", gamma=0.6, **WEIGHTS)
    new = tuned(models[1], normal(4, 5), "0", gamma=0.6, **WEIGHTS)
    assert (old.target, old.parts[0].xi) == ("gradient", new.parts[0].xi)


@pytest.mark.parametrize("target", ["size", "gradient", "apjn"])
def test_growth_is_shared_by_the_blocks(target):
    torch.manual_seed(5)
    model = nn.Sequential(*[DenseBlock(12, nn.Tanh()).double() for _ in range(3)])
    report = tuned(model, normal(30, 12), target=target, growth=8, probes=32)
    for number, part in enumerate(report.parts, start=1):
        assert float(part.gamma) == 1
        if target == "size":
            assert part.growth_after == pytest.approx(2, rel=1e-6)
        elif target == "gradient":
            assert abs(part.chi_after - 2) < 4 * math.hypot(part.chi_after.error, part.chi_tuned.error)
        else:
            assert abs(part.apjn_after - 2**number) < 6 * part.apjn_after.error
    assert report.parts[0].chi_before > 0
    assert [part.scaled for part in report.parts] == ["0.second", "1.second", "2.second"]


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.filterwarnings("ignore:.*never updated")
def test_a_dry_run_changes_nothing(mode):
    model = nn.Sequential(ConvBlock(), ConvBlock()).train()
    model[0].conv1.weight.requires_grad_(False)
    model[1].conv1.weight.grad = torch.ones_like(model[1].conv1.weight)
    inputs = torch.randn(4, 8, 5, 5)
    with untouched(model, inputs):
        report = tuned(model, inputs, wrap=True, gamma=0.9, mode=mode, dry_run=True)
    assert not report.applied and "dry run" in str(report)
    again = tuned(model, inputs, wrap=True, gamma=0.9, mode=mode)
    assert [float(part.xi) for part in again.parts] == [float(part.xi) for part in report.parts]
    assert float(model[0].xi) == pytest.approx(float(again.parts[0].xi), rel=1e-6)


def test_a_failure_in_the_last_block_changes_nothing():
    model = nn.Sequential(DenseBlock(8), DenseBlock(8), DenseBlock(8))
    with torch.no_grad():
        model[2].second.weight[0, 0] = math.nan
    inputs, told = torch.randn(4, 8), r"the tuning of 2: .*not finite.*2\.second\.weight"
    with untouched(model, inputs), pytest.raises(DeclarationError, match=told):
        tuned(model, inputs, growth=2)


def test_only_the_last_layers_of_branches_are_scaled():
    torch.manual_seed(0)
    model = GPT(2)
    before = copy.deepcopy(model.state_dict())
    report = tuned(model, torch.randint(0, 50, (8, 10)), ["h.*.attn", "h.*.mlp"], growth=2)
    assert [(part.name, part.kind) for part in report.parts] == [
        (f"h.{number}.{name}", "branch") for number in range(2) for name in ("attn", "mlp")
    ]
    factors = {part.scaled: float(part.xi) for part in report.parts}
    assert set(factors) == {"h.0.attn.c_proj", "h.0.mlp.2", "h.1.attn.c_proj", "h.1.mlp.2"}
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, before[name] * factors.get(name.rpartition(".")[0], 1.0))


def test_a_wrapped_block_weighs_skip_and_branch():
    torch.manual_seed(0)
    model, x = nn.Sequential(GPTBlock(), nn.Identity()).eval(), torch.randn(4, 6, 16)
    report = tuned(model[0], x, "mlp", growth=1.1)
    assert report.model is model[0]
    plain = model[0](x)[0].detach()

    outer = Computed(lambda x, block: block(x)[0], model[0]).eval()
    report = tuned(outer, x, "layers.*", gamma=0.8, wrap=True)
    wrapped = outer.layers[0]
    assert isinstance(wrapped, st.ScaledBlock) and wrapped.block is model[0]
    xi = float(report["layers.0"].xi)
    torch.testing.assert_close(outer(x), 0.8 * x + xi * (plain - x))
    assert wrapped(x)[1] is None  # what else the block returns
    assert "layers.0.block.ln_1.weight" in outer.state_dict() and f"xi={xi:.6g}" in repr(wrapped)


def test_wrapped_blocks_are_tuned_again_by_their_weights():
    torch.manual_seed(0)
    model, x = nn.Sequential(MixerBlock(), MixerBlock()), torch.randn(16, 6, 16)
    tuned(model, x, gamma=0.9, wrap=True)
    xis = [block.xi.item() for block in model]
    again = tuned(model, x, branch_weight="xi", skip_weight="gamma", seed=1)
    for part in again.parts:
        assert float(part.gamma) == pytest.approx(0.9) and abs(part.xi - 1) < 6 * part.xi.error
    assert [block.xi.item() / xi for block, xi in zip(model, xis, strict=True)] == pytest.approx(
        [float(part.xi) for part in again.parts], rel=1e-5
    )
    other = tuned(model, x, branch_weight="xi", skip_weight="gamma", gamma=0.5)
    assert [block.gamma.item() for block in model] == pytest.approx([0.5, 0.5])
    assert all(abs(part.chi_after - 1) < 0.1 for part in other.parts)
    report = tuned(model[0].block, x, lambda name, module: name == "", gamma=0.8, wrap=True)  # the model itself
    assert report.model is not model[0].block and report.model.block is model[0].block
    assert abs(report.parts[0].chi_after - 1) < 0.1


def test_batch_normalisation_behind_the_convolution_is_what_scales():
    class Plain(ConvBlock):
        def forward(self, x):
            return x + self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))

    for mode in ("train", "eval"):
        model = nn.Sequential(Plain(), Plain())
        if mode == "eval":
            model.train()(torch.randn(16, 8, 5, 5))
        report = tuned(model, torch.randn(8, 8, 5, 5), growth=1.5, mode=mode)
        assert [part.scaled for part in report.parts] == ["0.bn2", "1.bn2"]
        assert float(model[0].bn2.weight[0]) == pytest.approx(float(report["0"].xi), rel=1e-6)


def test_a_mixer_is_tuned_branch_by_branch_behind_transposes():
    torch.manual_seed(0)
    model, x = nn.Sequential(MixerBlock(), MixerBlock()), torch.randn(12, 6, 16)
    report = tuned(model, x, ["*.token", "*.channel"], growth=2, probes=32)
    assert [part.scaled for part in report.parts] == ["0.token.2", "0.channel.2", "1.token.2", "1.channel.2"]
    for part in report.parts:
        assert abs(part.chi_after - 2**0.25) < 4 * math.hypot(part.chi_after.error, part.chi_tuned.error)


def test_modules_between_blocks_carry_perturbations():
    torch.manual_seed(0)
    parts = DenseBlock(6), nn.Linear(6, 6, bias=False), DenseBlock(6)
    model, x = Computed(lambda x, first, between, second: second(between(first(x))), *parts).double(), normal(6, 6)
    blocks = ["layers.0", "layers.2"]
    report = tuned(model, x, blocks, target="apjn", probes=100, gamma=0.7, wrap=True)
    exact = [whole_jacobians(lambda z, part=part: part(z), x) for part in (model.layers[0], model)]
    for part, jacobians in zip(report.parts, exact, strict=True):
        norm = float(jacobians.square().sum((1, 2)).mean() / 6)
        assert abs(part.apjn_after - norm) < 4 * part.apjn_after.error
    assert report.parts[1].apjn_after.error < 0.5 * report.parts[1].apjn_after


def test_the_report_is_a_table_and_a_text():
    torch.manual_seed(0)
    report = tuned(nn.Sequential(DenseBlock(8), DenseBlock(8)), torch.randn(8, 8), growth=2)
    frame = report.frame()
    expected = "G_RR G_zz G_Rz J_RR J_R1 gamma xi xi_error scaled kernel_before kernel_after growth_before growth_after"
    chis = {f"chi_{when}{end}" for when in ("before", "after") for end in ("", "_error")}
    assert list(frame["name"]) == ["0", "1"] and {*expected.split(), *chis} <= set(frame.columns)
    assert frame["chi_after"][1] == float(report["1"].chi_after)
    assert str(report).startswith("2 blocks tuned for gradients, on 8 inputs")
    with pytest.raises(KeyError):
        report["2"]
    model = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Tanh()) for _ in range(2)])
    with pytest.warns(UserWarning, match=r"0\.1, 1\.1 normalises by running statistics"):
        report = tuned(model, torch.randn(6, 8))
    assert report.notes and str(report).count("note") == 1


def test_probes_and_seeds():
    said = []

    def run(**how):
        torch.manual_seed(0)
        model = nn.Sequential(DenseBlock(8, nn.Tanh()), DenseBlock(8, nn.Tanh())).double()
        return tuned(model, normal(10, 8), growth=2, progress=lambda what, share: said.append(share), **how).parts[1]

    one, same, other = run(seed=1), run(seed=1), run(seed=2)
    assert one.xi == same.xi and one.chi_after == same.chi_after
    assert one.xi != other.xi and abs(one.xi - other.xi) < 5 * math.hypot(one.xi.error, other.xi.error)
    assert said[:6] == pytest.approx([k / 6 for k in range(1, 7)])
