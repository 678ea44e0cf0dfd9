"""The linter and the type checker are tests, so that one command is the whole guard."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

COMMANDS = {
    "ruff": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_code_is_clean(name):
    result = subprocess.run([sys.executable, *COMMANDS[name]], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
