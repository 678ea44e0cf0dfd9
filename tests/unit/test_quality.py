"""The linter and the type checker are tests, so that one command is the whole guard; so is how sentences are worded."""

import ast
import re
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


# what leaves a stranger guessing: "it is no number", "there is no such layer; known are ...", "nothing that was tried"
RIDDLES = re.compile(
    r"(?<!there )\b(?:is|are) no (?!longer|more)\w|\bno such\b|\bknown are\b|\b(?:is|are) none\b(?! of)"
    r'|\bnothing that\b|"nothing"|"(?:such|those)\b'
)


def _sentences(source):
    """The texts of a module that are not docstrings, in quotes, with their lines."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = (node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [(text.lineno, f'"{text.value}"') for text in texts if id(text) not in docstrings]


def test_no_sentence_is_a_riddle():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / "symres").rglob("*.py"))
        if RIDDLES.search(source := path.read_text(encoding="utf-8"))  # docstrings may say so; parsing all takes long
        for line, text in _sentences(source)
        if RIDDLES.search(text)
    ]
    assert not found, "\n".join(found)
