"""Models that people train every day are initialised without force=, and train no worse than with their defaults."""

import copy
import warnings

import pytest
import torch
from torch.nn import functional as F

import symres.torch as st
from tests.oracles import residual_networks as nets
from tests.oracles.hooked_streams import hooked_streams

NETS = {
    "ResNet-18": lambda: nets.ResNet(nets.BasicBlock, (2, 2, 2, 2)),
    "ResNet-18 with a pool": lambda: nets.ResNet(nets.BasicBlock, (2, 2, 2, 2), has_pool=True),
    "ResNet-34": lambda: nets.ResNet(nets.BasicBlock, (3, 4, 6, 3)),
    "ResNet-50": lambda: nets.ResNet(nets.Bottleneck, (3, 4, 6, 3)),
    "WideResNet-16": nets.WideResNet,
    "WideResNet-28": lambda: nets.WideResNet(4),
}


def images(count=16, size=32, seed=1):
    """Noise around a picture for each of ten classes."""
    source = torch.Generator().manual_seed(seed)
    classes = torch.randint(0, 10, (count,), generator=source)
    pictures = F.interpolate(torch.randn(10, 3, 4, 4, generator=source), size=size)
    return torch.randn(count, 3, size, size, generator=source) + pictures[classes], classes


def text(count=128, tokens=33, seed=0):
    """A Markov chain with three successors of each token."""
    source = torch.Generator().manual_seed(seed)
    table = torch.randint(0, 256, (256, 3), generator=source)
    numbers = torch.randint(0, 256, (count, 1), generator=source)
    for _ in range(tokens):
        choice = torch.randint(0, 3, (count,), generator=source)
        numbers = torch.cat([numbers, table[numbers[:, -1], choice][:, None]], 1)
    return numbers


class TestShortcutsOfAnotherWidth:
    @pytest.mark.exhaustive
    @pytest.mark.parametrize("name", NETS)
    def test_the_model_is_kept(self, name):
        torch.manual_seed(0)
        model, (inputs, _) = NETS[name](), images(size=64 if "pool" in name else 32)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = st.init_(model, inputs=inputs, seed=0)
        places = [stream.place for stream in report.check.streams]
        blocks = [
            k for k, m in model.named_modules() if isinstance(m, nets.BasicBlock | nets.Bottleneck | nets.WideBlock)
        ]
        assert places[1:] == blocks  # a block with a shortcut of its own is a place too
        assert report.check.most_changed.adam_change < 1
        kernels, gradients = hooked_streams(model.double().train(), places, (inputs.double(),), draws=16)
        assert max(kernels) < 10 * min(kernels) and max(gradients) < 10 * min(gradients)

    def test_shortcuts_stand_for_the_stream(self):
        """Behind a convolution of 1x1 and a BatchNorm the norm decides, behind the convolution alone its weights do."""
        torch.manual_seed(0)
        model = nets.ResNet(nets.BasicBlock, (1, 1, 1, 1), (8, 16, 32, 64))
        report = st.init_(model, inputs=images()[0], seed=0)
        assert report["layer2.0.downsample.0.weight"].variance == 1
        assert report["layer2.0.downsample.1.weight"].why == "shortcut: same kernel"
        size = float(model.layer2[0].downsample[1].weight[0].detach())
        assert size > 1.5 * float(model.layer2[0].bn2.weight[0].detach()) and size < 2

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("name", ["ResNet-18", "ResNet-50", "WideResNet-16"])
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("kind", ["adam", "sgd"])
    def test_it_trains_no_worse(self, name, seed, kind):
        torch.manual_seed(seed)
        model, (inputs, classes) = NETS[name](), images(64, 16, seed)
        ours = copy.deepcopy(model)
        st.init_(ours, inputs=inputs[:32], seed=seed)
        batches = [(inputs[k % 2 * 32 :][:32], classes[k % 2 * 32 :][:32]) for k in range(30)]
        made = {"adam": lambda p: torch.optim.Adam(p, 1e-3), "sgd": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9)}
        usual, loss = (
            nets.loss_after(net, batches, made[kind](net.parameters()), F.cross_entropy) for net in (model, ours)
        )
        assert loss < 1.1 * usual + 0.02


class TestGPT2:
    """Its stream is small, as its embedding is: the last weights of branches would be smaller than a step of Adam."""

    @pytest.mark.parametrize("block", [nets.GPTBlock, pytest.param(nets.InlineGPTBlock, marks=pytest.mark.exhaustive)])
    def test_it_is_kept(self, block):
        torch.manual_seed(0)
        model = nets.GPT(block=block)
        usual = st.measure(model, text(8)[:, :-1], "h.*", probes=1, progress=False).frame().adam_change.max()
        with pytest.warns(UserWarning, match="one step of Adam"):
            report = st.init_(model, inputs=text(8)[:, :-1], seed=0)
        assert report.check.holds
        assert 1 < report.check.most_changed.adam_change < 1.5 * usual  # it was 6 times as much
        stds = {name: report[f"h.0.mlp.{name}.weight"].std for name in ("0", "2")}
        assert stds["0"] == pytest.approx(stds["2"])
        assert "; C_W was multiplied by " in report["h.0.mlp.0.weight"].why
        assert report["h.0.mlp.0.bias"].why == "biases begin at 0"

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("seed", range(3))
    def test_it_trains_no_worse(self, seed):
        torch.manual_seed(seed)
        model, numbers = nets.GPT(), text(seed=seed)
        ours = copy.deepcopy(model)
        with pytest.warns(UserWarning, match="one step of Adam"):
            st.init_(ours, inputs=numbers[:8, :-1], seed=seed)
        rows = [numbers[k % 16 * 8 :][:8] for k in range(60)]
        batches = [(each[:, :-1], each[:, 1:].flatten()) for each in rows]

        def loss(output, targets):
            return F.cross_entropy(output.flatten(0, 1), targets)

        usual, reached = (
            nets.loss_after(net, batches, torch.optim.Adam(net.parameters(), 1e-3), loss) for net in (model, ours)
        )
        assert reached < 1.05 * usual


@pytest.mark.exhaustive
@pytest.mark.parametrize("depth", [20, 30])
def test_borders_of_zeros_are_made_up_for(depth):
    """On images of 4x4 a convolution of 3x3 sees zeros at a third of its places: kernels fell by 222."""
    torch.manual_seed(0)
    report = st.init_(nets.padded_net(depth), inputs=torch.randn(8, 3, 4, 4), seed=0)
    assert report.check.holds
    assert report["8.weight"].variance > 2.3 and "divided by the unpadded share" in report["8.weight"].why
    assert "inside" not in str(st.init_(nets.padded_net(6), inputs=torch.randn(8, 3, 16, 16), seed=0))
