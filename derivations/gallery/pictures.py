"""Run an example of the gallery and collect the figures that it makes, by pyplot or by symres."""

from __future__ import annotations

import importlib
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

EXAMPLES = sorted(path.stem for path in Path(__file__).parent.glob("plot_*.py"))


def pictures(name: str) -> list[Figure]:
    """The figures of an example, in the order in which they were made; without a window.

    Args:
        name: of the example, ``plot_TOPIC_NAME``.
    """
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    example = importlib.import_module(f"{__package__}.{name}")
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    figures += [
        value
        for value in vars(example).values()
        if isinstance(value, Figure) and value not in figures
    ]
    return figures
