"""Templates, and files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import DeclarationError, SymresError

if TYPE_CHECKING:
    import jinja2

_PREFIX = ".symres-"  # of temporary files: short, so that a name may be as long as the system allows


def templates() -> Path:
    """The folder of the templates: in a wheel ``symres/_templates``, in a checkout ``templates`` at its root."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_templates", package.parent / "templates"):
        if (folder / "report.tex.j2").is_file():
            return folder
    raise SymresError("the templates of symres", f"they are neither in {package} nor beside it", "install symres again")


@lru_cache(maxsize=8)
def _environment(folder: Path) -> jinja2.Environment:
    import jinja2  # only what fills templates pays for it

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(template: str, values: Mapping[str, Any], folder: Path | None = None) -> str:
    """Fill a template with values; it is one of those of documents unless it lies in another folder."""
    return _environment(templates() if folder is None else folder).get_template(template).render(**values)


def require_place(path: Path) -> Path:
    """Make sure that a file can stand at ``path``, without touching anything.

    Raises:
        DeclarationError: its folder does not exist (a mistyped path makes none), a folder stands in its place, or the
            system takes no such path.
    """
    path = Path(path)
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
    except OSError as error:  # a name that is too long, a circle of links
        raise _cannot_write(path, error) from None
    if path.is_dir():
        raise DeclarationError(f"writing {path}", "it is a folder", "name a file")
    if not path.parent.is_dir():
        found = f"{path.parent} is not a folder" if path.parent.exists() else f"there is no folder {path.parent}"
        raise DeclarationError(f"writing {path}", found, "choose a folder that exists and can be written")
    return path


def is_special(path: Path) -> bool:
    """Whether something is at ``path`` that is not a file on a disk: a device, a pipe, a socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_whole(path: Path, produce: Callable[[Path], object]) -> Path:
    """Let ``produce`` write a temporary file, then put it in its place in one step; see ``put_in_place``.

    Raises:
        DeclarationError: the folder does not exist or cannot be written.
    """
    path = require_place(path)
    try:
        # beside the file that a link leads to: across file systems nothing moves in one step
        folder = None if is_special(path) else path.resolve().parent
        with unfinished(folder, _PREFIX, path.suffix) as staged:
            produce(staged)
            put_in_place(staged, path)
    except OSError as error:
        raise _cannot_write(path, error) from None
    return path


@contextmanager
def unfinished(folder: Path | None, prefix: str, suffix: str) -> Iterator[Path]:
    """A new file in a folder, for what is not complete yet; an interrupt too leaves nothing behind.

    Args:
        folder: None stands for that of temporary files.
        prefix: how its name begins.
        suffix: how its name ends.
    """
    handle, name = tempfile.mkstemp(dir=folder, prefix=prefix, suffix=suffix)
    try:
        os.close(handle)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def put_in_place(temporary: Path, path: Path) -> None:
    """Let a complete file take the place of what ``path`` leads to.

    Links stay and are followed. A file is replaced in one step, and its mode and owner stay. What is not a file, such
    as a device or a pipe, stays too: the bytes are written into it. The temporary file is complete; it is moved, or
    copied.

    Raises:
        OSError: it cannot be written, or is protected from that.
    """
    if is_special(path):
        with temporary.open("rb") as source, path.open("wb") as sink:
            shutil.copyfileobj(source, sink)
        return
    mode = 0o666 & ~umask()
    if path.exists():
        if not os.access(path, os.W_OK):  # a replacement would not ask
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        before = path.stat()
        mode = stat.S_IMODE(before.st_mode)
        if hasattr(os, "chown"):
            with suppress(PermissionError):  # only root gives files away
                os.chown(temporary, before.st_uid, before.st_gid)
    temporary.chmod(mode)
    try:
        os.replace(temporary, path.resolve())
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        write_whole(path.resolve(), lambda beside: shutil.copyfile(temporary, beside))


def write_text(path: Path, text: str) -> Path:
    """Write a text file whole."""
    return write_whole(path, lambda staged: staged.write_text(text, encoding="utf-8", newline="\n"))


def umask() -> int:
    """The bits of the mode that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, error: OSError) -> DeclarationError:
    return DeclarationError(f"writing {path}", error.strerror or str(error), "choose a path that can be written")


def versions() -> tuple[str, ...]:
    """The versions on which derived results depend, one line each."""
    packages = ("symres", "sympy", "mpmath", "python-flint")
    return (
        f"python {platform.python_version()}",
        *(f"{package} {installed(package) or '(not installed)'}" for package in packages),
    )


def installed(package: str) -> str:
    """The version of a package; empty for one that is not installed, such as a checkout of symres."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
