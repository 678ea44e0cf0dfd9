"""The figure of a coordinate check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...report.figures.style import number_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RANGE = 10.0  # the least of a vertical axis


def draw_scaling(
    title: str,
    widths: Sequence[int],
    sizes: Mapping[str, np.ndarray],
    rates: Sequence[float],
    losses: np.ndarray,
    best_rates: Sequence[float],
) -> Figure:
    """Sizes and their changes over the width at some places; below losses over the rate, and the best rates.

    Args:
        title: above the figure.
        widths: ascending.
        sizes: by place, shape (widths, steps + 1): at the start, and how each step has changed it since.
        rates: learning rates, ascending.
        losses: after the last step, shape (widths, rates); infinite where training failed.
        best_rates: of each width.

    Returns:
        A figure that belongs to no window, and shows itself in notebooks.
    """
    from matplotlib import colormaps

    from ...report.figures.styled_figure import styled

    with styled(2.4 * len(sizes) + 0.6, 5.2) as figure:
        above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
        panels = above.subplots(1, len(sizes), squeeze=False)[0]
        for panel, (place, of_place) in zip(panels, sizes.items(), strict=True):
            panel.loglog(widths, of_place[:, 0], color="0.5", linestyle="--", marker="o", markersize=3, label="start")
            for step, column in enumerate(of_place.T[1:], 1):
                color = colormaps["viridis"](0.9 * (step - 1) / max(1, of_place.shape[1] - 2))
                panel.loglog(widths, column, color=color, marker="o", markersize=3, label=f"change after step {step}")
            panel.set_title(place, fontsize=9)
            _over_widths(panel, widths)
        panels[0].set_ylabel("root mean square")
        panels[0].legend(frameon=False, fontsize=7)
        left, right = below.subplots(1, 2)
        for row, (width, of_width) in enumerate(zip(widths, losses, strict=True)):
            color = colormaps["plasma"](0.85 * row / (len(widths) - 1))
            shown = np.isfinite(of_width)
            left.loglog(np.array(rates)[shown], of_width[shown], color=color, label=f"width {width}")
        left.set_ylim(top=min(left.get_ylim()[1], 10 * float(np.median(losses[:, 0]))))  # failures are higher
        left.set_xlabel("learning rate")
        left.set_ylabel("loss after the last step")
        left.legend(frameon=False, fontsize=7)
        right.loglog(widths, best_rates, color="#D55E00", marker="o")
        _over_widths(right, widths)
        right.set_ylabel("best learning rate")
        figure.suptitle(title, fontsize=9)
    return figure


def _over_widths(panel: Axes, widths: Sequence[int]) -> None:
    """The widths as ticks, and a vertical range in which noise does not look like a trend."""
    panel.set_xlabel("width")
    panel.set_xticks(widths, list(map(str, widths)))
    panel.set_xticks([], minor=True)
    low, high = panel.get_ylim()
    wider = max(1.0, _RANGE / (high / low)) ** 0.5
    panel.set_ylim(low / wider, high * wider)
    number_axis(panel)
