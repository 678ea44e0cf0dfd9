"""A library from a source in C: made with the compiler of the system in a folder that is gone when it is loaded."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ....core.errors import DeclarationError

_FLAGS = (
    "-std=c11", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-shared", "-fPIC",
)  # fmt: skip
_OPTIONAL = ("-fopenmp", "-mprefer-vector-width=512")  # what a compiler may not know
_USUAL = ("cc", "gcc", "clang")
_ASKED = "loading C code"


def compiler() -> str | None:
    """The path of the C compiler: what CC names, else the first of the usual ones; None if it is not there."""
    return next((path for name in _named()[:1] or _USUAL if (path := shutil.which(name))), None)


@contextmanager
def compiled(stem: str, source: str, fast: bool = True) -> Iterator[Path]:
    """The shared library of a source, to be loaded within the context; what is loaded stays when its file is gone.

    Args:
        stem: the name of the file.
        source: its text.
        fast: whether to let the compiler optimise; what is run once need not be.

    Raises:
        DeclarationError: there is no compiler, it refuses, or there is no room for the library.
    """
    command = _command()
    try:
        holder = tempfile.TemporaryDirectory(prefix="symres-library-", ignore_cleanup_errors=True)
        path = Path(holder.name) / f"{stem}.c"
        path.write_text(source, encoding="utf-8")
    except OSError as error:
        found = f"the folder for temporary files cannot be written: {error.strerror or error}"
        raise DeclarationError(_ASKED, found, "let TMPDIR name a folder with room") from None
    with holder:
        target = path.with_suffix(".so")
        flags = [*_FLAGS, "-O3", *_known_flags(command)] if fast else [*_FLAGS, "-O1"]
        refusal = _refusal([*command, *flags, "-o", str(target), str(path), "-lm"])
        if refusal is not None or not target.exists():
            found = f"{shlex.join(command)} failed: {refusal or 'no library was written'}"
            raise DeclarationError(_ASKED, found, "see the source in .text, or let CC name another C compiler")
        yield target


def _named() -> list[str]:
    """The command and the options that CC has, if any."""
    text = os.environ.get("CC", "")
    try:
        return shlex.split(text)
    except ValueError:  # a quotation mark without its partner: there is no such command
        return [text]


def _command() -> tuple[str, ...]:
    """The compiler with the options that CC has.

    Raises:
        DeclarationError: there is no compiler.
    """
    named, path = _named(), compiler()
    if path is not None:
        return (path, *named[1:])
    if named:
        found = f"CC names {named[0]}, which is not a command on this system"
        raise DeclarationError(_ASKED, found, "let CC name a C compiler, or unset it")
    found = f"there is no C compiler: none of {', '.join(_USUAL)} is found, and CC names none"
    raise DeclarationError(_ASKED, found, "install one (Debian: apt-get install gcc libc6-dev)")


def _refusal(command: Sequence[str], text: str = "") -> str | None:
    """What a command says against its input, in one line; None if it accepts it."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace")
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return None
    lines = done.stderr.splitlines()
    return next(iter([line for line in lines if "error" in line] or lines), f"exit code {done.returncode}")


@cache
def _known_flags(command: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the optional flags that the compiler knows."""
    with tempfile.TemporaryDirectory(prefix="symres-library-") as folder:
        to = ["-Werror", "-x", "c", "-c", "-o", os.path.join(folder, "unused.o"), "-"]
        return tuple(flag for flag in _OPTIONAL if _refusal([*command, flag, *to], "int unused;\n") is None)
