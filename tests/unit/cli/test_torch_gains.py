"""``symres torch gain``: the table, JSON, and bad input."""

import json
import math

from symres.cli import torch_gains
from tests.command_line import run


def test_all_conventions_of_an_activation(capsys):
    code, out, err = run(capsys, "torch", "gain", "tanh")
    assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if line[:1].strip()]  # reasons are indented
    rows = {words[0]: words[1:] for words in map(str.split, lines)}
    assert rows["critical"] == ["1", "1", "0", "0", "0"]
    assert rows["forward"] == ["1.59253742", "2.53617543", "0", "1", "0.39429449"]
    assert rows["backward"] == ["1.46741359", "2.15330265", "0", "1", "0.464402902"]
    assert rows["torch"] == ["1.66666667", "2.77777778", "0", "1", "0.36"]
    assert "It is none of the gains that symres derives" in " ".join(out.split())
    assert all(len(row) <= 80 for row in out.splitlines())


def test_one_convention_and_settings(capsys):
    code, out, _ = run(capsys, "torch", "gain", "leaky_relu", "--set", "slope=1/2", "--convention", "forward")
    assert code == 0 and f"{math.sqrt(8 / 5):.9g}" in out and "backward" not in out


def test_none_is_said_with_its_reason(capsys):
    code, out, _ = run(capsys, "torch", "gain", "sign")
    assert code == 0
    assert " ".join(out.split()).count("none <phi'(z)^2> at K = 1 is infinite") == 1
    assert "critical  none" in out


def test_json(capsys):
    code, out, _ = run(capsys, "torch", "gain", "sign", "--json")
    found = json.loads(out)
    assert code == 0 and found["activation"] == "sign"
    assert found["gains"]["forward"]["gain"] == 1 and found["gains"]["forward"]["chi_perp"] is None
    assert "infinite" in found["gains"]["backward"]["none"]


def test_without_pytorch(capsys, monkeypatch):
    monkeypatch.setattr(torch_gains, "find_spec", lambda name: None)
    code, out, err = run(capsys, "torch", "gain", "gelu")
    assert code == 2 and out == "" and "install it: pip install 'symres[torch]'" in err
    assert run(capsys, "torch")[0] == 0
