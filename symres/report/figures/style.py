"""What all figures share: type, formats, files that are the same for the same picture, and what they show of advice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import files
from ...core.errors import DeclarationError
from ...core.symbols import C_W, C_b
from ...core.words import counted
from ...results.advice.advice import Advice
from ...results.advice.parts import Origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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
_COLOUR = "#CC79A7"
_WHY = {  # a layer need not be critical to be advised
    Origin.BRANCH: "branches so small that all layers together change little",
    Origin.SEARCH: "the setting that changes kernels and gradients least",
    Origin.GIVEN: "these variances were given",
}
_NUMBERS = 8  # at most, on an axis that is narrower: three at least


def coincide(first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray) -> bool:
    """Whether two curves cannot be told from each other, values at the same places."""
    finite = np.isfinite(first).all() and np.isfinite(second).all()
    return bool(finite and np.allclose(first, second, rtol=_SAME, atol=0))


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

    The ending of its path (.pdf, .png, .svg) is the format; options are those of the figure.

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


def advised_numbers(advice: Advice | None) -> dict[str, float]:
    """The numbers of the parameters by name, in units of the layer's variances; empty unless advice holds."""
    if advice is None or not advice.holds:
        return {}
    variances = {C_W.name: advice.C_W, C_b.name: advice.C_b}
    return {**{name: value for name, value in variances.items() if value is not None}, **advice.parameters}


def advised_words(advice: Advice) -> str:
    """What the mark says in a legend."""
    return f"advised for {counted(advice.depth, 'layer')} of width {advice.width}"


def reason_off_the_line(advice: Advice) -> str:
    """Why an advised point does not lie on a critical line."""
    if advice.origin in _WHY:
        return f"not critical: {_WHY[advice.origin]}"
    return "critical for another kernel of the input" + ("" if advice.kernel is None else f", {advice.kernel:.9g}")


def advised_place(
    numbers: Mapping[str, float], x: str, y: str, fixed: Mapping[str, float]
) -> tuple[float, float] | None:
    """Where advised numbers lie in the plane of two parameters, x and y; None if they are not in this plane.

    ``fixed`` has the numbers of all other parameters in it.
    """
    same = all(math.isclose(numbers[name], value, rel_tol=1e-9) for name, value in fixed.items() if name in numbers)
    return (numbers[x], numbers[y]) if same and x in numbers and y in numbers else None


def ring(xs: Sequence[float] = (), ys: Sequence[float] = (), size: float = 11) -> Line2D:
    """The mark: a ring, which leaves that of a critical point visible where both are one."""
    from matplotlib.lines import Line2D

    mark = Line2D(xs, ys, linestyle="", marker="o", markersize=size, markerfacecolor="none", color=_COLOUR, zorder=6)
    mark.set(markeredgewidth=2, clip_on=False)
    return mark
