"""A phase diagram: its numbers, and the picture of them, with the names of regions where there is most room."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import sympy as sp

from ...core.display import Fact, Plain, Shown, folded, listed
from ...results.phases import CRITICAL
from ...studies.phase_plane import Line, length_inside
from ..latex.displays import latex
from .phase_colours import draw_colours, draw_depths
from .style import ring, write_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_SIZE, _DENSITY = (5.6, 4.2), 200  # of a figure: inches, pixels in one
_HATCH, _LINES = "////", (0.0, 0.0, 0.0, 0.35)  # where the kernel diverges
_IN_A_ROW, _LETTERS, _HANDLE = 3, 110, 6  # of the legend: entries and letters in a row, letters that a mark takes
_VEIL = "0.3"  # over kernels that have not converged
_SAME = 1e-3  # relative difference that no colour shows
_SHORTEST = 0.01  # part of a line inside the picture, in its widths: a shorter one is not seen


@dataclass(frozen=True, repr=False)
class PhaseDiagram(Shown):
    """The end of a deep network, its kernel, chi_perp and perhaps a depth scale, over two parameters.

    Args:
        x, y: names of the parameters.
        xs, ys: their values, increasing, of lengths n and m.
        chi_perp: (m, n), at the end of the network.
        kernel: (m, n), infinite where it diverges.
        settled: (m, n), whether the kernel has converged, to a number, 0 or infinity; where it has not, the values are
            those of the deepest layer.
        lines: critical lines as (xs, ys, whether the kernel flows there).
        points: critical points as (x, y).
        title: what it is about.
        advised: where advice on initialisation lies, (x, y).
        advice: what it is for, in words, and why it is no point of a critical line where it is none.
        depth: the deepest layer.
        quantity: what colours show: "chi_perp", "xi_q" or "xi_c".
        depths: (m, n), xi_q or xi_c in layers: infinite where networks are critical, nan where the kernel ends at 0,
            diverges or has not converged; None where colours show chi_perp.

    Examples:
        >>> diagram = sr.phase_diagram("sin", x=("C_W", "1/2", 2), y=("C_b", 0, "1/2"), points=4, depth=200)
        >>> diagram.points  # C_W and C_b
        ((1.0, 0.0),)
        >>> round(float(diagram.chi_perp[0, -1]), 6)  # at C_W = 2 and C_b = 0
        1.203188
    """

    x: str
    y: str
    xs: np.ndarray
    ys: np.ndarray
    chi_perp: np.ndarray
    kernel: np.ndarray
    settled: np.ndarray
    lines: tuple[Line, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    title: str = ""
    advised: tuple[float, float] | None = None
    advice: str = ""
    depth: int = 0
    quantity: str = "chi_perp"
    depths: np.ndarray | None = None

    def _title(self) -> str:
        colours = "" if self.depths is None else f" with {self.quantity}"
        return f"phase diagram over {self.x} and {self.y}{colours}"

    def _facts(self) -> list[Fact]:
        """What is drawn, in numbers."""
        facts = []
        for name, values in ((self.x, self.xs), (self.y, self.ys)):
            formula = rf"{_label(name).strip('$')} \in [{values[0]:g}, {values[-1]:g}]"
            facts.append(Fact("", f"{name} from {values[0]:g} to {values[-1]:g}, {len(values)} values", formula))
        return [
            *facts,
            # how much of the picture each phase takes: ``ordered 62 %, chaotic 38 %``
            Fact("phases", ", ".join(f"{name} {region.mean():.0%}" for name, region in self._phases.items())),
            Fact("critical lines", str(len(self.lines))),
            *(Fact("critical point", f"{self.x} = {x:.10g}, {self.y} = {y:.10g}") for x, y in self.points),
            *(Fact(self.advice, f"{self.x} = {x:.10g}, {self.y} = {y:.10g}") for x, y in filter(None, (self.advised,))),
        ]

    def record(self) -> dict[str, Plain]:
        """The diagram as plain data: axes, shares of the phases, critical lines and points, what is advised.

        Examples:
            >>> record = sr.phase_diagram("abs", x=("C_W", "1/2", 2), y=("C_b", 0, 1), points=4, depth=100).record()
            >>> record["critical_points"], record["axes"]["C_W"]
            ([{'C_W': 1.0, 'C_b': 0.0}], [0.5, 2.0])
        """
        lines = [
            {self.x: list(map(float, xs)), self.y: list(map(float, ys)), "reached": at} for xs, ys, at in self.lines
        ]
        return {
            "title": self.title,
            "axes": {name: [float(ends[0]), float(ends[-1])] for name, ends in ((self.x, self.xs), (self.y, self.ys))},
            "quantity": self.quantity,
            "phases": {name: float(region.mean()) for name, region in self._phases.items()},
            "critical_lines": cast(Plain, lines),
            "critical_points": [{self.x: x, self.y: y} for x, y in self.points],
            "advised": None if self.advised is None else dict(zip((self.x, self.y), self.advised, strict=True)),
            "advice": self.advice,
        }

    @property
    def _phases(self) -> dict[str, np.ndarray]:
        """The phases that are seen, and what has not converged, as masks."""
        regions = {**self.regions, "not converged": ~self.settled}
        return {name: region for name, region in regions.items() if visible(region).any()}

    def _repr_html_(self) -> str:
        """The picture, and its numbers folded."""
        from .styled_figure import styled

        with styled(*_SIZE) as figure:
            self.plot(figure.subplots())
        return figure.in_html(str(self)) + folded(self._title(), listed(self._facts()))

    @property
    def regions(self) -> dict[str, np.ndarray]:
        """The phases by name, as masks of shape (m, n); what has not converged belongs to none.

        Returns:
            "ordered" (chi_perp < 1), "chaotic" (> 1), "critical", and "diverging", where the kernel is infinite.

        Examples:
            >>> diagram = sr.phase_diagram("abs", x=("C_W", "1/2", 2), y=("C_b", "1/10", "1/2"), points=4, depth=200)
            >>> diagram.regions["ordered"][0].tolist()  # C_W is 1/2, 1, 3/2, 2
            [True, False, False, False]
        """
        bounded = self.settled & np.isfinite(self.kernel)
        critical = np.abs(self.chi_perp - 1) < CRITICAL
        return {
            "ordered": bounded & ~critical & (self.chi_perp < 1),
            "chaotic": bounded & ~critical & (self.chi_perp > 1),
            "critical": bounded & critical,
            "diverging": np.isinf(self.kernel),
        }

    def plot(self, axes: Axes) -> None:
        """Draw it into matplotlib axes, with a bar of colours beside them.

        Examples:
            >>> from matplotlib.figure import Figure
            >>> figure = Figure()
            >>> axes = figure.subplots()
            >>> sr.phase_diagram("abs", x=("C_W", "1/2", 2), y=("C_b", 0, 1), points=4, depth=100).plot(axes)
            >>> axes.get_xlabel(), axes.get_ylabel()
            ('$C_W$', '$C_b$')
        """
        from matplotlib.colors import ListedColormap

        if self.depths is None:
            draw_colours(axes, self.xs, self.ys, self.chi_perp)
        else:
            draw_depths(axes, self.xs, self.ys, self.depths, _label(self.quantity))
        if self._moving.any():
            veil = np.ma.masked_where(~self._moving, np.ones(self._moving.shape))
            grey = ListedColormap([_VEIL])
            axes.pcolormesh(self.xs, self.ys, veil, cmap=grey, alpha=0.5, shading="nearest", rasterized=True)
        if self._diverges.any():
            region = axes.contourf(
                self.xs, self.ys, self._diverges.astype(float), levels=[0.5, 1.5], colors="none", hatches=[_HATCH]
            )
            region.set(edgecolor=_LINES, linewidth=0)
        for xs, ys, reachable in self.lines:
            axes.plot(xs, ys, color="black", linewidth=1.4, linestyle="-" if reachable else ":")
        for point in self.points:
            axes.plot(
                *point, "k*", markersize=11, markeredgecolor="white", markeredgewidth=0.7, clip_on=False, zorder=5
            )
        if self.advised is not None:
            axes.add_line(ring(self.advised[:1], self.advised[1:]))
        draw_names(axes, self.xs, self.ys, {**self.regions, "still changing": ~self.settled}, below=self._constant)
        axes.set_title(self.title, fontsize=9)
        axes.set(xlim=(self.xs[0], self.xs[-1]), ylim=(self.ys[0], self.ys[-1]))
        axes.set(xlabel=_label(self.x), ylabel=_label(self.y))
        if marks := self._legend:
            words, handles = zip(*marks.items(), strict=True)
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "columnspacing": 1.2, "handlelength": 1.5}
            longest = max(len(line) for entry in words for line in entry.splitlines())
            columns = max(1, min(len(marks), _IN_A_ROW, _LETTERS // (longest + _HANDLE)))
            axes.legend(handles, words, fontsize=7, ncols=columns, frameon=False, **place)

    @property
    def _constant(self) -> str:
        """What chi_perp is in the whole picture; empty if its colour changes."""
        low, high = float(np.min(self.chi_perp)), float(np.max(self.chi_perp))
        if low != high and not high - low <= _SAME * low:
            return ""
        return r"$\chi_\perp = \infty$" if math.isinf(low) else rf"$\chi_\perp = {low:.4g}$"

    @property
    def _diverges(self) -> np.ndarray:
        return visible(np.isinf(self.kernel))

    @property
    def _moving(self) -> np.ndarray:
        return visible(~self.settled)

    @property
    def _legend(self) -> dict[str, Artist]:
        """The legend: words and the marks that they explain, of what is seen."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ways = {line[2] for line in self.lines if length_inside(line, self.xs, self.ys) > _SHORTEST}
        marks: dict[str, Artist] = {}
        if True in ways:
            marks[r"$\chi_\perp = 1$"] = Line2D([], [], color="black", linewidth=1.4)
        if False in ways:
            marks[r"$\chi_\perp = 1$, the kernel flows away"] = Line2D([], [], color="black", linestyle=":")
        if self.points:
            marks["critical point"] = Line2D([], [], color="black", marker="*", linestyle="", markersize=8)
        if self.advised is not None:
            marks[self.advice] = ring(size=7)
        if self._diverges.any():
            marks["kernel grows without bound"] = Patch(facecolor="none", edgecolor=_LINES, hatch=_HATCH, linewidth=0)
        if self._moving.any():
            marks[f"kernel still changes in layer {self.depth}"] = Patch(color=_VEIL, alpha=0.5)
        return marks

    def save(self, path: str | Path) -> Path:
        """Write the drawing to a PDF, PNG or SVG file, whole or not at all.

        Raises:
            DeclarationError: another ending, or a folder that cannot be written.

        Examples:
            >>> import pathlib, tempfile
            >>> diagram = sr.phase_diagram("abs", x=("C_W", "1/2", 2), y=("C_b", 0, 1), points=4, depth=100)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     diagram.save(pathlib.Path(folder) / "phases.pdf").name
            'phases.pdf'
        """
        return write_figure(path, lambda figure: self.plot(figure.subplots()), figsize=_SIZE, dpi=_DENSITY)


def _label(name: str) -> str:
    return f"${latex(sp.Symbol(name))}$"


# ---- names of regions, each where there is most room for it ---------------------------------------------------------

_LETTER, _HEIGHT = 0.013, 0.032  # half the size of a letter and of a line, in widths and heights of the axes
_ROOMS = (8.0, 6.0, 4.0, 3.0, 2.0, 1.5, 1.0)  # sizes of a box around the name that are tried, in sizes of the name
_THIN = 1 / 200  # of the axes: what is not wider lies under a line


def draw_names(axes: Axes, xs: np.ndarray, ys: np.ndarray, regions: Mapping[str, np.ndarray], below: str = "") -> None:
    """Write the name of every region that has room for it.

    Args:
        axes: to draw into.
        xs: values along the horizontal axis.
        ys: those along the vertical one.
        regions: (len(ys), len(xs)) masks by name.
        below: written under the name of a region that takes the whole plane.
    """
    from matplotlib.patheffects import withStroke

    for name, region in regions.items():
        if (middle := roomiest(region, len(name))) is not None:
            row, column = middle
            label = f"{name}\n{below}" if below and region.all() else name
            words = axes.text(xs[column], ys[row], label, ha="center", va="center", fontsize=10, zorder=7)
            words.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def roomiest(region: np.ndarray, letters: int) -> tuple[int, int] | None:
    """Row and column of the middle of the largest box in a region that is shaped like a name; None if none fits."""
    rows, columns = region.shape
    for room in _ROOMS:
        half = int(room * _HEIGHT * rows), int(room * _LETTER * letters * columns)
        if (fits := eroded(region, half)).any():
            places = np.argwhere(fits)
            middle = places.mean(axis=0)
            row, column = places[np.argmin(np.abs(places - middle).sum(axis=1))]
            return int(row), int(column)
    return None


def eroded(region: np.ndarray, half: tuple[int, int]) -> np.ndarray:
    """Where a box of 2 half + 1 points, rows and columns, lies inside a region."""
    from scipy.ndimage import minimum_filter  # here, because it takes longer to import than a page to print

    return np.asarray(minimum_filter(region, [2 * reach + 1 for reach in half], mode="constant", cval=0))


def visible(region: np.ndarray) -> np.ndarray:
    """The part of a region that is wider than a line: what a line or a mark covers is left out."""
    half = round(_THIN * region.shape[0]), round(_THIN * region.shape[1])
    widened = np.pad(region, [(reach, reach) for reach in half], mode="edge")
    kept = ~eroded(~eroded(widened, half), half)  # true all along the edge, which goes with the padding
    return kept[half[0] : half[0] + region.shape[0], half[1] : half[1] + region.shape[1]]
