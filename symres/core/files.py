"""Templates, and files that are written whole or not at all."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import DeclarationError, SymresError

if TYPE_CHECKING:
    import jinja2


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
    """Fill a template.

    Args:
        template: its name.
        values: what it shows.
        folder: where it lies; None stands for the templates of documents.
    """
    return _environment(templates() if folder is None else folder).get_template(template).render(**values)


def require_place(path: Path) -> Path:
    """Make sure that a file can stand at ``path``, without touching anything.

    Raises:
        DeclarationError: its folder does not exist (a mistyped path makes none), or a folder stands in its place.
    """
    path = Path(path)
    if path.is_dir():
        raise DeclarationError(f"writing {path}", "it is a folder", "name a file")
    if not path.parent.is_dir():
        found = f"{path.parent} is not a folder" if path.parent.exists() else f"there is no folder {path.parent}"
        raise DeclarationError(f"writing {path}", found, "choose a folder that exists and can be written")
    return path


def write_whole(path: Path, produce: Callable[[Path], None]) -> Path:
    """Let ``produce`` write a temporary file beside ``path``, then put it in its place in one step.

    Raises:
        DeclarationError: the folder does not exist or cannot be written.
    """
    path = require_place(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
    except OSError as error:
        raise _cannot_write(path, error) from None
    temporary = Path(name)
    try:
        produce(temporary)
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _cannot_write(path, error) from None
    except BaseException:  # an interrupt too leaves nothing behind
        temporary.unlink(missing_ok=True)
        raise
    return path


def write_text(path: Path, text: str) -> Path:
    """Write a text file whole."""
    return write_whole(path, lambda temporary: _put(temporary, text))


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, error: OSError) -> DeclarationError:
    return DeclarationError(f"writing {path}", error.strerror or str(error), "choose a folder that can be written")


def versions() -> tuple[str, ...]:
    """The versions on which derived results depend, one line each."""
    lines = [f"python {platform.python_version()}"]
    for package in ("symres", "sympy", "mpmath", "python-flint"):
        try:
            lines.append(f"{package} {version(package)}")
        except PackageNotFoundError:  # run from a checkout that was not installed
            lines.append(f"{package} (not installed)")
    return tuple(lines)
