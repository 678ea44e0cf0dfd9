"""Texts by key in a folder: written whole, checked when read, bounded in size.

Two processes may use one folder. A file is written beside its place and moved there in one step, so that a reader sees
the old text or the new one. What cannot be read, or is not what was written, counts as absent; what cannot be written
is not kept. No result depends on whether there is a cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .fingerprint import fingerprint

Key = tuple[str, ...]

MOST_BYTES = 64 * 2**20  # of all files together
_AFTER_PRUNING = 0.75  # of them, when older files have been removed
_MOST_ENTRIES = 4096  # of one subject: the last ones stay
_SUFFIX = ".kept"


def default_folder() -> Path | None:
    """Where programs of this system keep what can be computed again; None for a user without a home."""
    if chosen := os.environ.get("SYMRES_CACHE_DIR"):
        return Path(chosen).expanduser()
    if not any(os.environ.get(name) for name in ("XDG_CACHE_HOME", "HOME", "LOCALAPPDATA", "USERPROFILE")):
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "symres" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "symres"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "symres"


@dataclass(frozen=True)
class DiskCache:
    """A folder of kept results.

    Args:
        folder: where they are; it is made when the first one is written.
        source: what computed them: results of another source are not seen.
        most_bytes: size of all files together beyond which the oldest are removed.
    """

    folder: Path
    source: str = field(default_factory=fingerprint)
    most_bytes: int = MOST_BYTES
    _pending: dict[Key, dict[str, str]] = field(default_factory=dict, compare=False)
    _read: dict[Key, dict[str, str]] = field(default_factory=dict, compare=False)

    def recall(self, subject: Key, name: str, compute: Callable[[], str]) -> str:
        """A result of one subject, kept or computed now; what is new is written by ``flush``.

        Args:
            subject: what the results in one file are about.
            name: of the result.
            compute: finds it; whatever it raises is raised.
        """
        known = self._entries(subject)
        if name not in known:
            known[name] = self._pending.setdefault(subject, {})[name] = compute()
        return known[name]

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

    def clear(self) -> int:
        """Remove all files, those of other sources too; returns how many."""
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
            checksum, _, body = path.read_text(encoding="utf-8").partition("\n")
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
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
        except OSError:  # nowhere to keep anything
            return
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(f"{_digest(body)}\n{body}")
            os.replace(temporary, self._path(subject))
        except OSError:
            temporary.unlink(missing_ok=True)
        except BaseException:  # an interrupt too leaves nothing behind
            temporary.unlink(missing_ok=True)
            raise

    def _files(self) -> list[tuple[float, int, Path]]:
        """(time of the last use, bytes, path) of every file, also of one that a killed process has left."""
        found = []
        for pattern in (f"*{_SUFFIX}", "*.tmp"):
            for path in self.folder.glob(pattern):
                try:
                    status = path.stat()
                except OSError:  # another process was faster
                    continue
                found.append((status.st_mtime, status.st_size, path))
        return sorted(found)

    def _prune(self) -> None:
        files = self._files()
        total = sum(size for _, size, _ in files)
        if total <= self.most_bytes:
            return
        for _, size, path in files:
            if total <= _AFTER_PRUNING * self.most_bytes:
                return
            total -= size * _removed(path)


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
