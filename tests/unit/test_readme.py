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
def test_the_examples_run(code):
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


def test_the_two_commands_are_marked():
    assert len(blocks("sh run")) == 1
    assert len(blocks("sh test")) == 1
    assert "symres derive gelu" in blocks("sh run")[0]
    assert "python -m pytest" in blocks("sh test")[0]
