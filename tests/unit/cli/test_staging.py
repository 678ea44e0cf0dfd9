"""What the command line writes: whole files, or nothing."""

import json
import os
import re
import runpy
import signal
import stat
import subprocess
import sys
import time

import pytest
import sympy as sp

import symres as sr
from symres.cli import request
from symres.cli.commands import bundle, derive_command
from symres.cli.staging import staged
from symres.core.errors import DeclarationError
from symres.core.symbols import K
from symres.report.latex.document import document
from symres.studies import criticality_summary
from tests.command_line import ROOT, needs_latex, page, run, typeset


@pytest.mark.parametrize("existing", [False, True])
def test_an_interrupt_leaves_nothing(capsys, monkeypatch, tmp_path, existing):
    folder = tmp_path / "out"
    if existing:
        folder.mkdir()
        (folder / "results.json").write_text("old")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(bundle, "export", interrupted)  # after the first files are written
    code, out, err = run(capsys, "derive", "relu", "--out", str(folder))
    assert (code, out, err) == (130, "", "symres: interrupted\n")
    left = [p.name for p in tmp_path.rglob("*")]
    assert left == (["out", "results.json"] if existing else [])
    assert not existing or (folder / "results.json").read_text() == "old"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing(tmp_path, number, code):
    command = [sys.executable, "-c", "from symres.cli import main; main()", "derive", "gelu", "--out", "out"]
    running = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # a shell that started the tests in the background has made them, and their children, deaf to interrupts
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    patience = time.monotonic() + 30
    while not list(tmp_path.iterdir()) and time.monotonic() < patience:  # until the work has begun
        time.sleep(0.02)
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert running.returncode == code
    assert out == b""
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_staging_removes_the_parents_that_it_made(tmp_path):
    with pytest.raises(ZeroDivisionError), staged(tmp_path / "a" / "b" / "c") as path:
        (path / "file").write_text("half")
        assert (tmp_path / "a" / "b").is_dir()
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_staging_refuses_to_replace_a_folder_before_it_moves_anything(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(DeclarationError, match="folder b"), staged(tmp_path) as path:
        for name in "ab":
            (path / name).write_text("new")
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.exhaustive
def test_derive_keeps_links_modes_and_devices(capsys, tmp_path):
    """Each file of a folder is put in its place as a single one is."""
    folder, far = tmp_path / "out", tmp_path / "far.json"
    folder.mkdir()
    (folder / "results.json").symlink_to(far)
    (folder / "derivation.tex").write_text("old")
    (folder / "derivation.tex").chmod(0o600)
    (folder / "relu_numpy.py").symlink_to(os.devnull)
    page(capsys, "derive", "relu", "--out", str(folder))
    assert (folder / "results.json").is_symlink() and json.loads(far.read_text())["activation"] == "relu"
    assert (folder / "derivation.tex").stat().st_mode & 0o777 == 0o600
    assert "old" not in (folder / "derivation.tex").read_text()[:10]
    assert (folder / "relu_numpy.py").is_symlink() and stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert stat.S_ISCHR((folder / "relu_numpy.py").stat().st_mode)


def test_an_impossible_folder_is_one_line(capsys, tmp_path):
    for words in (("derive", "relu"), ("export", "relu", "--quantity", "kernel_map")):
        code, out, err = run(capsys, *words, "--out", str(tmp_path / ("a" * 300)))
        assert (code, out) == (2, "") and "File name too long" in err and err.count("\n") == 1


def test_derive_replaces_its_own_files(capsys, tmp_path):
    (tmp_path / "results.json").write_text("old")
    (tmp_path / "mine.txt").write_text("mine")
    out = page(capsys, "derive", "relu", "--out", str(tmp_path))
    assert f"{tmp_path}{os.sep}\n" in out
    assert "relu_torch.py" in out
    assert json.loads((tmp_path / "results.json").read_text())["activation"] == "relu"
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_export_prints_and_writes_the_same_module(capsys, tmp_path):
    words = ("export", "relu", "--layer", "residual", "--quantity", "covariance_map", "--target", "numpy")
    text = page(capsys, *words)
    path = tmp_path / "relu.py"
    assert str(path) in page(capsys, *words, "--out", str(path))
    assert path.read_text() == text
    assert "symres export relu --layer residual --quantity covariance_map --target numpy" in text
    assert float(runpy.run_path(str(path))["covariance_map"](1.0, 1.0, 1.0, 2.0, 0.25, 0.5)) == pytest.approx(1.5)


CASES = {
    "gelu": ("gelu", "residual", []),
    "tanh": ("tanh", "mlp", ["C_W=1", "C_b=0.1"]),
    "shrink": ("where(z > 1, z - 1, where(z < -1, z + 1, 0))", "mlp", []),
    "asinh": ("asinh(z)", "residual", []),
    "long": ("(z + z^2/3)*exp(-z/3) + cos(z)*z/7", "mlp", []),
    "signs": ("erf(2*z+1)*exp(-z^2/3)", "mlp", []),
    "bell": ("where(z > 1, exp(-z^2), z)", "residual", []),
    "jump": ("where(z > 1, z, 1/2) + erf(z/3 + 1/5)/9", "mlp", []),
}


@pytest.mark.exhaustive
@needs_latex
@pytest.mark.parametrize("name", CASES)
def test_derivations_are_typeset_mathematics(tmp_path, name):
    text = document(derive_command._report(request.make(*CASES[name]))[1])
    (tmp_path / "derivation.tex").write_text(text)
    typeset(tmp_path / "derivation.tex")
    assert text.count("Principles of Deep Learning Theory") == 1
    assert not re.search(r"\\(tiny|scriptsize)", text)
    body = text.split(r"\maketitle")[1].split("How this was made")[0]  # the title may be the formula as it was typed
    body = re.sub(r"In PyTorch, for a linear layer.*?\\end{verbatim}", "", body, flags=re.DOTALL)  # code, as it should
    assert "verbatim" not in body
    assert "texttt" not in body
    if name in ("signs", "bell"):  # the appendix abbreviates what the results abbreviate
        for part in body.split(r"\appendix"):
            assert r"\Delta_{1} &= " in part
            assert not re.search(r"\\sqrt\{\((\d \+ \d* ?K_\d)\) \(", part)
    assert not re.search(r"<.*>_|\*\*|(?<!\\)chi_|sgn\(y\) =|boundary where", body)


@pytest.mark.exhaustive
@needs_latex
def test_the_document_shows_the_plot_and_moves_with_its_folder(capsys, tmp_path):
    page(capsys, "derive", "relu", "--layer", "residual", "--out", str(tmp_path / "made"))
    folder = (tmp_path / "made").rename(tmp_path / "moved")
    assert "maps.pdf" in typeset(folder / "derivation.tex").replace("\n", "")  # TeX breaks lines anywhere
    (folder / "maps.pdf").unlink()
    assert "maps.pdf" not in typeset(folder / "derivation.tex").replace("\n", "")  # the document alone, sent by mail


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["tanh", "elu", "erf", "celu(alpha=1/2)"])
def test_the_decay_law_solves_the_flow(name):
    report = derive_command._report(request.make(name, "residual", []))[1]
    flow = criticality_summary.flow(next(p for p in report.critical_points if p.K == 0))
    drift = (flow.step - K).subs(K, flow.law)
    numbers = {s: sp.Rational(2, 5) for s in flow.law.free_symbols - {criticality_summary.DEPTH}} | {
        criticality_summary.DEPTH: 7
    }
    slope = flow.law.diff(criticality_summary.DEPTH)
    assert slope.subs(numbers).evalf(30) == pytest.approx(drift.subs(numbers).evalf(30), rel=1e-25)
    assert slope.subs(numbers) < 0


@pytest.mark.exhaustive
@needs_latex
def test_files_of_tokens(capsys, tmp_path):
    words = ["derive", "relu", "--layer", "transformer", "--tokens", "4", "--out", str(tmp_path / "out")]
    code, out, _ = run(capsys, *words, "--set", "C_A=1", "--set", "C_1=1", "--set", "C_2=1")
    assert code == 0 and "tokens.pdf" in out
    written = {path.name for path in (tmp_path / "out").iterdir()}
    modules = {"relu_numpy.py", "relu_torch.py"}
    assert written == {"derivation.tex", "results.json", "tokens.pdf", "tokens.png", "tokens.svg", *modules}
    text = (tmp_path / "out" / "derivation.tex").read_text()
    assert "layers & kernel & similarity & APJN of a token" in text and r"falls like $l^{-" in text
    module = runpy.run_path(str(tmp_path / "out" / "relu_numpy.py"))
    theory = sr.derive(sr.transformer("relu", C_A=1, C_1=1, C_2=1), positions=sr.Tokens(4))
    assert float(module["kernel_map"](1.0, 0.3)) == pytest.approx(theory.kernel_map(K=1, C=0.3), rel=1e-10)
    typeset(tmp_path / "out" / "derivation.tex")
