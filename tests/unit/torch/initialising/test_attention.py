"""Attention in models after st.init_: variances in closed form, kernels and gradients by plain hooks."""

from functools import partial

import pytest
import torch
import transformers
from torch import nn

import symres as sr
import symres.torch as st
from tests.oracles.hooked_streams import hooked_streams

pytestmark = pytest.mark.exhaustive
WIDTH, BLOCKS = 64, 4
WORDS = torch.randint(3, 50, (8, 10), generator=torch.Generator().manual_seed(0))
VECTORS = torch.randn(8, 10, 20, generator=torch.Generator().manual_seed(0))
ALIKE = {"vocab_size": 50, "bos_token_id": 1, "eos_token_id": 2}
SIZES = {"hidden_size": WIDTH, "num_hidden_layers": BLOCKS, "num_attention_heads": 4, "intermediate_size": 4 * WIDTH}


class Encoder(nn.Module):
    """Layers of PyTorch, whose queries, keys and values are one matrix."""

    def __init__(self, **settings):
        super().__init__()
        settings = {"activation": "gelu", "batch_first": True, "dropout": 0.0, **settings}
        self.read, self.head = nn.Linear(20, WIDTH), nn.Linear(WIDTH, 10)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, **settings) for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = self.read(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt2():
    """Queries, keys and values are one matrix, with outputs along its second axis."""
    sizes = {"n_layer": BLOCKS, "n_embd": WIDTH, "n_head": 4, "n_positions": 16, "tie_word_embeddings": False}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **ALIKE)).eval()


def llama():
    """Queries of two heads share keys and values."""
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=2, **SIZES, **ALIKE)).eval()


def bert():
    """Norms behind the sums."""
    return transformers.BertModel(transformers.BertConfig(**SIZES, vocab_size=50), add_pooling_layer=False).eval()


MODELS = [  # with inputs, blocks, and the place of attention's norm
    pytest.param(partial(Encoder, norm_first=True), VECTORS, "blocks", "before", id="encoder"),
    pytest.param(Encoder, VECTORS, "blocks", "after", id="encoder of post-LN"),
    pytest.param(gpt2, WORDS, "transformer.h", "before", id="gpt2"),
    pytest.param(llama, WORDS, "model.layers", "before", id="llama"),
    pytest.param(bert, WORDS, "encoder.layer", "after", id="bert"),
]


def halfway():
    """The variance behind the heads, and of both branches of a block, whose tokens end with a cosine of 1/2."""
    block = sr.layer("h = LayerNorm(z + Attention(z, C_2, 0)); LayerNorm(h + Dense(gelu(Dense(h, 1, 0)), C_2, 0))")
    theory, low, high = block.derive(positions=sr.Tokens(16)), 0.0, 1.0
    for _ in range(8):
        middle = (low + high) / 2
        is_below = theory.similarity(BLOCKS, 1, 0, C_2=middle)[-1] < 0.5
        low, high = (middle, high) if is_below else (low, middle)
    return low


def drawn(model, block):
    """fan_in*<w^2> of queries, keys, values and outputs of a block, from its tensors."""
    weights = {
        name.removeprefix(f"{block}."): p for name, p in model.named_parameters() if name.startswith(f"{block}.")
    }
    if "self_attn.in_proj_weight" in weights:
        parts = [*weights["self_attn.in_proj_weight"].chunk(3), weights["self_attn.out_proj.weight"]]
    elif "attn.c_attn.weight" in weights:
        parts = [*weights["attn.c_attn.weight"].chunk(3, dim=1), weights["attn.c_proj.weight"]]
    else:
        names = ("query", "key", "value", "attention.output.dense")
        names = names if any("query" in name for name in weights) else [f"{letter}_proj" for letter in "qkvo"]
        parts = [next(p for name, p in weights.items() if f"{one}.weight" in name) for one in names]
    return [float(WIDTH * part.detach().square().mean()) for part in parts]  # all have this fan_in


@pytest.mark.parametrize(("build", "inputs", "blocks", "norm"), MODELS)
def test_attention_is_drawn_as_for_equal_tokens(build, inputs, blocks, norm):
    names, report, streams = [f"{blocks}.{k}" for k in range(BLOCKS)], None, []
    for seed in range(3):  # so narrow networks scatter
        torch.manual_seed(seed)
        model = build()
        report = st.init_(model, inputs=inputs, seed=seed, like=report)
        given = inputs.double() if inputs is VECTORS else inputs
        streams.append(hooked_streams(model.double(), names, (given,)))
    kernels, gradients = torch.tensor(streams).mean(dim=0)
    assert max(kernels) < 2 * min(kernels) and max(gradients) < 2.5 * min(gradients)
    # with a norm before it, attention to equal tokens adds xi^2 to kernels, which 2*BLOCKS branches double at most;
    # behind one, where it would not tell that tokens become equal, they do so by half
    expected = report.check.streams[0].kernel / (2 * BLOCKS) if norm == "before" else halfway()
    for queries, keys, values, outputs in (drawn(model, name) for name in names):
        assert [queries, keys] == pytest.approx([1, 1], rel=0.1)
        assert values * outputs == pytest.approx(expected, rel=0.1)
    settings = [s for s in report.settings if s.kind == "weight" and ", of equal tokens" in s.why]
    assert {s.reason for s in settings} == {"theory"} and len(settings) == 4 * BLOCKS
    assert any("equal tokens" in note for note in report.notes)
    assert any("a cosine of 1/2" in note for note in report.notes) is (norm == "after")


def test_attention_without_a_skip_connection_keeps_the_measured_kernel():
    class Mix(nn.MultiheadAttention):
        def forward(self, x):
            return super().forward(x, x, x, need_weights=False)[0]

    torch.manual_seed(0)
    mixes = [Mix(WIDTH, 4, batch_first=True) for _ in range(2)]
    model = nn.Sequential(
        nn.Linear(20, WIDTH), mixes[0], nn.ReLU(), nn.Linear(WIDTH, WIDTH), mixes[1], nn.Linear(WIDTH, 10)
    )
    report = st.init_(model, inputs=VECTORS, seed=0)
    kernels, _ = hooked_streams(model.double(), ["0", "1", "3", "4"], (VECTORS.double(),))
    assert max(kernels) < 1.2 * min(kernels)
    assert any("without a skip connection" in note for note in report.notes)
