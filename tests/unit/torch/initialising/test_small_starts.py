"""What starts small stays small: LayerScale, ReZero, Fixup and zero-initialised norms, judged by a step of Adam."""

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.torch.initialising import initialise
from symres.torch.initialising.branch_ends import branch_ends
from tests.oracles import small_starts as nets
from tests.oracles.hooked_streams import hooked_streams

BLOCKS = 6


@pytest.fixture(scope="module")
def images():
    return torch.randn(8, 3, 8, 8, generator=torch.Generator().manual_seed(2))


def stack(block, *given):
    return lambda: nets.vectors_net([block(64, *given) for _ in range(BLOCKS)])


def picture(block, *given):
    return lambda: nets.images_net([block(32, *given) for _ in range(BLOCKS)])


# the network, the blocks' places, the tensor of a block that starts small, the first and the last weights of a branch
KEPT = {
    "LayerScale of 1e-4": (stack(nets.LayerScaleBlock), 1, "g", "a", "b"),
    "LayerScale of 0.1": (stack(nets.LayerScaleBlock, 0.1), 1, "g", "a", "b"),
    "LayerScale of attention": (stack(nets.DeiTBlock), 1, "gamma", "attn.qkv", "attn.proj"),
    "a scale before the last layer": (stack(nets.InnerScaleBlock), 1, "g", "a", "b"),
    "a scale before the activation": (stack(nets.PreactivationScaleBlock), 1, "g", "a", "b"),
    "a quotient": (stack(nets.DividedBlock, 1e4), 1, "g", "a", "b"),
    "a quotient before the last layer": (stack(nets.DividedInsideBlock, 1e4), 1, "g", "a", "b"),
    "ConvNeXt": (picture(nets.ConvNeXtBlock), 3, "gamma", "a", "b"),
    "ReZero": (stack(nets.ReZeroBlock), 1, "alpha", "a", "b"),
    "a computed factor": (stack(nets.GatedBlock), 1, "alpha", "a", "b"),
    "Fixup": (stack(nets.FixupBlock), 1, "b.weight", "a", None),
    "a last layer of 0": (stack(nets.ZeroLastBlock), 1, "b.weight", "a", None),
    "Swin V2": (stack(nets.PostBranchNormBlock), 1, "norm.weight", "a", "b"),
    "ResNet with a last BatchNorm of 0": (picture(nets.ResNetBlock, 0.0), 3, "bn2.weight", "conv1", "conv2"),
}
NORMED = {"Swin V2": ("b",), "ResNet with a last BatchNorm of 0": ("conv1", "conv2")}  # a norm takes their size away
FAST = {
    "LayerScale of 1e-4",
    "a scale before the last layer",
    "a quotient",
    "ReZero",
    "Fixup",
    "ResNet with a last BatchNorm of 0",
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in FAST else pytest.mark.exhaustive) for n in KEPT])
def test_what_starts_small_is_kept_and_trains(name, vectors, images):
    build, first, small, inner, last = KEPT[name]
    inputs = images if first == 3 else vectors
    if "attention" in name:  # of each input six tokens
        inputs = torch.randn(8, 6, 20, generator=torch.Generator().manual_seed(3))
    torch.manual_seed(0)
    model = build()
    before = {key: tensor.detach().clone() for key, tensor in model.named_parameters()}
    report = st.init_(model, inputs=inputs)
    left = {f"{s.module}.{s.tensor}".strip("."): s.why for s in report.left}
    for position in range(first, first + BLOCKS):
        key = f"{position}.{small}"
        assert torch.equal(model.get_parameter(key), before[key])
        assert name == "a computed factor" or "what starts small is kept" in left[key]
        for weights in filter(None, (inner, last)):
            assert report[f"{position}.{weights}.weight"].variance == pytest.approx(
                1 / 3 if weights in NORMED.get(name, ()) else 1
            )
    assert report.check.holds
    for text, advice in report.advice:  # what is advised for branches was not drawn
        xi = f"xi = {advice.parameters['xi']:.9g}" if "xi" in advice.parameters else "z' ="
        assert text not in report.kept or f"With {xi}" not in str(report)
    if "attention" in name:  # an output for each token, where the step below wants one
        return
    places = [str(position) for position in range(first, first + BLOCKS)]
    (loss, after), (old, new) = nets.adam_step(model, inputs, places)
    assert after < loss
    for place in places:
        assert new[place] == pytest.approx(old[place], rel=0.5)


@pytest.mark.exhaustive
def test_a_parameter_over_a_branch_is_not_its_divisor(vectors, monkeypatch):
    """g/y with g = 1e-4 was taken for y/g, a branch that is 1e4 times as large."""

    class OverBlock(nets.InnerScaleBlock):
        def forward(self, x):
            return x + self.g / (1 + self.b(torch.relu(self.a(self.norm(x)))).square())

    read = []
    monkeypatch.setattr(initialise, "branch_ends", lambda *given: read.extend(ends := branch_ends(*given)) or ends)
    st.init_(stack(OverBlock)(), inputs=vectors, force=True)
    assert len(read) == BLOCKS and all(end.size == 1.0 and not end.factors for end in read)


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", [0.1, 0.6, 1.0])
def test_a_factor_that_starts_large_is_part_of_xi(start, vectors):
    model = nets.vectors_net([nets.ReZeroBlock(64, start) for _ in range(BLOCKS)])
    report = st.init_(model, inputs=vectors)
    xi = report.advice[0][1].parameters["xi"]
    assert report["2.b.weight"].variance == pytest.approx(min(1.0, xi / start) ** 2)
    assert 0.1 < xi < 0.6


def test_frozen_factors_are_constants(vectors):
    """Training does not move them: weights make up for them, as for factors that stand in the program."""
    model = nets.vectors_net([nets.ReZeroBlock(64, 0.25) for _ in range(BLOCKS)])
    for block in model[1 : 1 + BLOCKS]:
        block.alpha.requires_grad_(False)
    report = st.init_(model, inputs=vectors)
    xi = report.advice[0][1].parameters["xi"]
    assert report["2.b.weight"].variance == pytest.approx(xi**2) and xi > 1


def test_a_readout_that_starts_at_zero_is_kept(vectors):
    model = nets.vectors_net([nets.LayerScaleBlock(64) for _ in range(3)])
    nn.init.zeros_(model[-1].weight)
    nn.init.zeros_(model[-1].bias)
    report = st.init_(model, inputs=vectors)
    assert not model[-1].weight.detach().any() and report["5.weight"].reason == "left"
    assert report.check.holds


def test_a_chain_of_zeros_is_drawn(vectors):
    """Nothing goes around a layer of a chain: with weights of 0 its stream would be lost."""
    model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    nn.init.zeros_(model[2].weight)
    assert st.init_(model, inputs=vectors)["2.weight"].variance == pytest.approx(2)


class TestNormsAtTheEndOfBranches:
    """xi is the weight of the norm: weights before it change nothing."""

    def test_a_resnet_keeps_kernels_and_gradients(self, images):
        model = nets.images_net([nets.ResNetBlock(32) for _ in range(8)])
        report = st.init_(model, inputs=images)
        places = ["0", *map(str, range(3, 11))]
        assert [stream.place for stream in report.check.streams] == places
        for position in range(3, 11):
            weights = model[position].bn2.weight.detach()
            assert (weights == weights[0]).all() and 0.1 < float(weights[0]) < 0.5
        kernels, gradients = hooked_streams(model.double().train(), places, (images.double(),), draws=16)
        assert max(kernels) < 5 * min(kernels) and max(gradients) < 5 * min(gradients)

    def test_the_theory_says_xi(self, vectors):
        model = nets.vectors_net([nets.PostBranchNormBlock(64, 1.0) for _ in range(BLOCKS)])
        report = st.init_(model, inputs=vectors)
        xi = report.advice[0][1].parameters["xi"]
        assert float(model[3].norm.weight[0].detach()) == pytest.approx(xi) and xi < 0.6
        assert report.check.is_near and report.check.holds

    @pytest.mark.exhaustive
    def test_branches_that_stay_measured_become_smaller_until_the_network_holds(self, images):
        model = nets.images_net([nets.InvertedResidual(32) for _ in range(8)])
        report = st.init_(model, inputs=images)
        assert report.check.holds
        assert float(model[4].net[7].weight[0].detach()) < 8**-0.5
