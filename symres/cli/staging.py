"""Several files that appear together or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..core.errors import DeclarationError
from ..core.files import put_in_place, umask


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A hidden folder beside or in the wanted one, whose files move there at the end of the context.

    It is made at once, so that a folder that cannot be written is known before anything is derived. An error or an
    interrupt in the context leaves nothing behind.

    Args:
        folder: the wanted folder; it and its parents may not exist yet.

    Raises:
        DeclarationError: the folder cannot be written.
    """
    folder = Path(os.path.abspath(folder))
    with ExitStack() as undo:
        with _refusing(folder):
            if folder.exists() and not folder.is_dir():
                raise _refused(folder, "it is a file, not a folder")
            missing = [parent for parent in folder.parents if not parent.exists()]
            for parent in reversed(missing):
                parent.mkdir()
                undo.callback(_remove_empty, parent)
            # inside an existing folder: it may be a file system of its own, across which nothing moves in one step
            path = (folder if folder.is_dir() else folder.parent) / f".symres-{secrets.token_hex(8)}"
            undo.callback(shutil.rmtree, path, ignore_errors=True)  # before it is made: a signal may come between
            path.mkdir(mode=0o700)
        yield path
        with _refusing(folder):
            _move(path, folder)


def places(path: Path, folder: Path) -> list[Path]:
    """Where the files that are in a hidden folder now will be in the wanted one."""
    return [Path(os.path.abspath(folder)) / file.name for file in sorted(path.iterdir())]


def _move(path: Path, folder: Path) -> None:
    """Move files to their place, each in one step; see ``put_in_place``."""
    targets = places(path, folder)
    for target in targets:
        if target.is_dir():
            raise _refused(folder, f"it has a folder {target.name} where a file should go")
    if not folder.exists():
        path.chmod(0o777 & ~umask())
        os.rename(path, folder)
        return
    for target in targets:
        put_in_place(path / target.name, target)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # there is something in it
        folder.rmdir()


@contextmanager
def _refusing(folder: Path) -> Iterator[None]:
    """Say what stands in the way of writing to a folder."""
    try:
        yield
    except OSError as error:
        raise _refused(folder, error.strerror or str(error)) from None


def _refused(folder: Path, found: str) -> DeclarationError:
    return DeclarationError(f"--out {folder}", found, "choose a folder that can be written")
