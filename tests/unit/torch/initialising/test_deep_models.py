"""Deep models after st.init_: kernels and gradients by plain hooks, against theory and against default weights."""

import pytest
import torch
import transformers
from torch import nn

import symres as sr
import symres.torch as st
from tests.oracles.hooked_streams import hooked_streams
from tests.oracles.torch_blocks import mlp

pytestmark = pytest.mark.exhaustive


def averaged(build, names, inputs, seeds, report=None):
    """Kernels and gradients, means over networks; with the report's advice, or PyTorch's default weights."""
    kernels, gradients = torch.zeros(2, len(names), dtype=torch.float64)
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = build()
        if report is not None:
            st.init_(model, inputs=inputs[0], seed=seed, like=report)
        found = hooked_streams(model.double(), names, inputs, draws=2, seed=seed)
        kernels += torch.tensor(found[0], dtype=torch.float64) / seeds
        gradients += torch.tensor(found[1], dtype=torch.float64) / seeds
    return kernels, gradients


DEPTH, WIDTH, SEEDS = 100, 512, 5


@pytest.fixture(scope="module")
def report(vectors):
    return st.init_(mlp(DEPTH, WIDTH, nn.Mish), inputs=vectors.double())


class TestHundredLayersOfMish:
    """The gradient of the output: g_l = C_W <phi'^2> J^{l,L}, with the C_W of the readout."""

    def theory(self, report):
        advice = report.advice[0][1]
        assert advice.holds and advice.depth == DEPTH - 1
        kernels, jacobians = (
            torch.tensor(v, dtype=torch.float64) for v in (advice.theory.kernels, advice.theory.jacobians)
        )
        readout = report[f"{2 * DEPTH}.weight"].variance
        last = float(sr.derive(sr.mlp("mish")).chi_perp.evalf(K=float(kernels[-1]), C_W=readout))
        return kernels, last * jacobians[-1] / jacobians

    def test_both_stay_within_a_factor_of_two_of_the_theory(self, report, vectors):
        names = [str(2 * k) for k in range(DEPTH)]
        kernels, gradients = averaged(lambda: mlp(DEPTH, WIDTH, nn.Mish), names, (vectors.double(),), SEEDS, report)
        for found, wanted in zip((kernels, gradients), self.theory(report), strict=True):
            ratio = found / wanted
            assert 0.5 < float(ratio.min()) and float(ratio.max()) < 2
        assert float(kernels.max() / kernels.min()) < 5 and float(gradients.max() / gradients.min()) < 5

    def test_under_the_default_the_signal_is_lost(self, report, vectors):
        """The default's kernels end as those of its biases, whatever the input: small differences are the signal."""
        torch.manual_seed(0)
        near = torch.cat([vectors, vectors + 1e-3 * torch.randn_like(vectors)]).double()
        default, critical = (mlp(DEPTH, WIDTH, nn.Mish) for _ in range(2))
        st.init_(critical, inputs=vectors.double(), like=report)
        for model, kept in ((default.double(), False), (critical.double(), True)):
            first, last = (part(near).detach() for part in (model[:1], model[: 2 * DEPTH - 1]))
            before, after = (u.view(2, len(vectors), -1).diff(dim=0).square().mean() for u in (first, last))
            change = float(after / before)
            assert (1 / 5 < change < 5) if kept else change < 1e-3


SIZES = {"vocab_size": 101, "bos_token_id": 1, "eos_token_id": 2}
WIDE = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
SHORT = {"n_layer": 4, "n_embd": 128, "n_head": 4, "n_positions": 32, "tie_word_embeddings": False}
TRANSFORMERS = {  # by the list of their blocks
    "transformer.h": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**SHORT, **SIZES)),
    "model.layers": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**WIDE, **SIZES)),
    "encoder.layer": lambda: transformers.BertModel(transformers.BertConfig(vocab_size=101, **WIDE)),
}


@pytest.mark.parametrize("blocks", TRANSFORMERS)
def test_blocks_of_transformers_keep_kernel_and_gradient(blocks):
    torch.manual_seed(0)
    model, blocks = TRANSFORMERS[blocks](), [f"{blocks}.{k}" for k in range(4)]
    words = torch.randint(3, 101, (4, 12), generator=torch.Generator().manual_seed(0))
    report = st.init_(model, inputs=words)
    kernels, gradients = hooked_streams(model.double().eval(), blocks, (words,), draws=4)
    assert max(kernels) < 5 * min(kernels) and max(gradients) < 5 * min(gradients)
    assert report.check.holds
    assert any("attn" in note or "attention" in note for note in report.notes)
    weights = {setting.module for setting in report.settings if setting.kind == "weight"}
    assert sum(any(module.startswith(f"{block}.") for module in weights) for block in blocks) == 4
