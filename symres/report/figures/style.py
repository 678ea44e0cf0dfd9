"""The style of all figures: type, formats, and files that are the same for the same picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import files
from ...core.errors import DeclarationError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def with_primes(text: str) -> str:
    """LaTeX whose primes stand beside their letters: the STIX prime is raised already, and ``'`` raises it again."""
    return text.replace("'", r"\prime ")


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


def write_figure(path: str | Path, draw: Callable[[Figure], None], **options: Any) -> Path:
    """Draw a figure into a file, whole or not at all.

    Args:
        path: of the file; its ending (.pdf, .png, .svg) is the format.
        draw: fills the figure.
        options: of the figure: its size, its density.

    Raises:
        DeclarationError: another ending, or a folder that cannot be written.
    """
    path = Path(path)
    kind, metadata = format_of(path), METADATA[path.suffix]
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(layout="constrained", **options)
        draw(figure)
        return files.write_whole(path, lambda staged: figure.savefig(staged, format=kind, metadata=metadata))
