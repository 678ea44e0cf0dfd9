"""Attention as people write it: its equation, how its scores are made, and what is refused although it looks alike."""

import math

import numpy as np
import pytest
import sympy as sp
import torch
from torch import nn
from torch.nn import functional

import symres as sr
from symres.torch.equations.attention_groups import find_attention
from symres.torch.equations.formula_values import NotRead
from symres.torch.equations.interpreting import Interpreter
from symres.torch.models.call_arguments import CallArguments
from symres.torch.tracing.recording import record_run
from symres.torch.tracing.run_record import stream_steps
from tests.oracles.torch_blocks import Computed

N, HEADS, TOKENS, INPUTS = 16, 2, 6, 3
WIDTH = N // HEADS
SOURCE = torch.Generator().manual_seed(0)
Q, K, V, OUT, MORE = (torch.randn(N, N, generator=SOURCE, dtype=torch.float64) for _ in range(5))
ALL = torch.randn(3 * N, N, generator=SOURCE, dtype=torch.float64)
FEW = torch.randn(2, WIDTH, N, generator=SOURCE, dtype=torch.float64)  # keys and values of one head
BIAS = torch.randn(N, generator=SOURCE, dtype=torch.float64)
ANGLES = 0.7 ** torch.arange(1, WIDTH // 2 + 1, dtype=torch.float64)
CAUSAL = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
DISTANCES = -(torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)).abs().double()
symbols = {f"C_{role}": sp.Symbol(f"C_{role}", positive=True) for role in "QKVO"}
symbols |= {f"C_b{role}": sp.Symbol(f"C_b{role}", nonnegative=True) for role in "QKVO"}


def attention(u=sr.z, factor=1, keys=None):
    s = symbols
    queries, biases = factor * s["C_Q"], factor * s["C_bQ"]
    weights = {"C_bQ": biases, "C_bV": s["C_bV"], "C_O": s["C_O"], "keys": keys}
    return sr.Attention(u, s["C_O"] * s["C_V"], s["C_bO"], queries, s["C_K"], **weights)


def split(x, heads=HEADS):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def sides(x, queries=Q, keys=K, values=V):
    return [split(functional.linear(x, weight)) for weight in (queries, keys, values)]


def weighed(q, k, v, scale=WIDTH**-0.5, mask=0.0, change=lambda scores: scores):
    return joined((change(scale * q @ k.mT) + mask).softmax(-1) @ v)


def plain(x, behind=lambda h: h, **how):
    return x + functional.linear(behind(weighed(*sides(x), **how)), OUT)


def kernel(x, **how):
    return x + functional.linear(joined(functional.scaled_dot_product_attention(*sides(x), **how)), OUT)


def turned(q, is_half):
    """Rotary embeddings, on halves of a head or on neighbours."""
    angles = torch.arange(q.shape[-2])[:, None] * ANGLES
    pairs = q.chunk(2, -1) if is_half else (q[..., ::2], q[..., 1::2])
    one = pairs[0] * angles.cos() - pairs[1] * angles.sin()
    other = pairs[1] * angles.cos() + pairs[0] * angles.sin()
    return torch.cat([one, other], -1) if is_half else torch.stack([one, other], -1).flatten(-2)


def rotary(x, is_half=True, values=lambda v, is_half: v):
    q, k, v = sides(x)
    return x + functional.linear(weighed(turned(q, is_half), turned(k, is_half), values(v, is_half)), OUT)


def one_layer(x):
    q, k, v = functional.linear(x, ALL).unflatten(-1, (3, HEADS, WIDTH)).permute(2, 0, 3, 1, 4).unbind(0)
    return functional.linear(weighed(q / WIDTH**0.5, k, v, 1.0), OUT)


def einsum(x):
    q, k, v = (functional.linear(x, weight).unflatten(-1, (HEADS, -1)) for weight in (Q, K, V))
    shares = torch.softmax(torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(WIDTH), dim=3)
    return functional.linear(torch.einsum("bhqk,bkhd->bqhd", shares, v).flatten(2), OUT)


def grouped(x):
    k, v = (functional.linear(x, weight)[:, None].expand(-1, HEADS, -1, -1) for weight in FEW)
    return x + functional.linear(weighed(sides(x)[0], k, v), OUT)


def first_positions(x):
    """Positions before inputs, inside of the layer."""
    u = x.transpose(0, 1)
    q, k, v = (functional.linear(u, w).unflatten(-1, (HEADS, -1)).permute(1, 2, 0, 3) for w in (Q, K, V))
    h = functional.scaled_dot_product_attention(q, k, v)
    return x + functional.linear(h.permute(2, 0, 1, 3).flatten(2), OUT).transpose(0, 1)


def fused(x, **how):
    arguments = (N, HEADS, ALL, None, None, None, False, 0.0, OUT, BIAS)
    u = x.transpose(0, 1)
    return functional.multi_head_attention_forward(u, u, u, *arguments, training=False, **how)[0].transpose(0, 1)


def baddbmm(x):
    q, k, v = (part.flatten(0, 1) for part in sides(x))
    scores = torch.zeros(TOKENS, TOKENS).baddbmm(q, k.mT, alpha=WIDTH**-0.5)
    return x + functional.linear(joined((scores.softmax(-1) @ v).unflatten(0, (INPUTS, HEADS))), OUT)


def cross(x):
    memory = torch.tanh(x)
    q, k, v = (split(functional.linear(u, w)) for u, w in ((x, Q), (memory, K), (memory, V)))
    return functional.linear(weighed(q, k, v), OUT)


READ = {  # how it is written, the equation, and what its scores are, where that is not the usual
    "written out": (plain, sr.z + attention(), {}),
    "kernel": (kernel, sr.z + attention(), {}),
    "one layer": (one_layer, attention(), {}),
    "einsum": (einsum, attention(), {}),
    "grouped": (grouped, sr.z + attention(), {"key_heads": 1}),
    "first positions": (first_positions, sr.z + attention(), {}),
    "scale": (lambda x: kernel(x, scale=1.0), sr.z + attention(factor=WIDTH), {"scale": 1.0}),
    "scale 1/d": (lambda x: plain(x, scale=1 / WIDTH), sr.z + attention(factor=sp.Rational(1, WIDTH)),
                  {"scale": 1 / WIDTH}),
    "causal": (lambda x: kernel(x, is_causal=True), sr.z + attention(), {"is_causal": True}),
    "causal sums": (lambda x: plain(x, mask=torch.full((TOKENS, TOKENS), -1e9).triu(1)), sr.z + attention(),
                    {"is_causal": True}),
    "causal filled": (lambda x: plain(x, change=lambda s: s.masked_fill(~CAUSAL, -math.inf)), sr.z + attention(),
                      {"is_causal": True}),
    "causal boolean": (lambda x: kernel(x, attn_mask=CAUSAL), sr.z + attention(), {"is_causal": True}),
    "distances": (lambda x: plain(x, mask=DISTANCES), sr.z + attention(), {"mask": DISTANCES}),
    "halves turn": (rotary, sr.z + attention(), {"rope": ANGLES}),
    "neighbours turn": (lambda x: rotary(x, False), sr.z + attention(), {"rope": ANGLES}),
    "fused": (fused, attention(), {}),
    "fused causal": (lambda x: fused(x, attn_mask=~CAUSAL), attention(), {"is_causal": True}),
    "fused kernel": (lambda x: fused(x, need_weights=False), attention(), {}),
    "baddbmm": (baddbmm, sr.z + attention(), {}),
    "fused padding": (lambda x: fused(x, key_padding_mask=torch.arange(TOKENS).expand(INPUTS, -1) > 3), attention(),
                      {"mask": torch.zeros(TOKENS, TOKENS).masked_fill(torch.arange(TOKENS) > 3, -math.inf)}),
    "cross": (cross, attention(keys=sr.activation("tanh")(sr.z)), {}),
}  # fmt: skip


def read(function):
    x = torch.randn((INPUTS, TOKENS, N), dtype=torch.float64)
    record = record_run(Computed(function), CallArguments.of(x))
    calls = [call for step in stream_steps(record, record.output) for call in step.calls]
    found = find_attention(record, calls)
    try:
        return Interpreter(record, {}, 0, -1, (), found.groups).read(calls, record.output), found
    except NotRead:
        return None, found


@pytest.mark.parametrize("name", READ)
def test_attention_is_read_however_it_is_written(name):
    function, expected, scores = READ[name]
    reading, _ = read(function)
    assert sr.Layer(reading.expression) == sr.Layer(expected)
    (use,) = reading.attention
    usual = {"heads": HEADS, "head_width": WIDTH, "key_heads": HEADS, "is_causal": False, "scale": WIDTH**-0.5}
    arrays = {"mask": None, "rope": None} | {n: np.asarray(a) for n, a in scores.items() if torch.is_tensor(a)}
    for attribute, value in (usual | {n: v for n, v in scores.items() if n not in arrays}).items():
        assert getattr(use, attribute) == pytest.approx(value, rel=1e-9), attribute
    for attribute, array in arrays.items():
        there = getattr(use, attribute)
        assert (there is None) == (array is None), attribute
        assert array is None or np.allclose(there, array, rtol=1e-9), attribute


def test_attention_behind_a_dense_layer_keeps_its_record():
    reading, _ = read(lambda x: one_layer(torch.tanh(functional.linear(x, MORE))))
    assert str(reading.expression).startswith("Attention(tanh(Dense(z)), ") and len(reading.attention) == 1


@pytest.mark.parametrize("name", ["one layer", "fused", "grouped", "written out"])
def test_draws_are_the_neurons_that_queries_keys_and_values_have(name):
    uses = {use.role: use for use in read(READ[name][0])[0].dense}
    weights = {"one layer": ALL.chunk(3), "fused": ALL.chunk(3), "grouped": (Q, *FEW), "written out": (Q, K, V)}[name]
    for role, weight in zip("QKVO", (*weights, OUT), strict=True):
        assert torch.equal(uses[role].weight, weight)


def normed_queries(x):
    q, k, v = sides(x)
    return functional.linear(weighed(functional.normalize(q, dim=-1), k, v), OUT)


def windows(x):
    """Attention inside of both halves of each input."""
    u = x.reshape(2 * INPUTS, TOKENS // 2, N)
    return functional.linear(weighed(*sides(u)), OUT).reshape(x.shape)


def fewer_keys(x):
    q, k, v = (split(functional.linear(u, weight)) for u, weight in ((x, Q), (x[:, ::2], K), (x[:, ::2], V)))
    return functional.linear(weighed(q, k, v), OUT)


def added_positions(x):
    q, k, v = sides(x)
    return functional.linear(weighed(q + torch.arange(TOKENS)[:, None], k, v), OUT)


def of_neighbours(x):
    q, k, v = sides(x)
    return functional.linear(weighed(q + q.roll(1, 2), k, v), OUT)


def mixed_weights(x):
    q, k, v = sides(x)
    shares = (q @ k.mT / WIDTH**0.5).softmax(-1)
    return functional.linear(joined(shares.square() @ v), OUT)


REFUSED = {
    "tied": (lambda x: functional.linear(weighed(*sides(x, keys=Q)), OUT), "the same weights"),
    "values are keys": (lambda x: functional.linear(weighed(*sides(x, values=K)), OUT), "the weights of its queries"),
    "capped scores": (lambda x: plain(x, change=lambda s: 30 * torch.tanh(s / 30)), "bent"),
    "normed queries": (normed_queries, "more than a dense layer"),
    "activation behind": (lambda x: plain(x, torch.relu), "right behind its heads"),
    "gate behind": (lambda x: plain(x, lambda h: h * x), "right behind its heads"),
    "nothing behind": (lambda x: x + weighed(*sides(x)), "right behind its heads"),
    "windows": (windows, "some of the positions"),
    "inputs": (lambda x: plain(x.transpose(0, 1)).transpose(0, 1), "or to other inputs"),
    "fused inputs": (lambda x: fused(x.transpose(0, 1)).transpose(0, 1), "or to other inputs"),
    "fewer keys": (fewer_keys, "some of the positions"),
    "added positions": (added_positions, "more than a dense layer"),
    "neighbours": (of_neighbours, "more than a dense layer"),
    "turned values": (lambda x: rotary(x, values=turned), "unknown way"),
    "no dense layers": (
        lambda x: functional.linear(weighed(*(split(x) for _ in range(3))), OUT),
        "without dense layers",
    ),
    "dropout": (lambda x: kernel(x, dropout_p=0.5), "dropout is active"),
    "weights changed": (mixed_weights, "changed behind the softmax"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_the_attention_of_the_theory_is_refused(name):
    function, reason = REFUSED[name]
    reading, found = read(function)
    assert not found.groups or reading is None
    assert reason in " ".join(found.reasons.values())


def test_pytorch_layers_of_several_widths_are_read():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(N, HEADS, kdim=12, vdim=12, batch_first=True, dtype=torch.float64)
    narrow = nn.Linear(N, 12, dtype=torch.float64)
    for parameter in [*layer.parameters(), *narrow.parameters()]:
        parameter.requires_grad_(False)
    reading, _ = read(lambda x: layer(x, *[narrow(x)] * 2)[0])
    assert [use.made.fan_in for use in reading.dense if use.role in "QKV"] == [N, 12, 12]
    assert not [use for use in reading.attention if use.mask is not None]
