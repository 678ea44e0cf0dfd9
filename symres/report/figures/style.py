"""The style of all figures: type, formats, and files that are the same for the same picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import files
from ...core.errors import DeclarationError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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

SAME_CURVE = " (the same curve)"  # behind the label of a curve that covers another one
_SAME = 5e-3  # relative difference of such curves
_WIDE, _DECADES = 6, 1000  # ratios of ends beyond which fewer, and no, numbers between powers of ten are written
_NUMBERS = 8  # at most, on an axis that is narrower: three at least


def coincide(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> bool:
    """Whether two curves cannot be told from each other, values at the same places."""
    known = np.isfinite(first).all() and np.isfinite(second).all()
    return bool(known and np.allclose(first, second, rtol=_SAME, atol=0))


def number_axis(axes: Axes) -> None:
    """Write round numbers on a logarithmic vertical axis whose range is final, however narrow that is."""
    from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullFormatter, NullLocator

    low, high = axes.get_ylim()
    if high < _WIDE * low:  # at equal distances: powers of ten may all lie outside
        axes.yaxis.set_major_locator(FixedLocator(MaxNLocator(_NUMBERS, steps=[1, 2, 5, 10]).tick_values(low, high)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:.3g}")
    elif high < _DECADES * low:  # few powers of ten: numbers between them are written too
        axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        axes.yaxis.set_major_formatter("{x:.3g}")
        axes.yaxis.set_minor_formatter("{x:.3g}")
    else:
        axes.yaxis.set_minor_formatter(NullFormatter())


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
        raise DeclarationError(f"a figure {path.name}", "unknown format", f"end it with {', '.join(others)} or {last}")
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
