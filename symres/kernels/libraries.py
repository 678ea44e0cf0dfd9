"""Libraries of extras: what is missing is named with the extra that brings it."""

from __future__ import annotations

from importlib.util import find_spec

from ..core.errors import SymresError


def require(asked: str, extra: str, *packages: str) -> None:
    """Make sure that libraries are installed, without importing them.

    Args:
        asked: what needs them.
        extra: the extra of symres that brings them.
        packages: the names under which they are imported.

    Raises:
        SymresError: one is missing.
    """
    missing = [name for name in packages if not _installed(name)]
    if missing:
        raise SymresError(asked, f"{' and '.join(missing)} not installed", f"pip install symres[{extra}]")


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # its import has been forbidden
        return False
