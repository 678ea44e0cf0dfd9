"""Every command prints a JSON document, and the documentation names each of its keys."""

import json
import re
from pathlib import Path

import pytest

from tests.command_line import page

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text()
SECTIONS = {
    title: set(re.findall(r"`([^`]+)`", body))
    for title, body in re.findall(r"^## `symres ([a-z ]+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
NAMED = {  # keys of these are names that people chose, or numbers
    *("formulas", "settings", "phases", "axes", "gains", "nu", "steps", "parameters", "quantities")
}
PARTS = {"text", "latex", "value", "decimal", "format"}  # of formulas and of all documents, told once in the beginning
COMMANDS = {
    "derive": ["derive", "erf"],
    "check": ["check", "relu", "--against", "quadrature", "--quantity", "chi_perp"],
    "export": ["export", "relu", "--quantity", "chi_perp"],
    "plot": ["plot", "erf", "--points", "3"],
    "compare": ["compare", "relu"],
    "list": ["list"],
    "list quantities": ["list", "quantities"],
    "list averages": ["list", "averages", "relu"],
    "list criticality": ["list", "criticality", "erf"],
    "show": ["show", "elu"],
    "cache": ["cache"],
    "torch gain": ["torch", "gain", "relu"],
    "torch measure": ["torch", "measure", "tests.unit.cli.test_json_documents:network", "--inputs", "4,8"],
}


def network():
    from torch import nn

    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def keys(value, inside=""):
    """All keys of a document but those that are names of its subjects."""
    if isinstance(value, dict):
        for key, part in value.items():
            if inside not in NAMED:
                yield key
            yield from keys(part, key if inside not in NAMED else "")
    elif isinstance(value, list):
        for part in value:
            yield from keys(part)


@pytest.mark.parametrize("command", COMMANDS)
def test_keys_are_documented(command, capsys, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3]))
    words = COMMANDS[command]
    if command == "plot":  # a file beside the document
        words = [*words, "--out", str(tmp_path / "a.png")]
    document = json.loads(page(capsys, *words, "--json"))
    assert document["format"] == 1
    section = SECTIONS[command if command.startswith("torch") else command.split()[0]] | SECTIONS["check"]
    if command.startswith("list") or command == "show":
        section |= SECTIONS["derive"] | SECTIONS["list"]
    coordinates = {"C_W", "C_b"} if command == "plot" else set()
    columns = {key.removesuffix("_error") for key in set(keys(document)) - PARTS - coordinates}
    assert columns <= section, sorted(columns - section)
