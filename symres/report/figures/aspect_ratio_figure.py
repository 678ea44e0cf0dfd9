"""The plot of the optimal aspect ratio over the weight of the skip connection, beside the published one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...results.annotated_numbers import OUTPUTS, GrowthCurve
from .style import SAME_CURVE, coincide, number_axis, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COMPLETE, _PUBLISHED = "#0072B2", "#D55E00"


def can_be_drawn(curve: GrowthCurve | None) -> bool:
    """Whether there is a curve: a layer with a free weight of its skip connection."""
    return curve is not None and len(curve.rows) > 1


def draw_aspect_ratio(path: Path, curve: GrowthCurve, title: str = "") -> None:
    """Draw nu and r* over gamma.

    Args:
        path: of the file; its ending is the format.
        curve: of a layer with a free gamma.
        title: above the plot.
    """

    def draw(figure: Figure) -> None:
        gammas = [row.gamma for row in curve.rows]
        above, below = figure.subplots(2, 1, sharex=True)
        for axes, complete, published in (
            (above, [r.nu for r in curve.rows], [r.second for r in curve.rows]),
            (below, [r.aspect_ratio for r in curve.rows], [r.published for r in curve.rows]),
        ):
            axes.plot(gammas, published, color=_PUBLISHED, linestyle=(0, (6, 2)), label="PDLT (B.26), (B.36)")
            label = "with what neurons remember" + SAME_CURVE * coincide(complete, published)
            axes.plot(gammas, complete, color=_COMPLETE, label=label)
        above.set_ylabel(r"$\nu(\gamma)$, growth of $V/K^2$ for each layer")
        below.set_ylabel(rf"$r^\star(\gamma)$, optimal depth/width, $n_L = {OUTPUTS}$")
        below.set_xlabel(r"$\gamma$, weight of the skip connection")
        below.set_yscale("log")
        number_axis(below)
        above.set_ylim(bottom=0)
        above.legend(frameon=False)
        if title:
            above.set_title(title, fontsize=10)

    write_figure(path, draw, figsize=(5.2, 5.6))
