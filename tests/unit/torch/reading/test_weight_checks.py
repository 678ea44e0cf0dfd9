"""Weights that several layers share, transposed perhaps, and weights that are no independent draws."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import symres as sr
import symres.torch as st
from symres.core.errors import DeclarationError
from symres.torch.equations import formula_values
from tests.oracles.torch_blocks import Computed, NormedBlock

WIDTH = 64
TIES = {
    "product": lambda h, w: h @ w,
    "transposed product": lambda h, w: h @ w.T,
    "linear": functional.linear,
    "transposed linear": lambda h, w: functional.linear(h, w.t()),
}


@pytest.mark.parametrize("how", TIES)
def test_tied_weights_are_named_however_they_are_used(how):
    """An encoder whose weights decode too; a language model whose readout is its table of embeddings."""
    torch.manual_seed(0)
    encoder = Computed(lambda x, code: TIES[how](torch.tanh(code(x)), code.weight), nn.Linear(WIDTH, WIDTH))
    reading = st.read(encoder, torch.randn(4, WIDTH))
    assert "layers.0.weight" in [block.place for block in reading.recognised]
    assert reading.notes == ("the weights layers.0 are used in several layers; the theory draws new ones for each",)
    with pytest.raises(DeclarationError, match=r"layers share the weights layers\.0"):
        reading.network()

    def forward(ids, table, dense):
        return TIES[how](torch.tanh(dense(table(ids))), table.weight)

    words = Computed(forward, nn.Embedding(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH))
    reading = st.read(words, torch.randint(0, WIDTH, (4, 8)))
    assert "layers.0.weight" in [block.place for block in reading.recognised]
    assert any("weights of layers.0 are also the table of an embedding" in note for note in reading.notes)


def test_parts_of_one_tensor_are_not_shared():
    def forward(x, both):
        return functional.linear(torch.tanh(functional.linear(x, both.weight[:WIDTH])), both.weight[WIDTH:])

    torch.manual_seed(0)
    reading = st.read(Computed(forward, nn.Linear(WIDTH, 2 * WIDTH, bias=False)), torch.randn(4, WIDTH))
    assert len(reading.recognised) == 2 and not reading.notes and reading.network() is not None


def residual():
    blocks = [NormedBlock(WIDTH, nn.ReLU(), wide=1) for _ in range(3)]
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), *blocks, nn.Linear(WIDTH, 10))


def trained(inputs, classes):
    model = residual()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(300):
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs), classes).backward()
        optimizer.step()
    return model


@pytest.mark.exhaustive
def test_trained_weights_are_told_and_random_ones_are_not():
    torch.manual_seed(0)
    inputs = torch.randn(256, WIDTH)
    reading = st.read(trained(inputs, inputs[:, :10].argmax(dim=1)), inputs)
    unlike = [place for block in reading.blocks for place in block.unlike_draws]
    assert len(unlike) >= 2 and "4" in unlike
    text = str(reading)
    assert text.splitlines()[0].endswith(f", {len(unlike)} of them with weights that do not act like independent draws")
    assert "on its inputs in this model 4 gives the kernel" in text
    for seed in range(12):
        torch.manual_seed(seed)
        plain = st.read(residual(), inputs)
        assert not [place for block in plain.blocks for place in block.unlike_draws] and "unlike" not in str(plain)


def test_kernels_that_are_told_are_those_of_the_run():
    torch.manual_seed(0)
    model, inputs = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH)), torch.randn(8, WIDTH)
    with torch.no_grad():
        first, last = model[0](inputs).tanh(), model[2].weight
        last.copy_(first[:1].T @ first[:1] / first[0].square().sum() * 8)  # a projection on what comes in
    reading = st.read(model, inputs[:1].double())
    (remark,) = [remark for block in reading.blocks for remark in block.remarks if "inputs in this model" in remark]
    kernel = float(model(inputs[:1]).square().mean())
    square = WIDTH * float(last.double().square().mean()) * float(first[0].double().square().mean())
    independent = square + float(model[2].bias.double().square().mean())
    assert f"gives the kernel {kernel:.3g}"[:-1] in remark
    assert independent < kernel / 20 and "independent weights" in remark


class Attention(nn.Module):
    """Causal attention of two heads, without a skip connection."""

    def __init__(self):
        super().__init__()
        self.all, self.behind = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        for layer in (self.all, self.behind):
            nn.init.normal_(layer.weight, std=WIDTH**-0.5)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.all(x).chunk(3, -1))
        h = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.behind(h.transpose(1, 2).flatten(2))


SABOTAGE = {
    "nothing": ("", None),
    "values": ("symres.torch.reading.read_model.variances", lambda use: _twice(use, "V")),
    "queries": ("symres.torch.reading.read_model.variances", lambda use: _twice(use, "Q", 8)),
    "mask": ("symres.torch.equations.attention_groups._Search._arranged", lambda *_: (False, None)),
}


def _twice(use, role, factor=2):
    weight, bias = formula_values.variances(use)
    return (factor if use.role == role else 1) * weight, bias


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SABOTAGE)
def test_attention_that_random_networks_contradict_stays_measured(name, monkeypatch):
    where, how = SABOTAGE[name]
    if where:
        monkeypatch.setattr(where, how)
    torch.manual_seed(0)
    reading = st.read(nn.Sequential(Attention(), Attention()), torch.randn(4, 8, WIDTH))
    (block,) = reading.blocks
    assert block.is_known == (name == "nothing")
    assert block.checks if block.is_known else "random weights" in block.reason


def test_copies_of_one_layer_are_told():
    """nn.TransformerEncoder copies the layer that it is given: its weights are equal, and no layer's are fresh."""
    torch.manual_seed(0)
    layers = [nn.TransformerEncoderLayer(WIDTH, 4, WIDTH, batch_first=True) for _ in range(2)]
    inputs = torch.randn(2, 6, WIDTH)
    copied = st.read(nn.TransformerEncoder(layers[0], 2, enable_nested_tensor=False), inputs, check=False)
    fresh = st.read(nn.Sequential(*layers), inputs, check=False)
    assert not copied.unrecognised and not fresh.unrecognised and not fresh.notes
    assert [note.partition(":")[0] for note in copied.notes] == ["weights are not fresh"]
    with pytest.raises(DeclarationError, match="layers share the weights"):
        copied.network()


@pytest.mark.exhaustive
def test_the_network_of_a_transformer_knows_its_tokens():
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.TransformerEncoderLayer(WIDTH, 4, WIDTH, batch_first=True) for _ in range(2)])
    reading = st.read(model, torch.randn(2, 6, WIDTH), check=False)
    kernels = reading.network(sr.Tokens(6)).kernels(1, C=0.5)
    assert float(kernels[-1][0]) == pytest.approx(1, rel=1e-3) and kernels[-1][1] > kernels[0][1]


class PositionsFirst(nn.Module):
    """PyTorch's layers as they are by default, with positions before inputs, in a model of inputs first."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, WIDTH), nn.Linear(WIDTH, 10)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(WIDTH, 4, WIDTH, norm_first=True) for _ in range(2)])

    def forward(self, x):
        h = self.first(x).transpose(0, 1)
        for block in self.blocks:
            h = block(h)
        return self.last(h.transpose(0, 1))


@pytest.mark.exhaustive
def test_positions_before_inputs_are_no_contradiction():
    torch.manual_seed(0)
    reading = st.read(PositionsFirst(), torch.randn(3, 10, 8))
    assert not reading.unrecognised
    assert [block.count for block in reading.blocks if block.attention] == [2]
