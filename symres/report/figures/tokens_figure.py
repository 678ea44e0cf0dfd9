"""The plot of a deep stack of tokens: kernel, similarity and Jacobian norm over the layers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...results.token_stack import StackOfTokens
from .style import number_axis, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = "Kernel of a token, cosine of two tokens and averaged partial Jacobian norm of a token behind so many layers."
_COLOUR = "#0072B2"


def draw_tokens(path: Path, stack: StackOfTokens, title: str) -> None:
    """Draw what becomes of tokens.

    Args:
        path: of the file; its ending is the format.
        stack: the rows over the depth.
        title: above the plot.
    """

    def draw(figure: Figure) -> None:
        layers = [row.layers for row in stack.rows]
        panels = figure.subplots(3, 1, sharex=True)
        series = {
            "kernel of a token": [row.kernel for row in stack.rows],
            "cosine of two tokens": [row.similarity for row in stack.rows],
            "APJN of a token": [row.apjn for row in stack.rows],
        }
        for axes, (name, values) in zip(panels, series.items(), strict=True):
            axes.plot(layers, values, "o-", color=_COLOUR, markersize=4)
            axes.set_ylabel(name)
            if min(values) > 0:
                axes.set_yscale("log")
                number_axis(axes)
        panels[1].set_ylim(min(0, *series["cosine of two tokens"]), 1.02)
        panels[2].set_xlabel("layers")
        panels[0].set_title(f"{title}, {stack.tokens} tokens", fontsize=10)

    write_figure(path, draw, figsize=(5.2, 6.0))
