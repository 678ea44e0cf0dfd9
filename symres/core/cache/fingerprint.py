"""What computed a result: the sources of symres, and the versions and the machine below it."""

from __future__ import annotations

import hashlib
import platform
from functools import lru_cache
from pathlib import Path

from ..files import installed

_BELOW = ("sympy", "mpmath", "python-flint", "numpy", "scipy", "rich")  # what results, digits or layout come from


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """A hash of every source file of this package and of what it runs on; another one after any edit or upgrade."""
    package = Path(__file__).resolve().parents[2]
    return fingerprint_of(package)


def fingerprint_of(package: Path) -> str:
    """A hash of the sources in a folder, with their places, and of the versions and the machine.

    Args:
        package: the folder.
    """
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(package.rglob("*.py")):
        _add(found, str(path.relative_to(package)).encode(), path.read_bytes())
    _add(found, platform.python_version().encode(), platform.machine().encode(), platform.system().encode())
    for name in _BELOW:
        _add(found, name.encode(), installed(name).encode())
    return found.hexdigest()


def _add(found: hashlib.blake2b, *parts: bytes) -> None:
    """Each part with its length: no two lists of parts look alike."""
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
