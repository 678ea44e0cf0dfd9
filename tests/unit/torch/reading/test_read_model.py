"""Models as layers of the theory: equations by hand, variances of the weights, what stays measured and why."""

import pytest
import sympy as sp
import torch
from torch import nn
from torch.nn import functional

import symres as sr
import symres.torch as st
from symres.core.errors import DeclarationError
from symres.torch.equations import formula_values
from tests.oracles import modern_networks as nets
from tests.oracles.torch_blocks import Computed, GatedBlock, NormedBlock
from tests.torch_state import untouched

WIDTH = 32
C1, C2, C3 = (sp.Symbol(f"C_W{index}", positive=True) for index in (1, 2, 3))
B1, B2, B3 = (sp.Symbol(f"C_b{index}", nonnegative=True) for index in (1, 2, 3))


def dense(u, variances=(sr.C_W, sr.C_b), width=1):
    return sr.Dense(u, *variances, width)


def normed(phi=None, norm=None, **how):
    return NormedBlock(WIDTH, phi, norm or nn.Identity(), **how)


def two_layers(phi, inner=sr.z, width=4):
    return dense(sr.activation(phi)(dense(inner, (C1, B1), width)), (C2, B2))


def gated():
    u = sr.RMSNorm(sr.z, "1e-6")
    return dense(sr.activation("silu")(dense(u, (C1, B1), 2)) * dense(u, (C2, B2), 2), (C3, B3))


BLOCKS = {
    "residual": (lambda: normed(), sr.z + two_layers("gelu")),
    "scaled": (lambda: normed(nn.Tanh(), scale=0.5), sr.z + two_layers("tanh") / 2),
    "pre_ln": (
        lambda: normed(nn.ReLU(), nn.LayerNorm(WIDTH)),
        sr.z + two_layers("relu", sr.LayerNorm(sr.z, "1e-5")),
    ),
    "post_ln": (
        lambda: normed(nn.SiLU(), nn.LayerNorm(WIDTH), post=True),
        sr.LayerNorm(sr.z + two_layers("silu"), "1e-5"),
    ),
    "chunk": (lambda: GatedBlock(WIDTH, lambda u: u.chunk(2, dim=-1)), sr.z + gated()),
    "split": (lambda: GatedBlock(WIDTH, lambda u: torch.split(u, 2 * WIDTH, -1)), sr.z + gated()),
    "slices": (lambda: GatedBlock(WIDTH, lambda u: (u[..., : 2 * WIDTH], u[..., 2 * WIDTH :])), sr.z + gated()),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_repeated_blocks(name):
    make, forward = BLOCKS[name]
    torch.manual_seed(0)
    model = nn.Sequential(make(), make(), make())
    reading = st.read(model, torch.randn(3, WIDTH))
    (block,) = reading.blocks
    assert block.form == sr.Layer(forward)
    assert block.count == 3 and not reading.unrecognised
    assert block.checks
    assert reading.theory.layer == block.form
    assert reading.network().depth == 3


def test_variances_are_those_of_the_weights():
    torch.manual_seed(0)
    model = nn.Sequential(*(GatedBlock(WIDTH, lambda u: u.chunk(2, dim=-1)) for _ in range(2)))
    block = st.read(model, torch.randn(3, WIDTH), check=False).blocks[0]
    for module, numbers, layer in zip(model, block.numbers, block.layers, strict=True):
        gate, value = module.up.weight.split(2 * WIDTH)
        down = module.down
        of_symbols = {
            "C_W1": (gate, WIDTH),
            "C_W2": (value, WIDTH),
            "C_W3": (down.weight, 2 * WIDTH),
            "C_b3": (down.bias, 1),
        }
        for name, (tensor, fan_in) in of_symbols.items():
            assert numbers[name] == pytest.approx(fan_in * float(tensor.detach().double().square().mean()), rel=1e-12)
        assert not layer.parameters


def test_perceptron():
    torch.manual_seed(0)
    hidden = [m for _ in range(3) for m in (nn.Linear(WIDTH, WIDTH), nn.Dropout(), nn.ReLU())]
    model = nn.Sequential(nn.Linear(8, WIDTH), nn.ReLU(), *hidden, nn.Linear(WIDTH, 10))
    reading = st.read(model)
    forms = [reading.blocks[block].form for block, _ in reading.order]
    assert forms == [sr.Layer(dense(sr.z)), *[sr.mlp("relu")] * 4]
    assert reading.theory.layer == sr.mlp("relu")
    numbers = [reading.blocks[block].numbers[which] for block, which in reading.order]
    K = 1.0
    for number, found in zip(numbers, reading.network().kernels(1)[1:], strict=True):
        K = number["C_b"] + number["C_W"] * (K if K == 1.0 else K / 2)
        assert float(found) == pytest.approx(K, rel=1e-9)


class PreActivation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        h = self.conv1(functional.relu(self.norm1(x), inplace=True))
        return x + self.conv2(functional.relu(self.norm2(h)))


def test_convolutions_and_batch_norm():
    torch.manual_seed(0)
    model = nn.Sequential(PreActivation(16), PreActivation(16))
    (block,) = st.read(model, torch.randn(4, 16, 6, 6)).blocks
    inner = dense(sr.activation("relu")(sr.BatchNorm(sr.z, "1e-5")), (C1, B1))
    assert block.form == sr.Layer(sr.z + dense(sr.activation("relu")(sr.BatchNorm(inner, "1e-5")), (C2, B2)))
    assert [d.fan_in for d in block.dense[0]] == [144, 16]
    assert block.checks and any("away from the padding" in remark for remark in block.remarks)


class Pooled(nn.Module):
    """Two convolutions with a pool over all pixels before the readout."""

    def __init__(self, mode, pool):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1, padding_mode=mode)
        self.second = nn.Conv2d(16, 16, 3, stride=2, padding=1, padding_mode=mode)
        self.pool, self.last = pool, nn.Linear(16, 10)

    def forward(self, x):
        h = self.second(torch.relu(self.first(x)))
        return self.last(self.pool(torch.relu(h)).flatten(1))


POOLS = {"adaptive": lambda: nn.AdaptiveAvgPool2d(1), "mean": lambda: Computed(lambda x: x.mean((2, 3)))}


@pytest.mark.parametrize(("mode", "pool"), [("zeros", "adaptive"), ("circular", "mean")])
def test_convolutions_with_their_windows_and_a_pool(mode, pool):
    torch.manual_seed(0)
    reading = st.read(Pooled(mode, POOLS[pool]()), torch.randn(4, 3, 6, 6))
    relu = sr.activation("relu")
    forms = [reading.blocks[block].form for block, _ in reading.order]
    assert forms == [sr.Layer(u) for u in (dense(sr.z), dense(relu(sr.z)), dense(sr.Pool(relu(sr.z))))]
    windows = [(use.size, use.stride, use.padding) for block in reading.blocks for use in block.windows if use]
    assert windows == [((3, 3), (1, 1), mode), ((3, 3), (2, 2), mode)]
    assert all(block.checks for block in reading.blocks) and "9 tokens" in reading.blocks[2].checks[0]


@pytest.mark.parametrize("norm", [nn.GroupNorm(1, WIDTH), nn.LayerNorm([WIDTH, 4, 4])])
def test_norms_over_channels_and_pixels(norm):
    torch.manual_seed(0)
    model = nn.Sequential(norm, nn.ReLU(), nn.Conv2d(WIDTH, WIDTH, 3, 2, 1))
    (block,) = st.read(model, torch.randn(4, WIDTH, 4, 4)).blocks
    normed = sr.activation("relu")(sr.LayerNorm(sr.z, "1e-5", over="positions"))
    assert block.form == sr.Layer(dense(normed)) and block.checks
    assert block.of_positions == sr.Layer(sr.Conv(normed, stride=2))
    groups = st.read(nn.Sequential(nn.GroupNorm(2, WIDTH), model[2]), torch.randn(4, WIDTH, 4, 4))
    assert "normalises over several axes" in groups.unrecognised[0].reason


def test_circular_padding_is_read_before_convolutions_alone():
    def forward(x, conv):
        return conv(functional.pad(x, (1, 1, 1, 1), mode="circular").tanh())

    reading = st.read(Computed(forward, nn.Conv2d(16, 16, 3)), torch.randn(4, 16, 6, 6))
    assert "edges others were joined" in reading.unrecognised[0].reason


def test_a_mean_over_tokens_is_a_pool_and_one_over_neurons_is_none():
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(2)]
    pooled = Computed(lambda x, one, two: two(torch.tanh(one(x)).mean(1)), *layers)
    assert st.read(pooled, torch.randn(4, 5, WIDTH)).blocks[-1].text == "z' = Dense(Pool(tanh(z)))"
    averaged = Computed(lambda x, one, two: two(one(x) + one(x).mean(-1, keepdim=True)), *layers)
    assert not [block for block in st.read(averaged, torch.randn(4, 5, WIDTH)).blocks if "Pool" in block.text]


class DepthwiseBlock(nn.Module):
    """ConvNeXt's: a convolution in groups, a norm over channels, two dense layers."""

    def __init__(self, norm):
        super().__init__()
        self.depthwise = nn.Conv2d(WIDTH, WIDTH, 3, padding=1, groups=WIDTH, padding_mode="circular")
        self.norm = norm
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        h = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + self.down(functional.gelu(self.up(h))).permute(0, 3, 1, 2)


def test_depthwise_convolutions_are_read_before_a_norm_alone():
    torch.manual_seed(0)
    (block,) = st.read(nn.Sequential(DepthwiseBlock(nn.LayerNorm(WIDTH))), torch.randn(4, WIDTH, 4, 4)).blocks
    inner = sr.LayerNorm(dense(sr.z, (C1, B1)), "1e-5")
    assert block.form == sr.Layer(sr.z + dense(sr.activation("gelu")(dense(inner, (C2, B2), 4)), (C3, B3)))
    assert block.dense[0][0].fan_in == 9 and block.checks
    (bare,) = st.read(nn.Sequential(DepthwiseBlock(nn.Identity())), torch.randn(4, WIDTH, 4, 4)).blocks
    assert not bare.is_known and "grouped convolution" in bare.reason


POOLED = {"max": (nn.MaxPool2d(2), "the maximum of activations"), "some": (nn.AvgPool2d(2), "some of the positions")}


@pytest.mark.parametrize("name", POOLED)
def test_other_pools_are_named(name):
    pool, reason = POOLED[name]
    model = nn.Sequential(nn.Conv2d(3, 16, 1), nn.ReLU(), pool, nn.Conv2d(16, 16, 1))
    (block,) = [b for b in st.read(model, torch.randn(2, 3, 4, 4)).unrecognised if b.place == "2"]
    assert reason in block.reason


def test_trained_norms_belong_to_the_dense_layer_behind_them():
    torch.manual_seed(0)
    norm = nn.LayerNorm(WIDTH)
    nn.init.normal_(norm.weight, 1, 0.3)
    nn.init.normal_(norm.bias, 0, 0.2)
    model = normed(norm=norm)
    found = st.read(nn.Sequential(model), torch.randn(3, WIDTH)).blocks[0]
    assert found.is_known and found.checks
    gain, shift = norm.weight.detach().double(), norm.bias.detach().double()
    raw = WIDTH * float(model.first.weight.detach().double().square().mean())
    added = float(model.first.bias.detach().double().square().mean())
    assert raw == pytest.approx(1 / 3, rel=0.05)  # of PyTorch's default
    assert found.numbers[0]["C_W1"] == pytest.approx(raw * float(gain.square().mean()), rel=1e-6)
    assert found.numbers[0]["C_b1"] == pytest.approx(raw * float(shift.square().mean()) + added, rel=1e-6)


def test_norm_behind_a_sum_whose_weights_differ_stays_measured():
    torch.manual_seed(0)
    blocks = [normed(norm=nn.LayerNorm(WIDTH), post=True) for _ in range(2)]
    for block in blocks:
        nn.init.normal_(block.norm.weight, 1, 0.3)
    reading = st.read(nn.Sequential(*blocks), torch.randn(3, WIDTH))
    assert [block.form for block in reading.recognised] == [sr.Layer(sr.z + two_layers("gelu"))]
    assert [block.place for block in reading.unrecognised] == ["*.norm"]


class OwnGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.relu()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def through_a_view(x):
    x = 1 * x
    x.view(-1).relu_()
    return x


def coupling(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a, b * torch.tanh(a)], -1)


def without_gradients(x):
    if x.requires_grad:
        raise RuntimeError("no gradients here")
    return torch.cos(x)


def refusing(x):
    """An operation of PyTorch that raises where its argument asks for gradients, which readings do."""
    called = torch.overrides.has_torch_function((x,))
    return torch.overrides.handle_torch_function(without_gradients, (x,), x) if called else without_gradients(x)


def branching():
    return Computed(lambda x, fc: fc(x) if x.sum() > 0 else fc(-x), nn.Linear(WIDTH, WIDTH))


OPAQUE = {
    "branch": (branching, "Python numbers"),
    "item": (lambda: Computed(lambda x: x * x.sum().item()), "Python numbers"),
    "tolist": (lambda: Computed(lambda x: x * x.tolist()[0][0][0]), "Python numbers"),
    "numpy": (lambda: Computed(lambda x: x * float(x.detach().numpy().sum())), "Python numbers"),
    "equal": (lambda: Computed(lambda x: x if torch.equal(x, x + 1) else -x), "Python numbers"),
    "no gradient": (lambda: Computed(refusing), "gradients"),
    "own gradient": (lambda: Computed(OwnGradient.apply), "gradients"),
    "softmax": (lambda: nn.Softmax(-1), "softmax"),
    "positions": (lambda: Computed(lambda x: x + x.transpose(0, 1)), "different orders"),  # not a factor 2
    "view": (lambda: Computed(through_a_view), "another view"),
    "coupling": (lambda: Computed(coupling), "cat combines several"),
    "slices of a stream": (lambda: nn.Sequential(nn.ReLU(), Computed(coupling)), "separates"),
    "detached": (lambda: Computed(lambda x: x.detach() + torch.tanh(x)), "gradients"),
    "shared": (lambda: Computed(lambda x, fc: x + fc(torch.tanh(fc(x))), nn.Linear(WIDTH, WIDTH)), "twice"),
    "uneven": (lambda: nn.Sequential(nn.PReLU(4)), "entries differ"),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_what_is_not_read_stays_measured(name):
    make, reason = OPAQUE[name]
    torch.manual_seed(0)
    middle = make()
    for parameter in middle.parameters():
        nn.init.normal_(parameter)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Identity(), middle, nn.ReLU(), nn.Linear(WIDTH, WIDTH))
    reading = st.read(model, torch.randn(4, 4, WIDTH))
    assert reading.unrecognised
    assert any(reason in block.reason for block in reading.unrecognised), [b.reason for b in reading.unrecognised]
    assert all(block.is_known for block in reading.blocks if block.place == "4")
    with pytest.raises(DeclarationError):
        reading.network()
    with pytest.raises(DeclarationError):
        reading.theory  # noqa: B018


def test_an_activation_without_a_module_of_its_own_is_its_formula():
    def inline(x, first, last):
        h = first(x)
        return x + last(functional.leaky_relu(h / 3, 0.1) * torch.tanh(h))

    torch.manual_seed(0)
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(4)]
    reading = st.read(nn.Sequential(layers[0], Computed(inline, *layers[1:3]), layers[3]), torch.randn(4, WIDTH))
    assert "Dense([tanh(z)*where(z>0,z/3,z/30)](Dense(z, " in str(reading)
    assert "activation: " not in str(reading.blocks[1])  # the formula says it


def test_an_activation_at_the_end_is_no_layer():
    reading = st.read(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()), torch.randn(3, WIDTH))
    assert [block.is_known for block in reading.blocks] == [True, False]
    assert "not linear" in reading.unrecognised[0].reason


@pytest.mark.exhaustive
def test_a_layer_that_random_networks_contradict_stays_measured(monkeypatch):
    true = formula_values.variances
    monkeypatch.setattr("symres.torch.reading.read_model.variances", lambda use: (1.5 * true(use)[0], true(use)[1]))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256))
    reading = st.read(model, torch.randn(8, 256))
    assert not reading.recognised
    assert all("random weights" in block.reason for block in reading.blocks)


def test_the_model_is_as_before():
    torch.manual_seed(0)
    model = nn.Sequential(normed(norm=nn.BatchNorm1d(WIDTH)), branching()).train()
    inputs = torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(0))
    with untouched(model, inputs):
        st.read(model, inputs)


def test_text_names_everything():
    torch.manual_seed(0)
    model = nn.Sequential(*(normed(norm=nn.LayerNorm(WIDTH)) for _ in range(3)), Computed(coupling))
    text = str(st.read(model, torch.randn(3, WIDTH)))
    assert "3 of 4 parts" in text and "gelu(Dense(LayerNorm(z" in text and "C_W1" in text
    assert "measured" in text and "torch_blocks.py:" in text


def test_classes_of_pytorch_are_named_without_a_file():
    model = nn.Sequential(nn.Embedding(9, WIDTH), nn.Linear(WIDTH, WIDTH))
    reading = st.read(model, torch.arange(9))
    assert reading.unrecognised[0].opaque[0].code == ""
    assert "0: measured: Embedding; an embedding" in str(reading)


class TestLongEquations:
    def test_highway_layers_stand_apart_and_are_equal(self):
        reading = st.read(nets.Highway(), torch.randn(8, 32))
        (block,) = reading.blocks
        assert block.count == 5 and block.place == "gates.*, layers.*"
        assert len(str(reading)) < 1000

    def test_chains_of_norms_are_compared_without_closed_forms(self, monkeypatch):
        def closed(*given, **named):
            raise AssertionError("a closed form was asked for")

        monkeypatch.setattr("symres.theory.observables.layer_observable.build", closed)
        model = nn.Sequential(nn.Conv2d(3, 32, 1), *[nets.PreactivationBottleneck(32, 32) for _ in range(2)])
        reading = st.read(model, torch.randn(4, 3, 8, 8))
        assert [block.is_known for block in reading.blocks] == [True, True]
        assert reading.blocks[1].count == 2 and len(reading.blocks[1].checks) == 2


def test_models_that_return_a_loss_too_are_read():
    def forward(x, layers):
        outputs = layers(x)
        return {"loss": outputs.square().mean(), "logits": outputs}

    model = Computed(forward, nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
    assert str(st.read(model, torch.randn(6, 8))).startswith("Computed: 2 of 2 parts are layers that the theory knows")


class TokenMixing(nn.Module):
    """The first half of a block of an MLP-Mixer."""

    def __init__(self, width, tokens):
        super().__init__()
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(tokens, 2 * tokens),
            nn.Linear(2 * tokens, tokens),
        )

    def forward(self, x):
        mixed = self.down(functional.gelu(self.up(self.norm(x).transpose(1, 2))))
        return x + mixed.transpose(1, 2)


def test_weights_that_act_on_tokens_stay_measured():
    (block,) = st.read(TokenMixing(32, 8), torch.randn(2, 8, 32), check=False).unrecognised
    assert block.reason == "a dense layer mixes positions, not neurons, which makes them unlike one another"
