"""Colours of a phase diagram: chi_perp white at 1, and on both sides as far as the values go; depths brighter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import TwoSlopeNorm

_COLOURS = "RdBu_r"
_LEAST = 0.02  # of the shade at an end of the scale, what fifty layers make a factor of e: smaller ones stay pale
_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 100)
_APART = 0.1  # of the bar, between ticks
_DEEPEST = 1000.0  # layers that colours tell apart: few networks have more
_LEVELS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # depths of contour lines


def shade(chi: np.ndarray | float) -> np.ndarray:
    """A number between -1 for chi_perp = 0 and 1 for infinity, 0 for 1: chi and 1/chi have opposite ones."""
    chi = np.asarray(chi, dtype=float)
    with np.errstate(divide="ignore"):
        return np.where(chi <= 1, chi - 1, 1 - 1 / chi)


def scale(chi: np.ndarray) -> TwoSlopeNorm:
    """The scale of shades that ends where the values end, on either side of 1."""
    from matplotlib.colors import TwoSlopeNorm

    shades = shade(chi[~np.isnan(chi)])
    return TwoSlopeNorm(0.0, min(shades.min(initial=0.0), -_LEAST), max(shades.max(initial=0.0), _LEAST))


def draw_colours(axes: Axes, xs: np.ndarray, ys: np.ndarray, chi: np.ndarray) -> None:
    """The values of chi_perp over a plane, with a bar of colours that says which phase is on which side of 1."""
    norm = scale(chi)
    image = axes.pcolormesh(xs, ys, shade(chi), cmap=_COLOURS, norm=norm, shading="nearest", rasterized=True)
    ends = [value for value in (np.nanmin(chi), np.nanmax(chi)) if abs(shade(value)) >= _LEAST]
    kept: list[float] = []  # ticks that do not cover each other, those nearest to 1 first
    for tick in (1.0, *ends, *sorted(_TICKS, key=lambda tick: abs(float(shade(tick))))):
        at = [float(norm(shade(value))) for value in (tick, *kept)]
        if 0 <= at[0] <= 1 and all(abs(at[0] - other) >= _APART for other in at[1:]):
            kept.append(tick)
    bar = axes.figure.colorbar(image, ax=axes, ticks=[float(shade(tick)) for tick in kept])
    bar.ax.set_yticklabels([r"$\infty$" if math.isinf(tick) else f"{tick:.3g}" for tick in kept])
    bar.set_label(r"ordered $\leftarrow\;\chi_\perp\;\rightarrow$ chaotic")


def draw_depths(axes: Axes, xs: np.ndarray, ys: np.ndarray, depths: np.ndarray, label: str) -> None:
    """Depths in layers over a plane, on a logarithmic scale, with contour lines and a bar; nothing where they are nan.

    Args:
        axes: to draw into.
        xs: values along the horizontal axis.
        ys: those along the vertical one.
        depths: (len(ys), len(xs)), positive, 0, infinite or nan.
        label: of the bar, in mathtext.
    """
    from matplotlib.colors import LogNorm

    finite = np.ma.masked_invalid(np.clip(depths, 1.0, _DEEPEST))
    low, high = (float(finite.min()), float(finite.max())) if finite.count() else (1.0, _DEEPEST)
    norm = LogNorm(low, max(high, 2 * low))
    image = axes.pcolormesh(xs, ys, finite, cmap="viridis", norm=norm, shading="nearest", rasterized=True)
    if levels := [level for level in _LEVELS if low < level < high]:
        axes.clabel(axes.contour(xs, ys, finite, levels=levels, colors="white", linewidths=0.6), fmt="%d", fontsize=7)
    bar = axes.figure.colorbar(image, ax=axes)
    bar.ax.yaxis.set_major_formatter("{x:g}")
    bar.set_label(f"{label}, layers")
