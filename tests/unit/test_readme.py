"""What the README says, happens."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[-1][:40])
def test_the_examples_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one writes a file
    exec(compile(code, "README.md", "exec"), {})


def test_the_page_shown_is_the_page_printed():
    (shown,) = blocks("console")
    command, *lines = shown.rstrip("\n").splitlines()
    arguments = shlex.split(command.removeprefix("$ symres "))
    code = "import sys; from symres.cli import main; main()"
    printed = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "PATH": ""},
    ).stdout
    assert printed.rstrip("\n").splitlines() == lines


def test_the_shown_latex_is_the_latex_printed():
    import symres as sr

    (shown,) = re.findall(r'sr\.expect\("z\*tanh\(z\)"\)\.latex\(\)  # (.*)', README)
    assert sr.expect("z*tanh(z)").latex() == shown


def test_what_is_said_to_be_refused_is_refused():
    import sympy as sp

    import symres as sr

    for forward in (sr.Dense(sp.tanh(sr.z)), sr.z + sr.activation("tanh")(sr.z)):
        with pytest.raises(sr.UnsupportedLayer):
            sr.Layer(forward)


def test_formulas_are_explained_with_all_their_functions():
    from symres.activations.formula_parser import PARSED_FUNCTIONS, parse

    (told,) = re.findall(r"^A formula is made of .*$", README, re.MULTILINE)
    assert set(PARSED_FUNCTIONS) <= set(re.findall(r"\w+", told))
    (example,) = (block for block in blocks("sh") if "where(" in block)
    words = shlex.split(example)
    parse(words[2], parameters={words[4].partition("=")[0]: 1})


def test_every_place_that_is_named_exists():
    table = README.split("## Where everything lives")[1]
    for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        for place in re.findall(r"`([^`]+)`", cell):
            assert any((ROOT / folder / place).exists() for folder in ("", "symres")), place


def test_abbreviations_are_spelled_out():
    assert "The Principles of Deep Learning Theory*, arXiv:2106.10165" in README


def test_the_two_commands_are_marked():
    assert len(blocks("sh run")) == 1
    assert len(blocks("sh test")) == 1
    assert "symres derive gelu" in blocks("sh run")[0]
    assert "python -m pytest" in blocks("sh test")[0]
