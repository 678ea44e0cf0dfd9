"""The sweep over model families: hooks against a network computed by hand, tables, families of PyTorch alone."""

import math
import time

import pytest
import torch
from torch import nn

from derivations import tiny_language_models
from derivations.model_sweep import own_process, sweep_table
from derivations.model_sweep.families import Family, all_families
from derivations.model_sweep.family_run import STAGES, stages_of
from derivations.model_sweep.hook_signals import hook_signals, ratio_of_ends


def test_hooks_against_a_network_computed_by_hand():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[1.0, 2.0], [0.0, -1.0]]))
        model[2].weight.copy_(torch.tensor([[3.0, 5.0]]))
    inputs = torch.tensor([[1.0, 1.0], [2.0, -1.0]])
    found = hook_signals(model, inputs)
    torch.manual_seed(0)
    signs = torch.randn(2, 1)[:, 0].tolist()
    # hidden (3, -1) and (0, 1), outputs 9 and 5; where ReLU is 0, or at 0, no gradient passes
    assert found.activations == pytest.approx([math.sqrt(11 / 4), math.sqrt(106 / 2)])
    passed = [3 * signs[0], 5 * signs[1]]
    assert found.gradients == pytest.approx([math.hypot(*passed), math.hypot(*signs)], rel=1e-6)
    assert found.activation_ratio == 1  # the output is left out
    assert all(parameter.grad is None for parameter in model.parameters())


def test_ratios_are_of_the_last_and_the_first_tenth():
    sizes = (2.0, 8.0, *[100.0] * 17, 0.0, 16.0, 1.0)  # 21 that are not 0
    assert ratio_of_ends(sizes) == pytest.approx(1.0)
    assert math.isnan(ratio_of_ends((0.0, 0.0)))
    assert math.isnan(ratio_of_ends((1.0, math.inf, 1.0)))


def test_a_perceptron_passes_all_stages():
    family = Family("perceptron", "torch", lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), _inputs)
    told = list(stages_of(family))
    assert [stage["stage"] for stage in told] == list(STAGES)
    stages = {stage.pop("stage"): stage for stage in told}
    assert {stage["outcome"] for stage in stages.values()} == {"done"}
    assert (stages["init"]["changed"], stages["init"]["left"]) == (4, 0)
    assert not sweep_table.defects({"name": "perceptron", "stages": stages})


def test_what_a_model_raises_is_told_and_ends_the_run():
    class Wrong(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    told = list(stages_of(Family("wrong", "torch", Wrong, _inputs)))
    assert [(stage["stage"], stage["outcome"]) for stage in told] == [("build", "done"), ("before", "exception")]
    assert told[-1]["said"] == "ValueError: no"


def test_defects_are_exceptions_silence_slowness_and_worse_signals():
    def row(**stages):
        signals = {"outcome": "done", "seconds": 1.0, "said": "", "activations": 2.0, "gradients": 0.5}
        init = {"outcome": "done", "seconds": 1.0, "said": "set", "changed": 3, "left": 0, "notes": ["set"]}
        return {
            "name": "a",
            "library": "torch",
            "stages": {"before": signals, "init": init, "after": signals, **stages},
        }

    done = {"outcome": "done", "seconds": 1.0, "said": "", "activations": 2.0, "gradients": 0.5}
    assert sweep_table.defects(row()) == []
    assert sweep_table.defects(row(after={**done, "gradients": 0.04})) == ["gradients are worse afterwards"]
    assert sweep_table.defects(row(after={**done, "activations": None})) == ["activations are worse afterwards"]
    silent = {"outcome": "done", "seconds": 200.0, "said": "", "changed": 0, "left": 9, "notes": []}
    assert sweep_table.defects(row(init=silent)) == ["init takes 200 s", "init: nothing set, nothing said"]
    raised = {"outcome": "exception", "seconds": 1.0, "said": "KeyError: 1"}
    assert sweep_table.defects(row(read=raised)) == ["read: KeyError: 1"]
    assert "| a | torch | - | 1.0 exception | 1.0 | - | 3 / 0 | 2 → 2 | 0.5 → 0.5 | **read: KeyError: 1** |" in (
        sweep_table.markdown([row(read=raised)])
    )


def test_families_have_names_of_their_own_and_those_of_pytorch_alone_run():
    families = all_families()
    assert len(families) > 40
    for family in families.values():
        if family.library == "torch":
            torch.manual_seed(0)
            assert hook_signals(family.build(), family.inputs()).activations, family.name


@pytest.mark.exhaustive  # the process loads whole libraries
def test_a_process_that_takes_too_long_is_ended():
    start = time.monotonic()
    row = own_process.run("SIREN", 0.01)
    assert time.monotonic() - start < 60
    assert row["stages"]["build"]["said"] == "killed after 0 s"


@pytest.mark.exhaustive
def test_a_small_training_has_a_row_for_each_model_and_scheme(monkeypatch):
    monkeypatch.setattr(tiny_language_models, "RATES", (1e-3, 1e-2))
    rows = list(tiny_language_models.results(tiny_language_models.QUICK))
    lines = tiny_language_models.table(rows).splitlines()
    assert len(lines) == 2 + 4
    assert all(math.isfinite(loss) for row in rows for loss in row.losses)


def _inputs():
    return torch.randn(8, 4)
