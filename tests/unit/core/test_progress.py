"""The progress bar: on stderr, on a terminal, and only when one has to wait."""

import sys
import time

import pytest

from symres.core.progress import Bar
from tests.command_line import Terminal


@pytest.fixture
def terminal(monkeypatch):
    """Call it in the test: pytest puts its own stderr back between the set-up and the test."""

    def make():
        fake = Terminal()
        monkeypatch.setattr(sys, "stderr", fake)
        monkeypatch.setenv("TERM", "xterm")
        for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        return fake

    return make


def test_silent_where_nobody_looks(capsys):
    with Bar("check", patience=0) as bar:
        bar("kernel_map", 0.5)
    assert capsys.readouterr() == ("", "")


def test_silent_when_quick(terminal):
    screen = terminal()
    with Bar("check", patience=60) as bar:
        bar("kernel_map", 0.5)
    assert screen.getvalue() == ""


def test_shown_on_a_terminal_when_slow(terminal, capsys):
    screen = terminal()
    with Bar("check", patience=0) as bar:
        bar("kernel_map", 0.25)
        bar("chi_perp", 0.75)
    assert "check" in screen.getvalue() and "chi_perp" in screen.getvalue()
    assert capsys.readouterr().out == ""


def test_one_slow_step_is_shown(terminal):
    screen = terminal()
    with Bar("export", patience=0.05) as bar:
        bar("covariance_map", 0.25)
        time.sleep(0.5)
        assert "covariance_map" in screen.getvalue()
    assert bar._bar is None


def test_the_bar_goes_away_after_an_error(terminal):
    screen = terminal()
    with pytest.raises(ZeroDivisionError), Bar("check", patience=0) as bar:
        bar("kernel_map", 0.25)
        1 / 0  # noqa: B018
    assert bar._bar is None and "kernel_map" in screen.getvalue()
