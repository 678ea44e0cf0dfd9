"""The progress bar: on stderr, on a terminal, and only when one has to wait."""

import sys

import pytest

from symres.check.progress import Bar


class Terminal:
    """A stderr that says it is a terminal."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    fake = Terminal()
    monkeypatch.setattr(sys, "stderr", fake)
    return fake


def test_silent_where_nobody_looks(capsys):
    with Bar("check", patience=0) as bar:
        bar("kernel_map", 0.5)
    assert capsys.readouterr() == ("", "")


def test_silent_when_quick(terminal):
    with Bar("check", patience=60) as bar:
        bar("kernel_map", 0.5)
    assert terminal.text == ""


def test_shown_on_a_terminal_when_slow(terminal, capsys):
    with Bar("check", patience=0) as bar:
        bar("kernel_map", 0.25)
        bar("chi_perp", 0.75)
    assert "check" in terminal.text and "chi_perp" in terminal.text
    assert capsys.readouterr().out == ""


def test_the_bar_goes_away_after_an_error(terminal):
    with pytest.raises(ZeroDivisionError), Bar("check", patience=0) as bar:
        bar("kernel_map", 0.25)
        1 / 0  # noqa: B018
    assert bar._bar is None
