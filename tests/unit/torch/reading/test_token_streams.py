"""Predicted tokens: kernels, cosines and Jacobian norms of random transformers beside those that are measured."""

import math

import numpy as np
import pytest
import torch
import transformers
from torch import nn
from torch.nn import functional

import symres.torch as st
from symres.torch.reading.token_streams import as_tokens, cosines


def dense(inputs, outputs, variance):
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=math.sqrt(variance / inputs))
    return layer


class Block(nn.Module):
    """Attention and a perceptron behind norms, each added to the stream; with a mask and rotations perhaps."""

    def __init__(self, width, heads, mask=None, turns=None, of_scores=1.0):
        super().__init__()
        self.heads, self.mask, self.turns = heads, mask, turns
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k = (dense(width, width, of_scores) for _ in range(2))
        self.v, self.o = dense(width, width, 1), dense(width, width, 0.5)
        self.up, self.down = dense(width, 2 * width, 1), dense(2 * width, width, 1)

    def forward(self, x):
        u = self.norm1(x)
        split = lambda y: y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)  # noqa: E731
        q, k, v = (split(layer(u)) for layer in (self.q, self.k, self.v))
        if self.turns is not None:
            angles = torch.arange(x.shape[1])[:, None] * self.turns.to(x.dtype)
            cos, sin = (torch.cat([part, part], dim=-1) for part in (angles.cos(), angles.sin()))
            q, k = (y * cos + torch.cat([-y.chunk(2, -1)[1], y.chunk(2, -1)[0]], dim=-1) * sin for y in (q, k))
        heads = functional.scaled_dot_product_attention(q, k, v, attn_mask=self.mask)
        x = x + self.o(heads.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


def transformer(blocks=2, width=256, tokens=12, **options):
    model = nn.Sequential(*(Block(width, 16, **options) for _ in range(blocks)))
    common = torch.randn(2, 1, width)
    return model, math.sqrt(0.8) * torch.randn(2, tokens, width) + math.sqrt(0.2) * common


def scores_of(measured):
    return [
        row[f"{name}_z"]
        for row in measured.rows()
        for name in ("kernel", "token_cosine", "apjn_forward", "apjn_backward")
        if math.isfinite(row.get(f"{name}_z", math.nan))
    ]


def assert_near(rows):
    """Means over networks of kernel and cosine beside the theory: within 5 % and 0.02, or 4 standard errors."""
    kernel, expected, cosine, nearness = rows.mean(axis=0)
    errors = (rows[:, ::2] - rows[:, 1::2]).std(axis=0, ddof=1) / np.sqrt(len(rows))
    assert abs(kernel - expected) < max(0.05 * expected, 4 * errors[0])
    assert abs(cosine - nearness) < max(0.02, 4 * errors[1])


def test_a_transformer_is_predicted_from_its_input():
    torch.manual_seed(0)
    model, inputs = transformer()
    measured = st.predict(model, inputs, check=False, progress=False)
    rows = measured.rows()
    assert [row["place"] for row in rows] == ["input of 0.norm2", "0", "input of 1.norm2", "1"]
    for row in rows:
        assert row["kernel_theory"] == pytest.approx(row["kernel"], rel=0.05)
        assert row["token_cosine_theory"] == pytest.approx(row["token_cosine"], abs=0.04)
        assert row["kernel_theory_error"] < 0.1 * row["kernel"]
        assert row["token_cosine_theory_error"] < 0.06
    scores = scores_of(measured)
    assert len(scores) == 4 * 3 + 3
    assert max(map(abs, scores)) < 3.5
    assert "finite sizes" in str(measured)
    assert "many tokens" in str(measured)
    panels = measured.plot().axes
    assert [panel.get_ylabel() for panel in panels][:2] == ["kernel, mean square", "token similarity"]
    assert panels[1].get_ylim()[1] == 1


def test_alike_tokens_are_exchangeable():
    rng = np.random.default_rng(0)
    rows = np.sqrt(0.7) * rng.standard_normal((6, 400)) + np.sqrt(0.3) * rng.standard_normal(400)
    gram = rows @ rows.T / 400
    alike = as_tokens(gram, 400)
    assert np.allclose(alike.diagonal(), gram.trace() / 6)
    assert np.ptp(alike[~np.eye(6, dtype=bool)]) == 0 < np.ptp(gram.diagonal())
    assert cosines(alike) == pytest.approx(cosines(gram), abs=0.01)
    unlike = gram * np.outer(np.arange(1, 7), np.arange(1, 7))
    assert as_tokens(unlike, 400) is unlike


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["all alike", "causal", "some", "rotary", "strong and rotary"])
def test_masks_and_rotations(kind):
    """Some networks: their average within 5 % and 0.02, and each within what the theory allows."""
    tokens, options = 12, {}
    if kind == "causal":
        options["mask"] = torch.ones(tokens, tokens).tril().bool()
    elif kind == "some":
        options["mask"] = torch.rand(tokens, tokens, generator=torch.Generator().manual_seed(1)) < 0.6
        options["mask"] |= torch.eye(tokens).bool()
    elif "rotary" in kind:
        options = {"turns": 1.0 / 10.0 ** torch.arange(8), "of_scores": 1.0 if "strong" in kind else 0.3}
    places, scores = {}, []
    for seed in range(6 if "strong" in kind else 10):
        torch.manual_seed(seed)
        model, inputs = transformer(tokens=tokens, **options)
        measured = st.predict(model, inputs, check=False, progress=False)
        scores += scores_of(measured)
        for row in measured.rows():
            names = ("kernel", "kernel_theory", "token_cosine", "token_cosine_theory")
            places.setdefault(row["place"], []).append([row[name] for name in names])
    for each in places.values():
        assert_near(np.array(each))
    assert max(map(abs, scores)) < 4.5
    assert 0.1 < np.sqrt(np.mean(np.square(scores))) < 1.5


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["gpt2", "bert", "llama"])
def test_random_language_models(kind):
    """Small ones with weights drawn as their configurations say, block by block."""
    sizes = {"num_hidden_layers": 3, "hidden_size": 256, "num_attention_heads": 8, "vocab_size": 1000}
    of_places = {}
    for seed in range(5):
        torch.manual_seed(seed)
        if kind == "gpt2":
            model = transformers.GPT2Model(transformers.GPT2Config(**sizes, bos_token_id=1, eos_token_id=1))
        elif kind == "bert":
            config = transformers.BertConfig(**sizes, intermediate_size=1024)
            model = transformers.BertModel(config, add_pooling_layer=False)
        else:
            config = transformers.LlamaConfig(**sizes, num_key_value_heads=4, intermediate_size=768)
            model = transformers.LlamaModel(config)
        measured = st.predict(model.eval(), torch.randint(0, 1000, (2, 48)), check=False, progress=False)
        assert max(map(abs, scores_of(measured))) < 4
        for row in measured.rows():
            names = ("kernel", "kernel_theory", "token_cosine", "token_cosine_theory")
            if math.isfinite(row["token_cosine_theory"]):
                of_places.setdefault(row["place"], []).append([row[name] for name in names])
    assert len(of_places) >= 6
    for each in of_places.values():
        assert_near(np.array(each))


def test_masks_that_add_numbers_to_scores_stay_measured():
    torch.manual_seed(0)
    bias = -0.5 * (torch.arange(6)[:, None] - torch.arange(6)).abs().float()
    model, inputs = transformer(blocks=1, tokens=6, width=64, mask=bias)
    measured = st.predict(model, inputs, check=False, progress=False)
    assert math.isnan(measured.rows()[0].get("token_cosine_theory", math.nan))


class Vision(nn.Module):
    """Tokens of which the first is small, and does not depend on the input; PyTorch fuses such encoder layers."""

    def __init__(self, width=64):
        super().__init__()
        self.embedding, self.first = nn.Linear(8, width), nn.Parameter(0.02 * torch.randn(1, 1, width))
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.block = nn.TransformerEncoderLayer(width, 4, 2 * width, **options)

    def forward(self, x):
        return self.block(torch.cat([self.first.expand(len(x), -1, -1), self.embedding(x)], 1))


def test_changes_of_unlike_tokens_are_measured_where_theory_begins():
    torch.manual_seed(0)
    measured = st.predict(Vision().eval(), torch.randn(3, 6, 8), check=False, progress=False)
    rows = [row for row in measured.rows() if row["place"].startswith(("block", "input of block"))]
    assert len(rows) > 1
    for row in rows:
        if math.isfinite(row["apjn_forward_theory"]):
            assert row["apjn_forward_theory"] == pytest.approx(row["apjn_forward"], rel=0.15)
    assert sum(math.isfinite(row["apjn_forward_theory"]) for row in rows) >= 1
