"""What cannot be tuned is named, in one line, and is as before."""

import math

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles.torch_blocks import GPT, DenseBlock, GPTBlock, MixerBlock


class Widening(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(8, 10)

    def forward(self, x):
        return self.dense(x)


class Fixed(nn.Module):
    """A branch without parameters."""

    def forward(self, x):
        return x + torch.tanh(x)


class Swallowing(nn.Module):
    """Nothing behind the branch is differentiable."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(8, 8)

    def forward(self, x):
        return x.detach() + self.dense(torch.sign(x.detach()))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = DenseBlock(8)

    def forward(self, x):
        return self.block(self.block(x))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = nn.ModuleList([DenseBlock(8), DenseBlock(8)])
        self.h[1].second.weight = self.h[0].second.weight

    def forward(self, x):
        return self.h[1](self.h[0](x))


class Loose(nn.Module):
    """A skip connection, but no repeated blocks."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        x = self.first(x)
        return x + self.second(torch.relu(x))


class Unstable(nn.Module):
    """Other sums in every second pass."""

    def __init__(self):
        super().__init__()
        self.mlp, self.calls = nn.Linear(8, 8), []

    def forward(self, x):
        self.calls.append(0)
        x = x * 2
        return x + self.mlp(x) if len(self.calls) % 2 else torch.lerp(x, self.mlp(x), 0.5)


def dense():
    return nn.Sequential(DenseBlock(8), DenseBlock(8))


def zero():
    model = dense()
    nn.init.zeros_(model[1].second.weight)
    return model


def broken():
    model = dense()
    model[1].first.weight.data[0, 0] = math.nan
    return model


def explosive():
    model = dense()
    model[0].second.weight.data *= 1e25
    model[1].second.weight.data *= 1e25
    return model


def gaudy():
    model = dense()
    model[0].gamma = torch.ones(8)
    return model


VECTORS = (6, 8)
REFUSED = {
    "no skip weight": (dense, VECTORS, {}, "the tuning of 0 at gamma = 1: only a branch of weight 0"),
    "unknown pattern": (dense, VECTORS, {"blocks": "blocks.*"}, "no name of a module matches"),
    "near pattern": (lambda: GPT(1), None, {"blocks": "h.0.atn"}, "h.0.attn"),
    "shape": (lambda: nn.Sequential(Widening()), VECTORS, {"blocks": "0", "growth": 2}, "shape of the stream from"),
    "no parameters": (lambda: nn.Sequential(Fixed()), VECTORS, {"blocks": "0", "growth": 2}, "it has no parameters"),
    "not differentiable": (
        lambda: nn.Sequential(Swallowing()),
        VECTORS,
        {"blocks": "0", "growth": 2},
        "not differentiable",
    ),
    "twice": (Twice, VECTORS, {"blocks": "block", "growth": 2}, "block: it is called 2 times"),
    "tied": (Tied, VECTORS, {"growth": 2}, "h.0: h.0.second shares its weights"),
    "nested": (dense, VECTORS, {"blocks": ["0", "0.second"], "growth": 2}, "0.second: it is part of another"),
    "loose": (Loose, VECTORS, {}, "it has 1 sums that may be skip connections"),
    "zero": (zero, VECTORS, {"growth": 2}, "the tuning of 1: its branch gives 0"),
    "nan": (broken, VECTORS, {"growth": 2}, r"the tuning of 1: numbers are not finite: .*1\.first\.weight"),
    "overflow": (
        explosive,
        VECTORS,
        {"growth": 1e60},
        r"the tuning of 1: numbers are not finite: .*output of 1\.second",
    ),
    "overflow of layers": (
        lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).requires_grad_(False).apply(enlarged),
        VECTORS,
        {},
        r"the rescaling of 2: numbers are not finite: .*output of 2 ",
    ),
    "attribute": (
        dense,
        VECTORS,
        {"skip_weight": "gama"},
        "skip_weight='gama' of 0: it has no module or number of this name",
    ),
    "near attribute": (dense, VECTORS, {"growth": 2, "branch_weight": "secnd"}, "second"),
    "wrong layer": (
        lambda: nn.Sequential(DenseBlock(8, nn.Tanh())),
        VECTORS,
        {"blocks": "0", "growth": 2, "branch_weight": "first"},
        "branch_weight='first' of 0: it does not scale the branch exactly",
    ),
    "wrong number": (
        gaudy,
        VECTORS,
        {"blocks": "0", "skip_weight": "gamma", "gamma": 0.5},
        "gamma does not multiply the stream",
    ),
    "gamma cannot be set": (dense, VECTORS, {"gamma": 0.5}, "symres does not know which attribute holds it"),
    "unknown cannot be set": (
        dense,
        VECTORS,
        {"unknown": "gamma", "xi": 0.1},
        "symres does not know which attribute holds it",
    ),
    "stream grows": (
        dense,
        VECTORS,
        {"gamma": 1.5, "wrap": True},
        "the tuning of 0.*gamma alone makes the kernel grow",
    ),
    "branch too large": (dense, VECTORS, {"unknown": "gamma", "xi": 50, "wrap": True}, r"pass \|xi\| <="),
    "solved for": (dense, VECTORS, {"xi": 1, "wrap": True}, "xi = 1: it is solved for"),
    "whole block": (
        lambda: nn.Sequential(MixerBlock(), MixerBlock()),
        (4, 6, 16),
        {"growth": 2},
        "0: no module in it scales its branch exactly; choose its branches if it has several",
    ),
    "wrapped branch": (lambda: GPTBlock(), (4, 6, 16), {"blocks": "mlp", "wrap": True, "gamma": 0.9}, "it is a branch"),
    "skip of a branch": (lambda: GPTBlock(), (4, 6, 16), {"blocks": "mlp", "skip_weight": "0"}, "it is a branch"),
    "dropout": (
        lambda: GPTBlock(),
        (4, 6, 16),
        {"blocks": "mlp", "growth": 2, "mode": "train"},
        "attn.drop.*mode='eval'",
    ),
    "other inputs": (dense, (6, 9), {"growth": 2}, "a pass of Sequential: it raised RuntimeError"),
    "target": (dense, VECTORS, {"target": "norm"}, "use one of 'size', 'gradient', 'apjn', 'both'"),
    "unknown": (dense, VECTORS, {"unknown": "mu"}, "use one of 'xi', 'gamma'"),
    "mode": (dense, VECTORS, {"mode": "test"}, "unknown mode"),
    "growth": (dense, VECTORS, {"growth": 0}, "growth = 0: it is not positive"),
    "probes": (dense, VECTORS, {"probes": 1}, "probes"),
    "two kinds": (dense, VECTORS, {"blocks": "0", "layers": "0.first"}, "only one of them can be tuned"),
    "kernel of blocks": (dense, VECTORS, {"growth": 2, "kernel": 1}, "kernel of residual blocks"),
    "layers of blocks": (dense, VECTORS, {"layers": "*.first", "wrap": True}, "wrap of layers"),
    "apjn of layers": (dense, VECTORS, {"layers": "*.first", "target": "apjn"}, "target='apjn' of layers"),
    "no layers": (lambda: nn.Sequential(nn.ReLU()), VECTORS, {}, "neither blocks nor layers"),
    "no matrix": (lambda: nn.Sequential(nn.LayerNorm(8)), VECTORS, {"layers": "0"}, "no matrix of weights"),
    "parallel layers": (lambda: Parallel(), VECTORS, {"layers": "*"}, "b: its output does not depend on that of a"),
    "passes differ": (Unstable, VECTORS, {"blocks": "mlp", "growth": 2}, "differ from Unstable on"),
}


def enlarged(module):
    if isinstance(module, nn.Linear):
        module.weight.data *= 1e25
        module.requires_grad_()


class Parallel(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.a(x) * self.b(x)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_tuned_is_named(case):
    build, shape, how, told = REFUSED[case]
    torch.manual_seed(0)
    model = build().train()
    inputs = torch.randint(0, 50, (4, 6)) if shape is None else torch.randn(shape)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(DeclarationError, match=told) as caught:
        st.tune_(model, inputs, progress=False, **how)
    assert "\n" not in str(caught.value)
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor.nan_to_num(), after[name].nan_to_num()) for name, tensor in before.items())
    assert all(module.training and not module._forward_hooks for module in model.modules())
    assert all(parameter.requires_grad and parameter.grad is None for parameter in model.parameters())


def test_what_is_no_model():
    with pytest.raises(DeclarationError, match=r"not an nn\.Module"):
        st.tune_(lambda: None, torch.ones(2, 2))


def test_untrained_statistics_are_a_warning():
    model = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Tanh()) for _ in range(2)])
    with pytest.warns(UserWarning, match=r"0\.1, 1\.1 normalises by running statistics"):
        report = st.tune_(model, torch.randn(6, 8), progress=False)
    assert report.notes and str(report).count("note") == 1
