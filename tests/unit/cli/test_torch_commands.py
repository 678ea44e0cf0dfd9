"""``symres torch measure`` and ``gain``: tables, JSON, bad input, and files that are written all or not at all."""

import json
import math
import sys

import pandas as pd
import pytest

from symres.cli import torch_commands
from tests.command_line import process, run

MODEL = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(8, 8)

    def forward(self, x):
        return x + self.dense(torch.tanh(x))

def net():
    return nn.Sequential(nn.Linear(4, 8), *[Block() for _ in range(6)])

def words():
    return nn.Sequential(nn.Embedding(5, 8), *[Block() for _ in range(6)])

def ids():
    return torch.arange(6).reshape(2, 3) % 5

def number():
    return 3

def wide(width):
    return nn.Linear(4, width)

def needy():
    import a_package_that_nobody_has

def faulty():
    raise KeyError("no such\\n  configuration")

ready = nn.Linear(4, 4)
"""


@pytest.fixture
def models(tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(MODEL)
    (tmp_path / "wrong_models.py").write_text("def net(:\n")
    (tmp_path / "broken_models.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_models", raising=False)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "own" not in p])
    return tmp_path


def test_table_and_files(capsys, models):
    words = ("torch", "measure", "own_models:net", "--inputs", "3,4", "--seeds", "4", "--probes", "2", "--out", "found")
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert "input of 1" in out and "4 networks, 3 inputs, eval mode" in out and "signals.png" in out
    assert sorted(path.name for path in (models / "found").iterdir()) == ["signals.csv", "signals.json", "signals.png"]
    frame = pd.read_csv(models / "found" / "signals.csv")
    record = json.loads((models / "found" / "signals.json").read_text())
    assert list(frame["place"]) == ["input of 1", *"123456"] == [row["place"] for row in record["places"]]
    assert record["networks"] == 4 and (frame["kernel_error"] > 0).all()
    assert (models / "found" / "signals.png").read_bytes()[:4] == b"\x89PNG"


def test_inputs_from_a_function_and_chosen_blocks(capsys, models):
    words = ("torch", "measure", "own_models:words", "--inputs", "own_models:ids", "--blocks", "2", "--blocks", "5.*")
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    assert [row.split()[0] for row in out.splitlines()[1:3]] == ["2", "5.dense"]
    assert "from 2 to the place" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("own_models:net", "--inputs", "3,5"), "mat1 and mat2"),
        (("own_models:net", "--inputs", "3,4", "--blocks", "9.x"), "'9.x'"),
        (("own_models:nothing", "--inputs", "3,4"), "no function nothing"),
        (("nowhere:net", "--inputs", "3,4"), "nowhere"),
        (("own_models", "--inputs", "3,4"), "write package.module:function"),
        (("own_models:number", "--inputs", "3,4"), "returned an object of the type int"),
        (("own_models:net", "--inputs", "own_models:number"), "type int"),
        (("own_models:net", "--inputs", "0,4"), "this shape is empty"),
        (("own_models:net", "--inputs", "3,4", "--mode", "trial"), "unknown mode"),
        (("own_models:net", "--inputs", "3,4", "--seeds", "0"), "seeds"),
        (("own_models:net",), "--inputs"),
        (("own_models:wide", "--inputs", "3,4"), "TypeError: wide() missing 1 required positional argument"),
        (("own_models:wide", "--inputs", "3,4"), "name a function that runs without arguments"),
        (("own_models:needy", "--inputs", "3,4"), "ModuleNotFoundError: No module named 'a_package_that_nobody_has'"),
        (("own_models:faulty", "--inputs", "3,4"), "calling it raised KeyError"),
        (("own_models:net", "--inputs", "own_models:faulty"), "the inputs 'own_models:faulty': calling it raised"),
        (("own_models:ready", "--inputs", "3,4"), "it is a model already"),
        (("wrong_models:net", "--inputs", "3,4"), "importing wrong_models raised SyntaxError"),
        (("broken_models:net", "--inputs", "3,4"), "importing broken_models raised ZeroDivisionError"),
    ],
)
def test_bad_requests_write_nothing(capsys, models, words, said):
    code, out, err = run(capsys, "torch", "measure", *words, "--out", "found")
    assert code == 2 and out == "" and said in err and err.count("\n") == 1
    assert not (models / "found").exists()


def test_help_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; from symres.cli import main; main(['torch', '--help'])"
    import subprocess

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.returncode == 0 and "measure" in shown.stdout
    assert process("torch").returncode == 0


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
    monkeypatch.setattr(torch_commands, "find_spec", lambda name: None)
    code, out, err = run(capsys, "torch", "gain", "gelu")
    assert code == 2 and out == "" and "install it: pip install 'symres[torch]'" in err
    assert run(capsys, "torch")[0] == 0
