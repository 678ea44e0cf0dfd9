"""What cannot be measured, read, initialised or tuned: one line that names it, and a model that is as before."""

import contextlib
import math
from functools import partial

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles.torch_blocks import GPT, Computed, DenseBlock, GPTBlock, MixerBlock, mlp
from tests.torch_state import untouched


def init(model, inputs, target="critical", **options):
    return st.init_(model, target, inputs, **options)


def tune(model, inputs, blocks=None, **options):
    return st.tune_(model, inputs, blocks, progress=False, **options)


class Unstable(nn.Module):
    """Other sums in every second pass."""

    def __init__(self):
        super().__init__()
        self.mlp, self.calls = nn.Linear(8, 8), []

    def forward(self, x):
        self.calls.append(0)
        x = x * 2
        return x + self.mlp(x) if len(self.calls) % 2 else torch.lerp(x, self.mlp(x), 0.5)


def dense(phi=None):
    return nn.Sequential(DenseBlock(8, phi), DenseBlock(8, phi))


def changed(model, change):
    with torch.no_grad():
        change(model)
    return model


def broken(model):
    model[1].first.weight[0, 0] = math.nan


def explosive(model):
    for block in model:
        block.second.weight *= 1e25


def tied(model):
    model[1].second.weight = model[0].second.weight


def gaudy(model):
    model[0].gamma = torch.ones(8)


def enlarged(model):
    for layer in model[::2]:
        layer.weight *= 1e25


def skipped(x, first, second):
    """A skip connection, but no repeated blocks."""
    x = first(x)
    return x + second(torch.relu(x))


torch.manual_seed(0)
NET = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
FIVE = nn.Sequential(*(nn.Linear(3, 3) for _ in range(5)))
DENSE = dense()
WIDER, WIDTHS = partial(mlp, 1), {"widths": (4, 8, 12)}
FIRST = {"blocks": "0", "growth": 2}  # only the first block is tuned
MLP = {"blocks": "mlp"}
WIDENING = nn.Sequential(Computed(lambda x, layer: layer(x), nn.Linear(8, 10)))
FIXED = nn.Sequential(Computed(lambda x: x + torch.tanh(x)))
SIGNS = nn.Sequential(Computed(lambda x, layer: x.detach() + layer(torch.sign(x.detach())), nn.Linear(8, 8)))
TWICE = Computed(lambda x, block: block(block(x)), DenseBlock(8))
RECURRENT = Computed(lambda x, layer: layer(layer(x)), nn.Linear(8, 8))
IDLE = Computed(lambda x, layer, idle: layer(x), nn.Linear(8, 8), nn.Linear(8, 8))
PARALLEL = Computed(lambda x, a, b: a(x) * b(x), nn.Linear(8, 8), nn.Linear(8, 8))
LOOSE = Computed(skipped, nn.Linear(8, 8), nn.Linear(8, 8))
BRANCHING = Computed(lambda x, layer: layer(x) if x.sum() > 0 else layer(-x), nn.Linear(32, 32))
DIVIDING = nn.Sequential(nn.Linear(8, 8), Computed(lambda x, layer: layer(x) * (1 // 0), nn.Linear(8, 8)))
LOSS = Computed(lambda x, layer: layer(x).square().mean(), nn.Linear(8, 16))
MIXER = nn.Sequential(MixerBlock(), MixerBlock())
X, VECTORS, TOKENS, INPUTS = torch.ones(2, 3), torch.randn(6, 8), torch.randn(4, 6, 16), torch.randn(16, 20)
IDS = torch.randint(0, 50, (4, 6))

# door, model, inputs, options, what its error says
MEASURING = [
    (st.measure, NET, X, {"seeds": 3}, "pass a function that builds it"),
    (st.measure, NET, X, {"seeds": 0}, "seeds"),
    (st.measure, NET, X, {"probes": 1.5}, "probes"),
    (st.measure, NET, X, {"seed": -1}, "seed"),
    (st.measure, NET, X, {"mode": "test"}, "mode='test'"),
    (st.measure, NET, X, {"dtype": torch.int64}, "dtype=torch.int64"),
    (st.measure, NET, X, {"batch_size": 0}, "batch_size"),
    (st.measure, NET, X, {"start": "5"}, "start='5'"),
    (st.measure, NET, X, {"loss": "hinge"}, "'hinge'"),
    (st.measure, NET, X, {"loss": "mse"}, "targets="),
    (st.measure, NET, X, {"loss": "mse", "targets": torch.ones(2, 3)}, "equal shapes"),
    (st.measure, NET, X, {"loss": "cross_entropy", "targets": torch.ones(2)}, "integer of the class"),
    (st.measure, NET, X, {"loss": lambda y: y}, "single number"),
    (st.measure, NET, torch.ones(2, 5), {}, "mat1 and mat2"),
    (st.measure, NET, 3, {}, "type int"),
    (st.measure, NET, {"y": X}, {}, "TypeError"),
    (st.measure, NET, (), {}, "no tensor"),
    (st.measure, NET, torch.ones(()), {}, r"shape is \(\)"),
    (st.measure, NET, torch.ones(0, 3), {}, r"shape is \(0, 3\)"),
    (st.measure, 3, X, {}, "not an nn.Module"),
    (st.measure, lambda: 3, X, {}, "returned an object of the type int"),
    (st.measure, FIVE, X, {"theory": [(1, 1)] * 4}, "4 entries for 5 places"),
    (st.measure, FIVE, X, {"theory": [(1, 1, 1)] * 5}, "not a prediction"),
    (st.measure, FIVE, X, {"theory": {"7": st.Prediction()}}, "'7'"),
    (st.predict, nn.Softmax(-1), torch.randn(4, 8), {}, "no part of it has a theory"),
    (st.tangent_kernel, mlp(1, 8).requires_grad_(False), INPUTS, {}, "no parameter requires gradients"),
    (st.measure, DIVIDING, VECTORS, {}, "a pass of Sequential: it raised ZeroDivisionError"),
    (tune, DIVIDING, VECTORS, {}, "a pass of Sequential: it raised ZeroDivisionError"),
    (tune, GPT(1), IDS, {"blocks": "hed"}, "no name of a module matches; did you mean head"),
    (st.measure, GPT(1), IDS, {"modules": "h.0.atn.*"}, r"did you mean h\.0\.attn"),
    (st.measure, GPT(1), IDS, {"modules": ["head", "nothing"]}, "'nothing'"),
    (st.measure, GPT(1), IDS, {"modules": [3]}, "3 is not text"),
    (st.measure, GPT(1), IDS, {"modules": nn.Conv2d}, "Conv2d"),
    (st.measure, GPT(1), IDS, {"modules": lambda name, module: False}, "chosen by a function"),
    (st.measure, GPT(1), IDS, {"modules": 7}, "not a choice"),
    (st.coordinate_check, WIDER, INPUTS, {"widths": (8, 16)}, "2 widths"),
    (st.coordinate_check, WIDER, INPUTS, WIDTHS | {"rates": (0.1,)}, "and 1 rate:"),
    (st.coordinate_check, WIDER, INPUTS, WIDTHS | {"rates": (-1, 0.1, 1)}, "rates"),
    (st.coordinate_check, WIDER, INPUTS, WIDTHS | {"optimizer": "lion"}, "unknown optimizer"),
    (st.coordinate_check, WIDER, INPUTS, WIDTHS | {"rates": (1e30, 1e31, 1e32)}, "no loss is finite"),
    (st.coordinate_check, NET, X, {}, "pass a function of the width that builds one"),
]
READING = [
    (st.read, BRANCHING, torch.randn(3, 32), {}, "Python numbers"),
    (st.read, nn.Linear(3, 3), torch.randn(2, 5), {}, "fails"),
    (st.read, nn.Conv2d(3, 3, 1), None, {}, "inputs"),
    (st.read, torch.tanh, torch.randn(2, 5), {}, "not an nn.Module"),
    (st.read, nn.Linear(3, 3), "text", {}, "type str"),
    (st.read, LOSS, VECTORS, {}, "its output is a single number, a loss for instance"),
    (init, nn.ReLU(), None, {}, "no parameters"),
    (init, mlp(2, 16), None, {"target": "criticl"}, "unknown target"),
    (init, mlp(2, 16), None, {"target": INPUTS}, r"a target of the type Tensor: .*inputs="),
    (init, mlp(2, 16), torch.zeros(4, 3), {}, "fails on the inputs"),
    (init, nn.Sequential(nn.Conv2d(3, 4, 3)), None, {}, "cannot tell which inputs"),
    (init, mlp(2, 64), torch.full((4, 20), math.nan), {}, "it is nan"),
    (init, mlp(2, 64), torch.zeros(4, 20), {}, "it is 0"),
    (init, mlp(2, 64).requires_grad_(False), None, {}, "asks for gradients"),
    (init, nn.LSTM(20, 8), torch.zeros(4, 20), {}, "no dense layer or convolution"),
    (init, mlp(4, 128, nn.GELU, bias=False), INPUTS, {"target": "match"}, "no C_W and C_b"),
    (init, mlp(2, 16), INPUTS, {"distribution": "cauchy"}, "unknown distribution; use 'normal', 'truncated'"),
    (init, mlp(2, 64), None, {"seed": 1, "generator": torch.Generator()}, "pass only one of them"),
    (init, mlp(2, 64), None, {"generator": 5}, "it is of the type int"),
    (init, mlp(2, 64), None, {"seed": -1}, "seed"),
]
TUNING = [
    (tune, DENSE, VECTORS, {}, "the tuning of 0 at gamma = 1: only a branch of weight 0"),
    (tune, WIDENING, VECTORS, FIRST, "shape of the stream from"),
    (tune, FIXED, VECTORS, FIRST, "it has no parameters"),
    (tune, SIGNS, VECTORS, FIRST, "not differentiable"),
    (tune, TWICE, VECTORS, {"blocks": "layers.0", "growth": 2}, "layers.0: it is called 2 times"),
    (tune, changed(dense(), tied), VECTORS, {"growth": 2}, "of 0: 0.second shares its weights"),
    (tune, DENSE, VECTORS, {"blocks": ["0", "0.second"], "growth": 2}, "0.second: it is part of another"),
    (tune, LOOSE, VECTORS, {}, "it has 1 sums that may be skip connections"),
    (tune, changed(dense(), lambda m: m[1].second.weight.zero_()), VECTORS, {"growth": 2}, "of 1: its branch gives 0"),
    (tune, changed(dense(), broken), VECTORS, {"growth": 2}, r"of 1: numbers are not finite: .*1\.first\.weight"),
    (tune, changed(dense(), explosive), VECTORS, {"growth": 1e60}, r"of 1: numbers are not .*output of 1\.second"),
    (tune, changed(mlp(2, 20), enlarged), INPUTS, {}, r"the rescaling of 2: numbers are not finite: .*output of 2 "),
    (tune, DENSE, VECTORS, {"skip_weight": "gama"}, "='gama' of 0: it has no module or number of this name"),
    (tune, DENSE, VECTORS, {"growth": 2, "branch_weight": "secnd"}, "second"),
    (
        tune,
        dense(nn.Tanh()),
        VECTORS,
        FIRST | {"branch_weight": "first"},
        "='first' of 0: it does not scale the branch",
    ),
    (tune, changed(dense(), gaudy), VECTORS, FIRST | {"skip_weight": "gamma"}, "gamma does not multiply the stream"),
    (tune, DENSE, VECTORS, {"gamma": 0.5}, "symres does not know which attribute holds it"),
    (tune, DENSE, VECTORS, {"unknown": "gamma", "xi": 0.1}, "symres does not know which attribute holds it"),
    (tune, DENSE, VECTORS, {"gamma": 1.5, "wrap": True}, "the tuning of 0.*gamma alone makes the kernel grow"),
    (tune, DENSE, VECTORS, {"unknown": "gamma", "xi": 50, "wrap": True}, r"pass \|xi\| <="),
    (tune, DENSE, VECTORS, {"xi": 1, "wrap": True}, "xi = 1: it is solved for"),
    (tune, MIXER, TOKENS, {"growth": 2}, "0: no module in it scales its branch exactly; choose its branches if it"),
    (tune, GPTBlock(), TOKENS, MLP | {"wrap": True, "gamma": 0.9}, "it is a branch"),
    (tune, GPTBlock(), TOKENS, MLP | {"skip_weight": "0"}, "it is a branch"),
    (tune, GPTBlock(), TOKENS, MLP | {"growth": 2, "mode": "train"}, "attn.drop.*mode='eval'"),
    (tune, DENSE, torch.randn(6, 9), {"growth": 2}, "a pass of Sequential: it raised RuntimeError"),
    (tune, DENSE, VECTORS, {"target": "norm"}, "use one of 'size', 'gradient', 'apjn'"),
    (tune, DENSE, VECTORS, {"unknown": "mu"}, "use one of 'xi', 'gamma'"),
    (tune, DENSE, VECTORS, {"growth": 0}, "growth = 0: it is not positive"),
    (tune, DENSE, VECTORS, {"probes": 1}, "probes"),
    (tune, DENSE, VECTORS, {"blocks": "0", "layers": "0.first"}, "only one of them can be tuned"),
    (tune, DENSE, VECTORS, {"growth": 2, "kernel": 1}, "kernel of residual blocks"),
    (tune, DENSE, VECTORS, {"layers": "*.first", "wrap": True}, "wrap of layers"),
    (tune, DENSE, VECTORS, {"layers": "*.first", "target": "apjn"}, "target='apjn' of layers"),
    (tune, nn.Sequential(nn.ReLU()), VECTORS, {}, "neither blocks nor layers"),
    (tune, nn.Sequential(nn.LayerNorm(8)), VECTORS, {"layers": "0"}, "no matrix of weights"),
    (tune, PARALLEL, VECTORS, {"layers": "layers.*"}, "layers.1: its output does not depend on that of layers.0"),
    (tune, RECURRENT, VECTORS, {"layers": "layers.0"}, "layers.0: it is called several times"),
    (tune, IDLE, VECTORS, {"layers": "layers.*"}, "the rescaling of layers.1: it is not called in a pass"),
    (tune, Unstable(), VECTORS, {"blocks": "mlp", "growth": 2}, "differ from Unstable on"),
    (tune, lambda: None, VECTORS, {}, r"not an nn\.Module"),
]
WITH_SLOPE = r"give the parameter by its name: gain\('leaky_relu', slope=0.2\)"
GAINS = [
    (st.gain, "gelu", "crtical", {}, "did you mean critical"),
    (st.gain, "swish", "critical", {}, "beta has no number"),
    (st.gain, nn.ReLU(), "critical", {"slope": 2}, "no parameter slope"),
    (st.gain, nn.Softmax(-1), "critical", {}, "softmax"),
    (st.gain, "gelo", "critical", {}, "did you mean gelu"),
    (st.gain, "leaky_relu", 0.2, {}, WITH_SLOPE),  # where calculate_gain takes the slope
    (st.gain, "relu", 0.2, {}, "leave it out"),
    (st.gain, nn.ReLU(), None, {}, "leave it out"),
    (st.gain, "leaky_relu", "critical", {"negative_slope": 0.2}, "its parameters are: slope; write slope=0.2"),
]
ROWS = GAINS + MEASURING + READING + TUNING


@pytest.mark.parametrize(("use", "model", "inputs", "options", "told"), ROWS, ids=[row[-1] for row in ROWS])
def test_what_is_refused_is_named_in_a_line(use, model, inputs, options, told):
    torch.manual_seed(0)
    unchanged = untouched(model) if isinstance(model, nn.Module) else contextlib.nullcontext()
    with unchanged, pytest.raises(DeclarationError, match=told) as refused:
        use(model, inputs, **options)
    assert "\n" not in str(refused.value)
