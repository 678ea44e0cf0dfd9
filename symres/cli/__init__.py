"""The command line. Exit codes: 0 done, 1 refuted, 2 wrong use, 3 no closed form, no solution or inconclusive.

Read ``app`` first (the application, and options that commands share), then a module of ``commands`` (a command each;
``torch_commands`` has those about PyTorch), then ``request`` (from words to an activation and a
layer); ``staging`` writes all files of a command or none.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, cast

import typer

from ..core.disk_cache import caching, default_cache
from ..core.errors import CheckRefuted, NoClosedForm, SymresError
from ..core.words import as_typed
from ..report.text.console import complain
from . import torch_commands  # noqa: F401  (its commands join the application, as do those below)
from .app import NO_CACHE, app, collect_seldom
from .commands import (  # noqa: F401
    check_command,
    compare_command,
    derive_command,
    export_command,
    list_command,
    literature_command,
    plot_command,
    solve_command,
)

# typer brings its own copy of click or uses an installed one, depending on its version: this is click's base class
# of wrong use in both.
_WrongUse = cast(Any, typer.BadParameter.__mro__[2])

REFUTED, WRONG, OPEN, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point of the command ``symres``: run a command line and exit with its code.

    Args:
        arguments: the words after ``symres``; those of this process if None.
    """
    collect_seldom()
    raise SystemExit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Returns:
        the exit code. Errors are one line on standard error.
    """
    words = [word for word in arguments if word != NO_CACHE]  # before and after the name of a command
    try:
        with _unwinding(), _told_in_a_line(), caching(default_cache() if len(words) == len(arguments) else None):
            result = typer.main.get_command(app).main(
                args=list(map(_protected, words)), prog_name="symres", standalone_mode=False
            )
        if result == INTERRUPTED:  # typer turns an interrupt into a code
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except _WrongUse as error:
        where = error.ctx.command_path if getattr(error, "ctx", None) else "symres"
        complain(f"{error.format_message().rstrip('.')}; {_setting(error)}try '{where} --help'")
        return WRONG
    except SymresError as error:
        complain(f"{error.asked}: {error.found}; {as_typed(error.remedy)}")
        return REFUTED if isinstance(error, CheckRefuted) else OPEN if isinstance(error, NoClosedForm) else WRONG
    except OSError as error:
        complain(f"reading or writing failed: {error.strerror or error}")
        return WRONG
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED


def _setting(error: Exception) -> str:
    """How a parameter gets its number, where somebody typed ``--gamma 0.5``."""
    name = getattr(error, "option_name", "").lstrip("-")
    if not name.isidentifier() or getattr(error, "possibilities", None):
        return ""
    return f"if {name} is a parameter of the layer or the activation, --set {name}=NUMBER sets it; "


def _protected(word: str) -> str:
    """Let a formula begin with a minus sign: ``-z*exp(-z^2)`` is no option. No option of symres is one letter."""
    formula = word[:1] == "-" and word[1:2] != "-" and (len(word) > 2 or word in ("-z", "-x"))
    return f" {word}" if formula else word


@contextmanager
def _told_in_a_line() -> Iterator[None]:
    """What has changed since the last release is told without the line of code that says so."""
    with warnings.catch_warnings():
        before, told = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *where: Any, **further: Any) -> None:
            if not issubclass(category, FutureWarning):
                before(message, category, *where, **further)
            elif str(message) not in told:  # a name is looked up in several places
                told.add(str(message))
                complain(f"warning: {message}")

        warnings.showwarning = show
        yield


@contextmanager
def _unwinding() -> Iterator[None]:
    """A polite request to end (SIGTERM) unwinds the stack, so that unfinished files are removed."""

    def unwind(number: int, frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    if threading.current_thread() is not threading.main_thread():  # others may not handle signals
        yield
        return
    before = signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


__all__ = ["app", "main", "run"]
