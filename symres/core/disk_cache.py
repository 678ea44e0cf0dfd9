"""Texts by key in a folder: written whole, checked when read, bounded in size.

Two processes may use one folder. A file is written beside its place and moved there in one step, so that a reader sees
the old text or the new one. What cannot be read, or is not what was written, counts as absent; what cannot be written
is not kept. No result depends on whether there is a cache. What computed a result are the sources of symres, and the
versions and the machine below it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from platformdirs import user_cache_path

from .errors import DeclarationError
from .files import installed, unfinished

_BELOW = ("sympy", "mpmath", "python-flint", "numpy", "scipy", "rich")  # what results, digits or layout come from


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """A hash of every source file of this package and of what it runs on; another one after any edit or upgrade."""
    package = Path(__file__).resolve().parents[1]
    return fingerprint_of(package)


def fingerprint_of(package: Path) -> str:
    """A hash of the sources in a folder, with their places, and of the versions and the machine."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(package.rglob("*.py")):
        _add(digest, str(path.relative_to(package)).encode(), path.read_bytes())
    _add(digest, platform.python_version().encode(), platform.machine().encode(), platform.system().encode())
    for name in _BELOW:
        _add(digest, name.encode(), installed(name).encode())
    return digest.hexdigest()


def _add(digest: hashlib.blake2b, *parts: bytes) -> None:
    """Each part with its length: no two lists of parts look alike."""
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)


Key = tuple[str, ...]

MOST_BYTES = 64 * 2**20  # of all files together
_AFTER_PRUNING = 0.75  # of them, when older files have been removed
_MOST_ENTRIES = 4096  # of one subject: the last ones stay
FOLDER = "SYMRES_CACHE_DIR"  # the environment variable that names another folder
_SUFFIX = ".kept"
_TEMPORARY = "symres-", ".tmp"  # how the names of files begin and end that are not complete
# Names of files of a cache, digests of subjects; others in its folder belong to somebody else and are left alone.
_NAME = re.compile(rf"[0-9a-f]{{32}}{re.escape(_SUFFIX)}|{_TEMPORARY[0]}\w+{re.escape(_TEMPORARY[1])}")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def default_folder() -> Path | None:
    """Where programs of this system keep what can be computed again; None for a user without a home.

    Raises:
        DeclarationError: the environment names the home of a user that does not exist.
    """
    if chosen := os.environ.get(FOLDER):
        try:
            return Path(chosen).expanduser()
        except RuntimeError:
            remedy = f"let {FOLDER} name a folder, or unset it"
            raise DeclarationError(f"{FOLDER}={chosen}", "the system knows no user of this name", remedy) from None
    if not any(os.environ.get(name) for name in ("XDG_CACHE_HOME", "HOME", "LOCALAPPDATA", "USERPROFILE")):
        return None
    try:
        return user_cache_path("symres", appauthor=False)
    except RuntimeError:  # a user of whom the system knows nothing, as in containers
        return None


@dataclass(frozen=True)
class DiskCache:
    """A folder of kept results."""

    folder: Path  # where they are; it is made when the first one is written
    source: str = field(default_factory=fingerprint)  # what computed them: results of another source are not seen
    most_bytes: int = MOST_BYTES  # size of all files together beyond which the oldest are removed
    _pending: dict[Key, dict[str, str]] = field(default_factory=dict, compare=False)
    _read: dict[Key, dict[str, str]] = field(default_factory=dict, compare=False)

    def recall(self, subject: Key, name: str, compute: Callable[[], str]) -> str:
        """A result of one subject by its name, kept or computed now; what is new is written by ``flush``.

        Whatever ``compute`` raises is raised.
        """
        entries = self._entries(subject)
        if name not in entries:
            entries[name] = self._pending.setdefault(subject, {})[name] = compute()
        return entries[name]

    def has(self, subject: Key, name: str) -> bool:
        """Whether a result is kept."""
        return name in self._entries(subject)

    def flush(self) -> None:
        """Write what is new, together with what other processes have written meanwhile."""
        for subject, entries in self._pending.items():
            self._write(subject, self._stored(subject) | entries)
        if self._pending:
            self._pending.clear()
            self._prune()

    def size(self) -> tuple[int, int]:
        """The number of files and their bytes."""
        sizes = [size for _, size, _ in self._files()]
        return len(sizes), sum(sizes)

    def obstacle(self) -> str | None:
        """What keeps the folder from being read; None if nothing does. It need not exist yet."""
        try:
            os.listdir(self.folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            return error.strerror or str(error)
        return None

    def clear(self) -> int:
        """Remove all files that this user has kept, those of other sources too; returns how many."""
        self._pending.clear()
        self._read.clear()
        return sum(_removed(path) for _, _, path in self._files())

    def _entries(self, subject: Key) -> dict[str, str]:
        if subject not in self._read:
            self._read[subject] = self._stored(subject)
        return self._read[subject]

    def _path(self, subject: Key) -> Path:
        return self.folder / f"{_digest(json.dumps([self.source, *subject]))}{_SUFFIX}"

    def _stored(self, subject: Key) -> dict[str, str]:
        """What the file of a subject has; nothing if it is not what was written, or of something else."""
        path = self._path(subject)
        try:
            checksum, _, body = _text_of(path).partition("\n")
            if checksum != _digest(body):
                return {}
            content = json.loads(body)
            if content["source"] != self.source or content["subject"] != list(subject):
                return {}
            os.utime(path)  # it has been of use: others are removed first
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        entries: dict[str, str] = content["entries"]
        return entries

    def _write(self, subject: Key, entries: Mapping[str, str]) -> None:
        last = dict(list(entries.items())[-_MOST_ENTRIES:])
        body = json.dumps({"source": self.source, "subject": list(subject), "entries": last})
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with unfinished(self.folder, *_TEMPORARY) as staged:
                staged.write_text(f"{_digest(body)}\n{body}", encoding="utf-8", newline="\n")
                os.replace(staged, self._path(subject))
        except OSError:  # nowhere to keep anything
            return

    def _files(self) -> list[tuple[float, int, Path]]:
        """(time of the last use, bytes, path) of every file, also of one that a killed process has left."""
        files = []
        with suppress(OSError), os.scandir(self.folder) as entries:  # it may not exist, or be out of reach
            for entry in entries:
                if not _NAME.fullmatch(entry.name):
                    continue
                with suppress(OSError):  # another process was faster
                    status = entry.stat(follow_symlinks=False)
                    if _is_kept(status):
                        files.append((status.st_mtime, status.st_size, Path(entry.path)))
        return sorted(files)

    def _prune(self) -> None:
        files = self._files()
        total = sum(size for _, size, _ in files)
        if total <= self.most_bytes:
            return
        for _, size, path in files:
            if total <= _AFTER_PRUNING * self.most_bytes:
                return
            total -= size * _removed(path)


def _text_of(path: Path) -> str:
    """The text of a file that this user has written.

    In a folder that others write to too there may be anything: files of theirs, a pipe that blocks, a link.

    Raises:
        OSError: it cannot be read, or is not such a file.
        ValueError: it is not text.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not _is_kept(status) or status.st_size > MOST_BYTES:
            raise OSError(f"{path} is not a file that this user has kept")
        return file.read(MOST_BYTES).decode()


def _is_kept(status: os.stat_result) -> bool:
    """Whether this is a file of this user that nobody else writes to."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE)


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


ACTIVE: ContextVar[DiskCache | None] = ContextVar("ACTIVE", default=None)
OFF = "SYMRES_NO_CACHE"  # the environment variable that turns it off, with any text


def default_cache() -> DiskCache | None:
    """The cache of this user; None where the environment turns it off, or there is no home."""
    if os.environ.get(OFF):
        return None
    folder = default_folder()
    return None if folder is None else DiskCache(folder)


@contextmanager
def caching(cache: DiskCache | None) -> Iterator[None]:
    """Use a cache, or none, as long as the context lasts; what is new is on disk at its end."""
    token = ACTIVE.set(cache)
    try:
        yield
    finally:
        ACTIVE.reset(token)
        if cache is not None:
            cache.flush()
