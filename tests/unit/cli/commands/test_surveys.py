"""Surveys that are spread over processes: the same text, and one clear line when they are stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from symres.cli.commands import surveys
from symres.studies import survey
from tests.command_line import page

ROOT = Path(__file__).parents[3]


@pytest.mark.exhaustive
def test_all_processors_find_what_one_finds(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "ACTIVATIONS", ("relu", "leaky_relu"))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    words = ("list", "criticality", "--json")
    alone = page(capsys, *words)
    monkeypatch.setattr(surveys, "_is_command", lambda: True)
    pools, build = [], surveys._pool
    monkeypatch.setattr(surveys, "_pool", lambda workers: pools.append(workers) or build(workers))
    assert page(capsys, *words) == alone
    monkeypatch.delenv("SYMRES_NO_CACHE")
    monkeypatch.setenv("SYMRES_CACHE_DIR", str(tmp_path))
    assert page(capsys, *words) == alone
    assert page(capsys, *words) == alone
    assert pools == [2, 2]  # the last needs none


def test_another_program_is_not_run_again():
    assert not surveys._is_command()


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
    """The processes of a pool, by what they run."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def _has_begun(worker):
    """Whether a worker has left SIGINT to the system, which is the last step before it works.

    Python handles the signal until then, and would print a traceback.
    """
    status = Path(f"/proc/{worker}/status").read_text()
    handled = int(status.partition("SigCgt:")[2].split()[0], 16)
    return not handled >> (signal.SIGINT - 1) & 1
