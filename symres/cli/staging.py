"""Several files that appear together or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from types import TracebackType

from ..core.errors import DeclarationError
from ..core.files import put_in_place, umask


class Staging:
    """A hidden folder beside or in the wanted one, whose files move there when all of them are complete.

    Entering creates it, so that a folder that cannot be written is known before anything is derived. Leaving without
    ``commit`` (an error, an interrupt) leaves nothing behind.

    Args:
        folder: the wanted folder; it and its parents may not exist yet.

    Raises:
        DeclarationError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.abspath(folder))
        self._made: list[Path] = []
        self._done = False
        self.path = Path()

    def __enter__(self) -> Staging:
        try:
            if self.folder.exists() and not self.folder.is_dir():
                raise self._refused("it is a file, not a folder")
            self._make(self.folder.parent)
            # inside an existing folder: it may be a file system of its own, across which nothing moves in one step
            beside = self.folder if self.folder.is_dir() else self.folder.parent
            self.path = beside / f".symres-{secrets.token_hex(8)}"  # known before it is made: a signal
            self.path.mkdir(mode=0o700)  # may come between the two
        except OSError as error:
            self._clean()
            raise self._refused(error.strerror or str(error)) from None
        except BaseException:
            self._clean()
            raise
        return self

    def places(self) -> list[Path]:
        """Where the files that are there now will be."""
        return [self.folder / path.name for path in sorted(self.path.iterdir())]

    def commit(self) -> None:
        """Move the files to their place, each in one step; see ``put_in_place``."""
        places = self.places()
        for place in places:
            if place.is_dir():
                raise self._refused(f"it has a folder {place.name} where a file should go")
        try:
            if not self.folder.exists():
                self.path.chmod(0o777 & ~umask())
                os.rename(self.path, self.folder)
            else:
                for place in places:
                    put_in_place(self.path / place.name, place)
        except OSError as error:
            raise self._refused(error.strerror or str(error)) from None
        self._done = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clean()

    def _make(self, folder: Path) -> None:
        missing = [p for p in (folder, *folder.parents) if not p.exists()]
        for p in reversed(missing):
            p.mkdir()
            self._made.append(p)

    def _clean(self) -> None:
        if self.path != Path():
            shutil.rmtree(self.path, ignore_errors=True)
        if not self._done:
            for p in reversed(self._made):
                if not any(p.iterdir()):
                    p.rmdir()

    def _refused(self, found: str) -> DeclarationError:
        return DeclarationError(f"--out {self.folder}", found, "choose a folder that can be written")
