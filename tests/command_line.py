"""Running the command line in tests."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from symres import cli

ROOT = Path(__file__).parents[1]
needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


def run(capsys, *words):
    """Exit code, standard output and standard error of a command line, in this process."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(words))
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


def page(capsys, *words):
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "")
    return out


def process(*words, shell="", **environment):
    """The command line as a process of its own; with ``shell``, what follows it in a pipe."""
    command = [sys.executable, "-c", "from symres.cli import main; main()", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    if shell:
        line = f'"$@"{shell}'
        command = ["bash", "-c", line, "bash", *command]
    return subprocess.run(command, capture_output=True, env=environment, timeout=600)


def texts_of_seeds(code, *seeds):
    """What Python code prints under several hash seeds."""
    command = [sys.executable, "-c", code]
    environments = ({**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed} for seed in seeds)
    return {subprocess.run(command, env=e, capture_output=True, text=True, check=True).stdout for e in environments}


def assert_plain(text, width=80):
    for line in text.splitlines():
        assert len(line) <= width, line
        assert line == line.rstrip(), repr(line)
        assert all(c.isprintable() for c in line), repr(line)


def typeset(document):
    """What pdflatex says of a document, which has no line that is too long."""
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", document.name]
    done = subprocess.run(command, cwd=document.parent, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    return done.stdout
