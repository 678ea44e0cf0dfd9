"""The gallery, the experiment on digits and the sweep over model families: what they compute, and that they run."""

import math
import re
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from derivations import tiny_language_models
from derivations import trained_initialisation as experiment
from derivations.gallery.__main__ import main
from derivations.gallery.pictures import EXAMPLES
from derivations.model_sweep import own_process, sweep_table
from derivations.model_sweep.families import Family, all_families
from derivations.model_sweep.family_run import STAGES, stages_of
from derivations.model_sweep.hook_signals import hook_signals, ratio_of_ends

GALLERY = Path(__file__).parents[2] / "derivations" / "gallery"
TOPICS = ("init", "training", "residual", "kernels", "phases", "positions", "maths", "code")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_makes_a_picture(name, monkeypatch, tmp_path):
    """Its own asserts compare its main number with something that shares no code with symres."""
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    paths = main([name])
    assert paths[0].name == f"{name}.png" and all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    pyplot.close("all")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_answers_a_question(name):
    text = (GALLERY / f"{name}.py").read_text()
    title, question = re.match(r'r?"""\n(.+)\n=+\n\n\*((?:.|\n)+?)\*\n', text).groups()
    assert question.rstrip().endswith("?") and len(title) <= 72
    assert "What it shows" in text
    assert re.search(r"^ *assert ", text, re.MULTILINE) or "testing.assert" in text
    assert name.split("_")[1] in TOPICS


def test_examples_are_listed_with_their_questions(capsys):
    assert main([]) == []
    lines = capsys.readouterr().out.splitlines()
    assert lines[::2] == EXAMPLES and all(line.rstrip().endswith("?") for line in lines[1::2])


def test_an_example_without_its_library_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("derivations.gallery.__main__.pictures", lambda name: __import__("no_library_of_this_name"))
    with pytest.raises(SystemExit) as stop:
        main([EXAMPLES[0]])
    assert stop.value.code == 2
    assert 'needs no_library_of_this_name: pip install ".[docs]"' in capsys.readouterr().err


def test_there_are_examples_for_everybody():
    titles = [(GALLERY / f"{name}.py").read_text().splitlines()[1] for name in EXAMPLES]
    assert len(EXAMPLES) >= 25 and len(set(titles)) == len(titles)
    assert {name.split("_")[1] for name in EXAMPLES} == set(TOPICS)


@pytest.mark.parametrize("adam", [False, True])
def test_networks_that_run_together_train_like_single_ones(adam):
    sizes = experiment.Sizes(depth=3, width=8)
    x, y, _, _ = experiment.digits()
    x, y = x[:16], y[:16]
    torch.manual_seed(0)
    nets = [experiment.network(nn.Tanh, 64, sizes) for _ in range(2)]
    rates = (0.1, 0.01)
    stack = experiment.Stack(nets, nn.Tanh(), rates, adam)
    for _ in range(3):
        stack.step(x, y)
    found = stack.losses(x, y).detach().view(2, 2)
    for column, net in enumerate(nets):
        for row, rate in enumerate(rates):
            single = experiment.network(nn.Tanh, 64, sizes)
            single.load_state_dict(net.state_dict())
            made = torch.optim.Adam if adam else torch.optim.SGD
            optimiser = made(single.parameters(), lr=rate, **({} if adam else {"momentum": experiment.MOMENTUM}))
            for _ in range(3):
                optimiser.zero_grad()
                nn.functional.cross_entropy(single(x), y).backward()
                optimiser.step()
            expected = nn.functional.cross_entropy(single(x), y).detach()
            assert float(found[row, column]) == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.exhaustive
def test_a_small_run_has_a_row_for_each_initialisation_and_a_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "ACTIVATIONS", {"tanh": nn.Tanh, "erf": experiment.Erf})
    lines = experiment.main(tmp_path / "figure.png", experiment.QUICK)
    assert len(lines) == 2 + 2 * len(experiment.SCHEMES)
    assert all(any(scheme in line for line in lines) for scheme in experiment.SCHEMES)
    assert (tmp_path / "figure.png").stat().st_size > 1000


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
    done = {"outcome": "done", "seconds": 1.0, "said": "", "activations": 2.0, "gradients": 0.5}

    def row(**stages):
        init = {"outcome": "done", "seconds": 1.0, "said": "set", "changed": 3, "left": 0, "notes": ["set"]}
        return {"name": "a", "library": "torch", "stages": {"before": done, "init": init, "after": done, **stages}}

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
