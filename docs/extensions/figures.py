"""The gallery: figures of symres.

sphinx-gallery collects figures of pyplot. Figures of symres belong to no window: they are collected from the names of
the example, each once.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_SEEN: list[Figure] = []  # kept alive: the identity of a figure that is gone could come back
_DENSITY = 110  # pixels in an inch


def scraper(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Write the figures that a block has made, and the reStructuredText that shows them.

    Args:
        block: its kind, its text and its line.
        block_vars: what sphinx-gallery knows of it: names of the example, paths for images.
        gallery_conf: the configuration of sphinx-gallery.
    """
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if not isinstance(value, Figure) or hasattr(value, "number"):  # pyplot's keep their number when they are closed
            continue
        if not any(value is seen for seen in _SEEN):
            _SEEN.append(value)
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=_DENSITY)
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """Forget the figures of the last example."""
    _SEEN.clear()
