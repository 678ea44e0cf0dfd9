"""Libraries of extras: what is missing is named with the extra that brings it."""

from __future__ import annotations

from ..core.errors import SymresError
from ..core.foreign import is_installed


def require(asked: str, extra: str, *packages: str) -> None:
    """Make sure that libraries are installed, without importing them.

    Args:
        asked: what needs them.
        extra: the extra of symres that brings them.
        packages: the names under which they are imported.

    Raises:
        SymresError: one is missing.
    """
    missing = [name for name in packages if not is_installed(name)]
    if missing:
        raise SymresError(asked, f"{' and '.join(missing)} not installed", f"pip install symres[{extra}]")
