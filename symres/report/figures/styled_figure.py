"""A figure of matplotlib that keeps the style of all figures wherever it is drawn, and shows itself in notebooks.

Imports matplotlib: import this module where a figure is made.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from .style import METADATA, STYLE

_DENSITY = 110  # pixels in an inch of a notebook


class StyledFigure(Figure):
    """A figure that belongs to no window: notebooks show it by its PNG.

    IPython shows figures of pyplot only, and fonts are looked up when a figure is drawn, not when it is made.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        with rc_context(STYLE):
            super().__init__(*args, **{"layout": "constrained", **options})

    def savefig(self, *args: Any, **options: Any) -> None:
        """Write the figure, as matplotlib does, in the style of all figures."""
        with rc_context(STYLE):
            super().savefig(*args, **options)

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png", dpi=_DENSITY, metadata=METADATA[".png"])
        return stream.getvalue()

    def in_html(self, words: str) -> str:
        """An image that stands in the page itself; the words are for readers who do not see it."""
        data = base64.b64encode(self._repr_png_()).decode()
        return f'<img alt="{html.escape(words)}" src="data:image/png;base64,{data}">'


@contextmanager
def styled(width: float, height: float) -> Iterator[StyledFigure]:
    """A context in which a figure of so many inches is filled in the style of all figures."""
    with rc_context(STYLE | {"font.family": "STIXGeneral"}):  # by its name: a canvas may be drawn without the style
        yield StyledFigure(figsize=(width, height))
