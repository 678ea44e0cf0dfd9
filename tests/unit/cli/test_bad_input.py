"""Bad input: one clear line on stderr, exit code 2, no traceback, nothing printed, nothing written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from symres import cli
from symres.theory.theory import Theory

ROOT = Path(__file__).parents[3]

FORMULAS = {
    "gelo": "gelu",  # the nearest name
    "Gelu": "gelu",
    "tanhh": "tanh",
    "z*tanh(z": "column 7",  # the place
    "z**": "column",
    "z + + * z": "column",
    "__import__('os').system('true')": "column 1",
    "z.__class__": "column 2",
    "lambda z: z": "column 1",
    "a*z": "unknown name 'a'",
    "residual": "residual is a layer",
    "3": "does not contain z",
    "pi/2": "does not contain z",
    "exp(z^2)": "no Gaussian average",
    "exp(exp(z))": "no Gaussian average",
    "1/z": "z = 0",
    "log(z)": "not real",
    "sqrt(z)": "not real",
    "tan(z)": "not finite",
    "z^1000000": "column",
    "2^(2^(2^(2^(2^z))))": "no Gaussian average",
    "(" * 10000 + "z" + ")" * 10000: "characters",
    "(" * 400 + "z" + ")" * 400: "nested",
    "": "empty",
    "   ": "empty",
    "z\n*tanh(": "column",
    "\x1b[31mz": "unexpected character",
    "ｚ": "unexpected character",
    "tanh(π*z)": "'π' (U+03C0 GREEK SMALL LETTER PI) at column 6: tanh(>>π<<*z); write pi",
    "z;z": "unexpected character",
    "gelu(z, 1, 2)": "gelu",
    "max(z)": "max",
    "elu(alpha=-1)": "alpha",
}

OPTIONS = {
    "derive gelu --layer residual --set gamma=two": "'two' is not a finite real number",
    "derive gelu --layer residual --set gamma=nan": "not a finite real number",
    "derive gelu --layer residual --set gamma=1/0": "not a finite real number",
    "derive gelu --layer residual --set gamma": "key=value",
    "derive gelu --layer residual --set gamma=": "key=value",
    "derive gelu --layer residual --set =1": "key=value",
    "derive gelu --layer residual --set gamma==1": "key=value",
    "show elu(a*z) --set a=2,alpha=1/2": "repeat the option: --set a=2 --set alpha=1/2",
    "show tanh(z) --set z=1": "z is the preactivation, the variable of the formula, not a parameter",
    "derive tanh(z) --set z=1": "z is the preactivation, the variable of the formula, not a parameter",
    "derive tanh(x) --set x=1": "x is the preactivation, the variable of the formula, not a parameter",
    "derive gelu --layer residual --set gama=1": "gamma",
    "derive gelu --layer residual --set gamma=1 --set gamma=2": "twice",
    "derive gelu --set gamma=1": "no parameter gamma",
    "derive tanh(gamma*z) --layer residual --set gamma=2": "the name gamma is taken",
    "derive tanh(C_W*z) --set C_W=2": "the name C_W is taken",
    "derive tanh(K*z) --set K=2": "the name K is taken",
    "derive tanh(a*z) --set b=2": "unknown name 'a' at column 6: tanh(>>a<<*z); it does not contain b either",
    "derive tanh(a*z) --set gamma=1/2 --layer residual": "tanh(>>a<<*z); use z",
    "derive elu --set alpha=-1": "alpha must be positive",
    "derive gelu --layer resnext": "unknown layer; use mlp, residual",
    "derive gelu --layer residul": "did you mean residual?",
    "derive gelu --jsn": "--json",
    "derive gelu --json --explain": "exclude each other",
    "derive gelu relu": "relu",
    "derive": "ACTIVATION",
    "derive gelu --layer": "--layer",
    "deriv gelu": "derive",
    "gelu": "gelu",
    "list layer": "activations or layers or quantities or averages",
    "list averages gelo": "gelu",
    "list averages residual": "residual is a layer",
    "list averages gelu relu": "relu",
    "list layers mlp": "only the lists of averages and of criticality take a name and --set; leave out mlp",
    "list --set a=1": "take a name and --set; leave out --set",
    "list averages --set a=1": "--set goes with the averages of one activation",
    "list averages gelu --set a=1": "gelu: it has no parameter a",
    "show swish --set a=1": "its parameters are: beta",
    "show gelo": "gelu",
    "export gelu --target fortran": "numpy, torch, latex",
    "export gelu --quantity chi_prep": "did you mean chi_perp",
    "export gelu --quantity g": "did you mean phi_squared? choose from phi_squared, kernel_map, covariance_map",
    "export gelu --quantity K'": "did you mean kernel_map? choose from",
    "export gelu --quantity χ∥": "did you mean chi_parallel? choose from",
    "export gelu --quantity chi_perp --quantity foo": "--quantity foo: unknown quantity",
    "export relu --quantity vertex --quantity kernel_map": "vertex fills a module by itself; export one after",
    "export gelu --quantity foo": "unknown quantity; choose from phi_squared",
    "derive gelu --layer Dense(Jumble(phi(z)))": "or the name of an activation",
    "derive lambda*z": 'sr.activation("...", **{"lambda": ...})',
    "check gelu --against oracle": "quadrature or simulation",
    "check gelu --seed many": "--seed",
    "check gelu --seed -1": "negative",
    "derive tanh(a*z) --positive b": "the formula does not contain it",
    "derive tanh(a*z) --positive tanh": "formulas use this name already",
    "derive tanh(a*z) --positive K": "formulas use this name already",
    "derive tanh(a*z) --positive a --set a=2": "it has a number",
    "derive gelu --tokens 16": "it treats every input by itself; leave out --tokens",
    "check relu --layer residual --tokens 4": "it treats every input by itself",
    "derive z+Dense(relu(z)) --layer residual": "the first argument is a layer already",
    "derive relu --layer residual --gamma 0.5": "--set gamma=NUMBER sets it",
    "check z+Dense(phi(z))": "it contains phi, but no activation is passed for it",
    "list criticality --set a=1": "name it: symres list criticality",
    "list criticality gelo": "gelu",
    "list criticality tanh(a*z)": "unknown name 'a'",
    "list criticality exp(z^2)": "no Gaussian average",
    "compare relu --csv --json": "",
    "compare relu --layer nope": "nope",
    "compare relu --set gamma": "key=value",
    "plot leaky_relu --points 3": "no value was passed for slope; add --set slope=0.5",
    "plot gelo --points 3": "gelu",
    "plot swish": "beta; add --set beta=0.5",
    "plot scale_invariant": "a_minus, a_plus; add --set a_minus=0.5 --set a_plus=0.5",
    "torch gain leaky_relu": "slope has no number; add --set slope=1",
    "torch gain gelo": "did you mean gelu",
    "torch gain gelu --convention crtical": "did you mean critical",
    "torch gain softplus --convention critical": "no C_W and C_b make a kernel critical",
    "torch gain swish": "beta has no number",
    "torch gain relu --set slope=1": "no parameter slope",
    "torch fit gelu": "No such command",
    "-v": "-v",
}
DIAGRAMS = {
    "--out phases.txt": "end it with .pdf, .png or .svg",
    "--out nowhere/phases.png": "there is no folder",
    "--x C_W": "name=low:high",
    "--x C_W=4:0": "no length",
    "--x C_W=a:1": "'a' is not a finite real number",
    "--x C_W=-1:1": "C_W is not negative",
    "--x C_V=0:1": "unknown parameter; known: C_W, C_b",
    "--y C_W=0:1": "both axes are C_W",
    "--points 1": "points",
    "--points x": "points",
    "--points 100000": "--points 100000: 100000^2 values need too much memory; use 4000 or fewer",
}


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_refused(capsys, words, part, code=2):
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    out, err = capsys.readouterr()
    assert stop.value.code == code, err
    assert out == ""
    assert err.endswith("\n")
    (line,) = err.splitlines()
    assert line.startswith("symres: ")
    assert len(line) < 600
    assert "Traceback" not in line
    assert part in line and "by name" not in line  # which is how arguments are given in Python
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.sample(32)
@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f[:24])
@pytest.mark.parametrize("command", ["derive", "show"])
def test_formulas_that_are_refused(capsys, command, formula):
    words = [command, formula] + (["--out", "folder"] if command == "derive" else [])
    assert_refused(capsys, words, FORMULAS[formula])


@pytest.mark.parametrize("line", OPTIONS)
def test_words_that_are_refused(capsys, line):
    assert_refused(capsys, line.split(), OPTIONS[line])


@pytest.mark.parametrize("command", ["derive", "export"])
@pytest.mark.parametrize("place", ["file/below", "/proc/symres", "file/a/b/c"])
def test_places_that_cannot_be_written(capsys, command, place, tmp_path, monkeypatch):
    elsewhere = tmp_path.parent / f"{tmp_path.name}_files"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine")
    assert_refused(capsys, [command, "relu", "--out", str(elsewhere / place)], place.split("/")[-1])
    assert [p.name for p in elsewhere.iterdir()] == ["file"]
    assert (elsewhere / "file").read_text() == "mine"


@pytest.mark.sample(3)
@pytest.mark.parametrize("words", DIAGRAMS)
def test_diagrams_that_are_refused(capsys, words):
    free = ["--set", "C_b=0.1"] if words.startswith("--y") else []
    diagram = ["plot", "erf", "--layer", "residual", "--set", "gamma=1/2", *free, "--points", "3"]
    assert_refused(capsys, [*diagram, *words.split()], DIAGRAMS[words])


@pytest.mark.parametrize("command", ["derive", "export", "plot", "compare"])
@pytest.mark.parametrize("place", ["", "  "])
def test_an_empty_place_is_none(capsys, command, place):
    assert_refused(capsys, [command, "relu", "--out", place], "--out: its value is empty")


def test_export_makes_no_folder(capsys, tmp_path):
    elsewhere = tmp_path.parent / f"{tmp_path.name}_missing"
    assert_refused(capsys, ["export", "relu", "--out", str(elsewhere / "x.py")], "there is no folder")
    assert not elsewhere.exists()


def test_a_header_that_is_not_ours_is_no_place_for_one(capsys, tmp_path, monkeypatch):
    elsewhere = tmp_path.parent / f"{tmp_path.name}_headers"
    elsewhere.mkdir()
    (elsewhere / "own.h").write_text("int somebody(void);\n")
    monkeypatch.setattr(Theory, "quantity", None)  # it is refused before anything is derived
    asked = ["export", "relu", "--quantity", "kernel_map", "--target", "c", "--out", str(elsewhere / "own.c")]
    assert_refused(capsys, asked, "this would overwrite")
    assert [path.name for path in elsewhere.iterdir()] == ["own.h"]
    assert_refused(capsys, ["export", "relu", "--prefix", "mine"], "are called by the name of their module")


def test_a_file_is_no_folder_and_a_folder_no_file(capsys, tmp_path):
    elsewhere = tmp_path.parent / f"{tmp_path.name}_kinds"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine")
    assert_refused(capsys, ["derive", "relu", "--out", str(elsewhere / "file")], "not a folder")
    assert_refused(capsys, ["export", "relu", "--out", str(elsewhere)], "folder")
    assert (elsewhere / "file").read_text() == "mine"


@pytest.mark.sample(2)
@pytest.mark.parametrize("words", [["derive", "exp(z^2)"], ["derive", "gelu", "--bogus"], ["derive", "(" * 10000]])
def test_the_same_in_a_process_of_its_own(words, tmp_path):
    command = [sys.executable, "-c", "from symres.cli import main; main()", *words]
    result = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert result.returncode == 2
    assert result.stdout == b""
    (line,) = result.stderr.decode().splitlines()
    assert line.startswith("symres: ")
    assert list(tmp_path.iterdir()) == []
