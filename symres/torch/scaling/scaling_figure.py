"""The figure of a coordinate check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...report.figures.style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .width_scaling import WidthScaling

_RANGE = 10.0  # the least of a vertical axis
_PANELS = 4  # of places, the last one being the output: more would be too small to read


def draw_scaling(found: WidthScaling) -> Figure:
    """Sizes over the width at some places, a line for each step; below losses over the rate, and the best rates.

    Args:
        found: what is drawn.

    Returns:
        A figure that belongs to no window.
    """
    from matplotlib import colormaps, rc_context
    from matplotlib.figure import Figure

    inside = [found.places.index(name) for name in found.inside]
    chosen = np.linspace(0, len(inside) - 1, min(len(inside), _PANELS - 1)).round().astype(int)
    shown = [*(inside[place] for place in chosen), len(found.places) - 1]
    steps = found.sizes.shape[-1]
    with rc_context(STYLE | {"font.family": "STIXGeneral"}):
        figure = Figure(figsize=(2.4 * len(shown) + 0.6, 5.2), layout="constrained")
        above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
        panels = above.subplots(1, len(shown), squeeze=False)[0]
        for panel, row in zip(panels, shown, strict=True):
            for step in range(steps):
                color = colormaps["viridis"](0.9 * step / max(steps - 1, 1))
                sizes = found.sizes[:, :, row, step].mean(axis=1)
                panel.loglog(found.widths, sizes, color=color, marker="o", markersize=3, label=f"step {step}")
            panel.set_title(found.places[row], fontsize=9)
            _over_widths(panel, found.widths)
        panels[0].set_ylabel("size, root mean square")
        panels[0].legend(frameon=False, fontsize=7)
        left, right = below.subplots(1, 2)
        for row, width in enumerate(found.widths):
            color = colormaps["plasma"](0.85 * row / max(len(found.widths) - 1, 1))
            losses = found.losses[row].mean(axis=0)
            known = np.isfinite(losses)
            left.loglog(np.array(found.rates)[known], losses[known], color=color, label=f"width {width}")
        left.set_ylim(top=min(left.get_ylim()[1], 10 * float(np.median(found.losses[:, :, 0]))))  # failures are higher
        left.set_xlabel("learning rate")
        left.set_ylabel("loss after the last step")
        left.legend(frameon=False, fontsize=7)
        right.loglog(found.widths, found.best_rates, color="#D55E00", marker="o")
        _over_widths(right, found.widths)
        right.set_ylabel("best learning rate")
        figure.suptitle(found._title(), fontsize=9)
    return figure


def _over_widths(panel: Axes, widths: Sequence[int]) -> None:
    """The widths as ticks, and a vertical range in which noise does not look like a trend."""
    panel.set_xlabel("width")
    panel.set_xticks(widths, list(map(str, widths)))
    panel.set_xticks([], minor=True)
    low, high = panel.get_ylim()
    wider = max(1.0, _RANGE / (high / low)) ** 0.5
    panel.set_ylim(low / wider, high * wider)
