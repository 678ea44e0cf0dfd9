"""The style of all figures: type, formats, and files that are the same for the same picture."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import DeclarationError

STYLE = {
    "font.size": 10,
    "font.family": "serif",
    "font.serif": ["STIXGeneral"],
    "mathtext.fontset": "stix",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "symres",  # the same picture gives the same file
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
METADATA: dict[str, dict[str, None]] = {
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
    ".svg": {"Date": None},
}


def format_of(path: Path) -> str:
    """The format of a figure, from the ending of its file.

    Raises:
        DeclarationError: it is none of those known.
    """
    if path.suffix not in METADATA:
        *others, last = METADATA
        raise DeclarationError(
            f"a figure {path.name}", "its format is unknown", f"end it with {', '.join(others)} or {last}"
        )
    return path.suffix[1:]
