"""Surveys that are spread over processes: the same text, and one clear line when they are stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from symres.cli.commands import bundle, surveys
from symres.core.errors import NoClosedForm, SymresError
from symres.report.export import export
from symres.studies import survey
from tests.command_line import page, run

ROOT = Path(__file__).parents[3]


@pytest.mark.exhaustive
def test_all_processors_find_what_one_finds(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "ACTIVATIONS", ("relu", "leaky_relu"))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    words = ("list", "criticality", "--json")
    alone = page(capsys, *words)
    monkeypatch.setattr(surveys, "is_command", lambda: True)
    pools, build = [], surveys.pool_of
    monkeypatch.setattr(surveys, "pool_of", lambda workers: pools.append(workers) or build(workers))
    assert page(capsys, *words) == alone
    monkeypatch.delenv("SYMRES_NO_CACHE")
    monkeypatch.setenv("SYMRES_CACHE_DIR", str(tmp_path))
    assert page(capsys, *words) == alone
    assert page(capsys, *words) == alone
    assert pools == [2, 2]  # the last needs none


def test_another_program_is_not_run_again():
    assert not surveys.is_command()


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux" or (os.cpu_count() or 1) < 2, reason="needs /proc and a pool")
@pytest.mark.parametrize(
    ("stop", "code", "says"),
    [
        (lambda command, workers: os.killpg(command, signal.SIGINT), 130, "interrupted"),
        (lambda command, workers: os.kill(command, signal.SIGTERM), 143, ""),
        (lambda command, workers: os.kill(workers[0], signal.SIGKILL), 2, "killed by the system"),
    ],
    ids=["interrupt", "terminate", "a worker is killed"],
)
def test_a_survey_that_is_stopped_ends_its_workers(stop, code, says):
    with subprocess.Popen(
        [sys.executable, "-m", "symres", "list", "averages", "--no-cache"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as command:
        assert command.stdout.readline()  # the first page is known: a worker has begun
        workers = _workers(command.pid)
        for _ in range(6000):
            if all(map(_has_begun, workers)):
                break
            time.sleep(0.01)
        stop(command.pid, workers)
        _, said = command.communicate(timeout=60)
    assert len(workers) >= 2
    assert command.returncode == code
    assert says in said.decode() and "Traceback" not in said.decode()
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


def _workers(parent):
    """The processes of a pool."""
    return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _has_begun(worker):
    """Whether a worker has left SIGINT to the system, which is the last step before it works.

    Python handles the signal until then, and would print a traceback.
    """
    status = Path(f"/proc/{worker}/status").read_text()
    handled = int(status.partition("SigCgt:")[2].split()[0], 16)
    return not handled >> (signal.SIGINT - 1) & 1


WHOLE = {"derivation.tex", "results.json", "maps.pdf", "maps.png", "maps.svg", "relu_numpy.py", "relu_torch.py"}


TOO_FAST = "the function varies too fast within the width of the Gaussian\n"


def unwrapped(text):
    return " ".join(text.split())


@pytest.mark.exhaustive
@pytest.mark.parametrize("failing", [("torch",), ("numpy", "torch")], ids=str)
def test_a_module_that_cannot_be_generated_keeps_nothing_else_back(capsys, monkeypatch, tmp_path, failing):
    def refusing(theory, target, **options):
        if target in failing:
            raise SymresError("code", "quadrature is off", "export to LaTeX")
        return export(theory, target, **options)

    monkeypatch.setattr(bundle, "export", refusing)
    code, out, err = run(capsys, "derive", "relu", "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    assert {p.name for p in (tmp_path / "out").iterdir()} == WHOLE - {f"relu_{target}.py" for target in failing}
    for target in ("numpy", "torch"):
        assert (f"no {target} module: quadrature is off" in unwrapped(out)) == (target in failing)


@pytest.mark.exhaustive
def test_quantities_without_code_are_named_once(capsys, monkeypatch, tmp_path):
    def lacking(theory, target, **options):
        module = export(theory, target, **options)
        object.__setattr__(module, "missing", ("covariance_map: quadrature is off",))
        return module

    monkeypatch.setattr(bundle, "export", lacking)
    code, out, err = run(capsys, "derive", "relu", "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    assert {p.name for p in (tmp_path / "out").iterdir()} == WHOLE
    assert unwrapped(out).count("no numpy and torch code for covariance_map: quadrature is off") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", ["exp(z)", "cos(z)+relu(z)"])
def test_growth_and_waves_have_both_modules(capsys, tmp_path, formula):
    code, out, err = run(capsys, "derive", formula, "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    assert len([p for p in (tmp_path / "out").iterdir() if p.suffix == ".py"]) == 2
    assert " code for " not in out


@pytest.mark.exhaustive
def test_a_plot_that_cannot_be_drawn_keeps_nothing_else_back(capsys, monkeypatch, tmp_path):
    def refusing(report):
        raise NoClosedForm("numpy code for chi_perp", "it varies too fast", "export to LaTeX")

    monkeypatch.setattr(bundle, "curves", refusing)
    code, out, err = run(capsys, "derive", "relu", "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {p for p in WHOLE if not p.startswith("maps")}
    assert unwrapped(out).count("no plot: it varies too fast") == 1


@pytest.mark.exhaustive
def test_functions_that_end_early_are_announced(capsys, tmp_path):
    code, _, err = run(capsys, "export", "sin(z^2)", "--quantity", "kernel_map", "--out", str(tmp_path / "f.py"))
    assert code == 0
    assert err == "symres: warning: kernel_map: nan beyond kernels of 300: " + TOO_FAST
