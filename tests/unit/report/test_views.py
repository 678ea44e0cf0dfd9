"""The page and the summary of a theory."""

import json
import math
import pickle
import re
import subprocess
import sys

import pytest
import sympy as sp

import symres as sr
from tests.command_line import page
from tests.shared import derived


@pytest.mark.exhaustive
@pytest.mark.parametrize(("phi", "layer"), [("gelu", "residual"), ("silu", "mlp"), ("tanh", "pre_ln")])
def test_the_page_is_that_of_the_command_line_without_its_check(capsys, phi, layer):
    printed = page(capsys, "derive", phi, "--layer", layer)
    unchecked = re.sub(r"\nCheck ─+\n.*?\n\n", "\n", printed, flags=re.DOTALL)
    assert unchecked != printed
    assert derived(sr.architectures[layer](phi)).page() + "\n" == unchecked


@pytest.mark.exhaustive
def test_a_page_has_the_width_that_was_asked_for():
    lines = derived(sr.mlp("erf")).page(60).splitlines()
    assert {len(text) for text in lines if text.endswith(("═", "─"))} == {60}
    assert max(len(text) for text in lines if "torch" not in text) == 60
    assert lines[-1] == "  this page: symres derive erf --layer mlp"
    with pytest.raises(sr.DeclarationError, match="width"):
        derived(sr.mlp("erf")).page(10)


@pytest.mark.exhaustive
def test_the_page_of_a_layer_without_a_name_has_no_command():
    theory = derived(sr.Layer(sr.Dense(3 * sr.activation("erf")(sr.z)), "mlp"))
    assert "symres derive" not in theory.page()
    assert "Dense(3φ(z))" in theory.page()


@pytest.mark.exhaustive
def test_the_page_knows_the_fixed_points_of_a_layer_with_numbers():
    assert "Fixed points" in derived(sr.mlp("erf")).subs(C_W=2, C_b="1/10").page()


def test_summaries_are_plain():
    summary = derived(sr.residual("gelu")).summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    point = summary["critical_points"][0]
    assert point["K"] == (3 + math.sqrt(17)) / 2
    assert abs(point["C_W"] - 1.98305825743755) < 1e-13
    assert summary["numbers_at"] == "gamma = 0"
    assert summary["universality_class"] == "half-stable"
    assert summary["quantities"]["chi_perp"] == "EXACT"


@pytest.mark.parametrize("layer", [sr.mlp("step"), sr.mlp("relu"), sr.mlp("leaky_relu"), sr.residual("erf", gamma=1)])
def test_summaries_of_all_kinds_are_json(layer):
    summary = derived(layer).summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert_plain(summary)


def assert_plain(value):
    assert type(value) in (dict, list, str, float, bool, type(None))
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        assert_plain(part)


def test_a_summary_keeps_other_parameters_as_text():
    summary = derived(sr.mlp("leaky_relu")).summary()
    slope = sp.Symbol("slope", real=True)
    assert sp.sympify(summary["critical_points"][0]["C_W"], {"slope": slope}) == 2 / (1 + slope**2)
    assert summary["critical_points"][0]["K"] == "any"


def test_views_are_found_wherever_a_theory_comes_from(tmp_path):
    """A theory read back in a process that imports nothing but what the file names."""
    (tmp_path / "theory.pickle").write_bytes(pickle.dumps(derived(sr.mlp("relu"))))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).summary()['universality_class'])"
    command = [sys.executable, "-c", code, str(tmp_path / "theory.pickle")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "scale-invariant\n"


def test_views_are_loaded_when_they_are_asked_for():
    code = "import sys, symres; symres.derive('relu'); print('symres.report.views' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_pages_of_layers_without_an_activation():
    page_ = derived(sr.Layer(sr.gamma * sr.z)).page()
    assert page_.startswith("the layer gamma*z\n") and "K'    = γ²·K\n" in page_
    assert "No advice: the layer has no Dense, so that there are no weights to draw." in page_
    assert "No advice" not in derived(sr.Layer(sr.Dense(sr.z))).page()
    assert derived(sr.Layer(sr.LayerNorm(sr.z))).page().startswith("the layer LayerNorm(z)\n")
