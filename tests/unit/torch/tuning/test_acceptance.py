"""Blocks as people write them: after tuning the measured chi is 1, and deep stacks keep kernel and gradient."""

import math

import pytest
import torch
import transformers
from torch import nn

import symres.torch as st
from tests.oracles.finite_differences import chi_of_block, first
from tests.oracles.torch_blocks import GPT, ConvBlock, GPTBlock, MixerBlock, PreActivationBlock

IMAGES, TOKENS = (24, 8, 6, 6), (24, 6, 16)
WRAP, SKIP = {"wrap": True, "gamma": 0.9}, {"skip_weight": "gamma"}
CASES = {
    "convolutions": (ConvBlock, IMAGES, "train", WRAP),
    "convolutions, attributes": (PreActivationBlock, IMAGES, "train", SKIP | {"branch_weight": "xi", "gamma": 0.8}),
    "convolutions, last layer": (PreActivationBlock, IMAGES, "train", SKIP | {"gamma": 0.8}),
    "convolutions, skip": (PreActivationBlock, IMAGES, "train", SKIP | {"unknown": "gamma", "xi": 0.5}),
    "mixer": (MixerBlock, TOKENS, "eval", WRAP),
    "gpt": (GPTBlock, TOKENS, "eval", WRAP),
}


class Chain(nn.Module):
    """Blocks one after the other, whatever they return."""

    def __init__(self, *blocks):
        super().__init__()
        self.h = nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.h:
            x = first(block(x))
        return x

    def chis(self, x, seed):
        found = []
        for block in self.h:
            found.append(chi_of_block(block, x, seed=seed))
            with torch.no_grad():
                x = first(block(x))
        return found


def streams(shape, seed):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", CASES)
def test_chi_of_a_block_is_1_on_new_inputs(name):
    build, shape, mode, how = CASES[name]
    torch.manual_seed(2)
    model = Chain(build(), build()).double().train(mode == "train")
    fresh = streams(shape, 11)
    before = model.chis(fresh, 0)
    report = st.tune_(model, streams(shape, 10), "h.*", mode=mode, probes=8, progress=False, **how)
    after = model.chis(fresh, 1)
    for (untuned, spread), (chi, error), part in zip(before, after, report.parts, strict=True):
        assert abs(untuned - 1) > 5 * spread
        assert abs(chi - 1) < 3 * math.hypot(error, part.chi_tuned.error)
        assert error < 0.05
        assert abs(part.chi_after - 1) < 3 * math.hypot(part.chi_after.error, part.chi_tuned.error)


def spans(model, inputs, modules, mode):
    """How far kernels, and gradients, are apart over the blocks: the largest over the smallest."""
    places = st.measure(model, inputs, modules, mode=mode, probes=4, exact=False, progress=False).places
    rows = [[float(getattr(place, name)) for place in places] for name in ("kernel", "apjn_forward", "apjn_backward")]
    return [max(row) / min(row) for row in rows]


def stack_of(build):
    return lambda: nn.Sequential(*[build() for _ in range(20)])


def gpt():
    return GPT(20, gain=1.4)


LARGE = {"wrap": True, "gamma": 0.98}
STACKS = {
    "convolutions": (stack_of(ConvBlock), None, None, "train", {"wrap": True, "gamma": 0.97, "target": "apjn"}),
    "convolutions, attributes": (
        *(stack_of(PreActivationBlock), None, None, "train"),
        SKIP | {"branch_weight": "xi", "gamma": 0.98},
    ),
    "mixer": (stack_of(lambda: MixerBlock(gain=1.4)), None, None, "eval", LARGE),
    "gpt": (gpt, "h.*", "h.*", "eval", LARGE),
    "gpt, branches": (gpt, ["h.*.attn", "h.*.mlp"], "h.*", "eval", {"growth": 1.7}),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.exhaustive) if n != "mixer" else n for n in STACKS])
def test_twenty_blocks_keep_kernel_and_gradient_within_a_factor_of_2(name):
    build, blocks, measured, mode, how = STACKS[name]
    torch.manual_seed(1)
    model, batch = build(), {"c": (8, 8, 8, 8), "m": (16, 6, 16)}
    inputs, fresh = (
        torch.randint(0, 50, (16, 12)) if name.startswith("gpt") else torch.randn(batch[name[0]]) for _ in range(2)
    )
    assert all(span > 3 for span in spans(model, fresh, measured, mode))
    report = st.tune_(model, inputs, blocks, mode=mode, probes=8, progress=False, **how)
    assert all(span < 2 for span in spans(report.model, fresh, measured, mode))


def test_the_gpt_2_of_transformers():
    torch.manual_seed(0)
    shape = {"n_layer": 3, "n_head": 2, "n_embd": 32, "vocab_size": 60, "n_positions": 16, "initializer_range": 0.2}
    model = transformers.GPT2Model(transformers.GPT2Config(**shape)).eval()
    ids = {"input_ids": torch.randint(0, 60, (16, 12))}
    report = st.tune_(model, ids, ["h.*.attn", "h.*.mlp"], growth=1.5, probes=8, progress=False)
    assert [part.scaled for part in report.parts[:2]] == ["h.0.attn.c_proj", "h.0.mlp.c_proj"]
    for part in report.parts:
        error = math.hypot(part.chi_after.error, part.chi_tuned.error)
        assert abs(part.chi_after - 1.5 ** (1 / 6)) < 3.5 * error
        assert abs(part.chi_before - 1.5 ** (1 / 6)) > 5 * error
