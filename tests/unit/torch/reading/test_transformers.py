"""GPT-2, Llama, BERT and ViT of transformers, from configurations: what is read, and whether its numbers are true."""

from collections.abc import Callable

import pytest
import sympy as sp
import torch
import transformers
from torch import nn

import symres as sr
import symres.torch as st

SIZES = {"num_hidden_layers": 3, "num_attention_heads": 4}


def gpt2(width):
    config = transformers.GPT2Config(n_layer=3, n_embd=width, n_head=4, vocab_size=101, bos_token_id=1, eos_token_id=2)
    return transformers.GPT2LMHeadModel(config), tokens()


def llama(width):
    config = transformers.LlamaConfig(hidden_size=width, intermediate_size=5 * width // 2, vocab_size=101, **SIZES)
    return transformers.LlamaForCausalLM(config), tokens()


def bert(width):
    config = transformers.BertConfig(hidden_size=width, intermediate_size=4 * width, vocab_size=101, **SIZES)
    return transformers.BertModel(config), tokens()


def vit(width):
    config = transformers.ViTConfig(
        hidden_size=width, intermediate_size=4 * width, image_size=16, patch_size=8, **SIZES
    )
    return transformers.ViTModel(config), torch.randn(2, 3, 16, 16)


def tokens():
    return torch.randint(0, 101, (2, 5))


MODELS: dict[str, Callable] = {"gpt2": gpt2, "llama": llama, "bert": bert, "vit": vit}
C1, C2, C3 = (sp.Symbol(f"C_W{index}", positive=True) for index in (1, 2, 3))
B1, B2, B3 = (sp.Symbol(f"C_b{index}", nonnegative=True) for index in (1, 2, 3))


def two_layers(phi, inner):
    return sr.Dense(sr.activation(phi)(sr.Dense(inner, C1, B1, 4)), C2, B2)


def swiglu(inner):
    wide = sp.Rational(5, 2)
    return sr.Dense(sr.activation("silu")(sr.Dense(inner, C1, B1, wide)) * sr.Dense(inner, C2, B2, wide), C3, B3)


NEW_GELU = "z*(1+tanh(sqrt(2/pi)*(z+0.044715*z^3)))/2"
PLACES = {  # of the MLP block, and of its norms
    "gpt2": ("transformer.h.*.mlp", ["transformer.h.*.ln_2"]),
    "llama": ("model.layers.*.mlp", ["model.layers.*.post_attention_layernorm"]),
    "bert": ("encoder.layer.*", ["encoder.layer.*.output.LayerNorm"]),
    "vit": ("layers.*.mlp", ["layers.*.layernorm_after"]),
}
FORMS = {
    "llama": lambda: sr.z + swiglu(sr.RMSNorm(sr.z, "1e-6")),
    "bert": lambda: sr.LayerNorm(sr.z + two_layers("gelu", sr.z), "1e-12"),
    "vit": lambda: sr.z + two_layers("gelu", sr.LayerNorm(sr.z, "1e-12")),
}
CQ, CK, CV, CO = (sp.Symbol(f"C_{role}", positive=True) for role in "QKVO")
BQ, BV, BO = (sp.Symbol(f"C_b{role}", nonnegative=True) for role in "QVO")


def attention(u):
    return sr.Attention(u, CO * CV, BO, CQ, CK, C_bQ=BQ, C_bV=BV, C_O=CO)


ATTENTION = {  # place, equation, and the modules of the weights of Q, K, V and O in the first block
    "gpt2": ("transformer.h.*.attn", sr.z + attention(sr.LayerNorm(sr.z, "1e-5")),
             [f"transformer.h.0.attn.{name}" for name in ("c_attn", "c_attn", "c_attn", "c_proj")]),
    "llama": ("model.layers.*.self_attn", sr.z + attention(sr.RMSNorm(sr.z, "1e-6")),
              [f"model.layers.0.self_attn.{name}_proj" for name in "qkvo"]),
    "bert": ("encoder.layer.*.attention", sr.LayerNorm(sr.z + attention(sr.z), "1e-12"),
             [*(f"encoder.layer.0.attention.self.{name}" for name in ("query", "key", "value")),
              "encoder.layer.0.attention.output.dense"]),
    "vit": ("layers.*.attention", sr.z + attention(sr.LayerNorm(sr.z, "1e-12")),
            [f"layers.0.attention.{name}_proj" for name in "qkvo"]),
}  # fmt: skip


@pytest.fixture(scope="module", params=MODELS)
def read(request):
    torch.manual_seed(0)
    model, inputs = MODELS[request.param](64)
    return request.param, model, st.read(model, inputs)


def test_every_mlp_block_is_a_layer(read):
    name, _, reading = read
    place, norms = PLACES[name]
    block = reading[place]
    assert block.is_known and block.count == 3 and list(block.norms) == norms and block.checks
    if name == "gpt2":
        assert block.activation.name == "gelu_tanh"
        error = [block.activation.expr.subs(sr.z, x) - sr.activation(NEW_GELU).expr.subs(sr.z, x) for x in (-2, 1)]
        assert all(abs(sp.N(e, 30)) < 1e-20 for e in error)
        expected = sr.z + two_layers("gelu", sr.LayerNorm(sr.z, "1e-5"))
        assert block.text.replace("gelu_tanh", "gelu") == f"z' = {sr.Layer(expected).text}"
    else:
        assert block.form == sr.Layer(FORMS[name]())


def test_attention_is_a_layer(read):
    name, model, reading = read
    place, form, modules = ATTENTION[name]
    block = reading[place]
    assert block.form == sr.Layer(form) and block.count == 3
    weights = [model.get_submodule(module).weight.detach() for module in modules]
    if name == "gpt2":  # Conv1D: all of one matrix of the shape (in, out)
        weights = [*weights[0].T.chunk(3), weights[3].T]
    expected = {f"C_{role}": 64 * float(w.double().square().mean()) for role, w in zip("QKVO", weights, strict=True)}
    assert {s: block.numbers[0][s] for s in expected} == pytest.approx(expected, rel=1e-9)
    drawn = {"C_O": 64 * 0.02**2 / (6 if name == "gpt2" else 1)} | dict.fromkeys(("C_Q", "C_K", "C_V"), 64 * 0.02**2)
    assert {s: sum(numbers[s] for numbers in block.numbers) / 3 for s in drawn} == pytest.approx(drawn, rel=0.05)
    (use,) = block.attention
    assert (use.heads, use.head_width, use.key_heads) == (4, 16, 4)
    assert use.mask is None and use.scale == pytest.approx(1 / 4) and use.is_causal == (name in ("gpt2", "llama"))
    angles = None if name != "llama" else 10000.0 ** (-torch.arange(8, dtype=torch.float64) / 8)
    assert use.rope is None if angles is None else torch.tensor(use.rope).allclose(angles, rtol=1e-5)
    assert block.checks and not any("attention" in part.reason for b in reading.blocks for part in b.opaque)


def test_every_norm_is_found(read):
    _, model, reading = read
    kinds = (nn.LayerNorm, transformers.models.llama.modeling_llama.LlamaRMSNorm)
    there = {n for n, module in model.named_modules() if isinstance(module, kinds)}
    norms = [(norm, block.count) for block in reading.blocks for norm in block.norms]
    assert there == {norm.replace("*", str(number)) for norm, count in norms for number in range(count)}


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_predictions(name):
    """Theory at the end of each MLP block, from the kernels that attention leaves."""
    torch.manual_seed(0)
    model, inputs = MODELS[name](128)
    rows = {row["place"]: row for row in st.predict(model, inputs, check=False, progress=False).rows()}
    blocks = [place for place in rows if place[-1].isdigit() and not place.startswith("input")]
    assert len(blocks) == 3
    for place in [*blocks, "lm_head"]:
        assert abs(rows[place]["kernel_z"]) < 4 and abs(rows[place]["apjn_forward_z"]) < 4, place
        assert rows[place]["kernel_theory_error"] < 0.4 * rows[place]["kernel_theory"]


DENSE = {  # layers of the first MLP block
    "gpt2": ["transformer.h.0.mlp.c_fc", "transformer.h.0.mlp.c_proj"],
    "llama": [f"model.layers.0.mlp.{part}_proj" for part in ("gate", "up", "down")],
    "bert": ["encoder.layer.0.intermediate.dense", "encoder.layer.0.output.dense"],
    "vit": ["layers.0.mlp.fc1", "layers.0.mlp.fc2"],
}


def test_numbers_are_those_of_the_weights(read):
    name, model, reading = read
    expected = {}
    for index, module in enumerate(map(model.get_submodule, DENSE[name]), 1):
        weight = module.weight.detach().double()
        fan_in = weight.shape[0] if name == "gpt2" else weight.shape[1]  # Conv1D has its weights transposed
        expected[f"C_W{index}"] = fan_in * float(weight.square().mean())
        expected[f"C_b{index}"] = 0.0 if module.bias is None else float(module.bias.detach().double().square().mean())
    assert reading[PLACES[name][0]].numbers[0] == pytest.approx(expected, rel=1e-9)
