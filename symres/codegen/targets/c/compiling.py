"""A library from a source in C: made with the compiler of the system in a folder that goes with the process."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from ....core.errors import DeclarationError

_FLAGS = (
    "-std=c11", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-shared", "-fPIC",
)  # fmt: skip
_OPTIONAL = ("-fopenmp", "-mprefer-vector-width=512")  # what a compiler may not know


def compiler() -> str | None:
    """The command of the C compiler: what CC says, or the first of the usual ones; None if there is none."""
    named = os.environ.get("CC", "").split()
    return next((path for name in [*named[:1], "cc", "gcc", "clang"] if (path := shutil.which(name))), None)


def compiled(stem: str, source: str, fast: bool = True) -> Path:
    """The shared library of a source.

    Args:
        stem: the name of the file.
        source: its text.
        fast: whether to let the compiler optimise; what is run once need not be.

    Raises:
        DeclarationError: there is no compiler, or it refuses.
    """
    command = compiler()
    if command is None:
        found = "there is no C compiler: neither cc, gcc nor clang is found, and CC names none"
        raise DeclarationError("loading C code", found, "install one (Debian: apt-get install gcc libc6-dev)")
    path = Path(tempfile.mkdtemp(dir=_folder())) / f"{stem}.c"
    path.write_text(source, encoding="utf-8")
    target = path.with_suffix(".so")
    flags = [*_FLAGS, "-O3", *_known_flags(command)] if fast else [*_FLAGS, "-O1"]
    done = subprocess.run([command, *flags, "-o", str(target), str(path), "-lm"], capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or [""]
        raise DeclarationError("loading C code", f"{command} refuses it: {lines[0]}", "see the source in .text")
    return target


@cache
def _folder() -> str:
    """A folder for libraries, removed with the process."""
    holder = tempfile.TemporaryDirectory(prefix="symres-libraries-")
    _KEPT.append(holder)
    return holder.name


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _known_flags(command: str) -> tuple[str, ...]:
    """Those of the optional flags that the compiler knows."""

    def is_known(flag: str) -> bool:
        args = [command, flag, "-Werror", "-x", "c", "-c", "-o", os.devnull, "-"]
        return subprocess.run(args, input="int unused;\n", capture_output=True, text=True).returncode == 0

    return tuple(filter(is_known, _OPTIONAL))
