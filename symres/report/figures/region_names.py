"""Names of the regions of a plane, each where there is most room for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
            told = f"{name}\n{below}" if below and region.all() else name
            words = axes.text(xs[column], ys[row], told, ha="center", va="center", fontsize=10, zorder=7)
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
    kept = region
    for axis, reach in enumerate(half):
        total = np.cumsum(np.moveaxis(kept, axis, 0), axis=0, dtype=int)
        total = np.concatenate([np.zeros_like(total[:1]), total])
        size = 2 * reach + 1
        inside = np.zeros_like(np.moveaxis(kept, axis, 0))
        if size <= len(inside):
            inside[reach : len(inside) - reach] = total[size:] - total[:-size] == size
        kept = np.moveaxis(inside, 0, axis)
    return kept


def visible(region: np.ndarray) -> np.ndarray:
    """The part of a region that is wider than a line: what a line or a mark covers is left out."""
    half = round(_THIN * region.shape[0]), round(_THIN * region.shape[1])
    widened = np.pad(region, [(reach, reach) for reach in half], mode="edge")
    kept = ~eroded(~eroded(widened, half), half)  # true all along the edge, which goes with the padding
    return kept[half[0] : half[0] + region.shape[0], half[1] : half[1] + region.shape[1]]
