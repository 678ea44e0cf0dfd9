"""The README's first picture, and its numbers: what symres is for, in one look.

    python -m derivations.gallery.readme_picture [--out DIR] [--quick | --redraw]

Three panels: the phase diagram of tanh; kernels of GELU networks, theory as lines and networks of width 512 as dots;
and what depth does to accuracy, 50-layer networks on scikit-learn's digits under four initialisations. Writes
``first_screen.png`` and ``first_screen.json``, which has every number of the picture and the hash of what computed it.
A quarter of an hour on one core; ``--quick`` takes seconds and says nothing about accuracy, and ``--redraw`` draws the
numbers that are there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import Progress

import symres as sr

from .. import trained_initialisation as training
from .first_screen import SIZES, accuracies, fingerprint, phases, signals

OUT = Path(__file__).parents[2] / "docs" / "_static"
DIGITS = 6
SHOWN = 5  # a dot behind every fifth layer
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"  # of Okabe and Ito
COLOURS = {"He": ORANGE, "LeCun": GREEN, "critical (symres)": BLUE}
BARS = {"PyTorch's default": GREY, "Kaiming": ORANGE, "Xavier": GREEN, "st.init_": BLUE}
LOWEST = 1e-18  # of kernels in the picture


def draw_signals(axes: Axes, panel: dict[str, Any]) -> None:
    """Theory as lines, networks as dots."""
    for name, curve in panel["curves"].items():
        layers = np.arange(len(curve["theory"]))
        axes.semilogy(layers, curve["theory"], color=COLOURS[name], label=name)
        lower, median, upper = (
            np.array(curve[key])[::SHOWN] for key in ("lower", "median", "upper")
        )
        errors = [median - lower, upper - median]
        axes.errorbar(
            layers[::SHOWN],
            median,
            errors,
            color=COLOURS[name],
            fmt="o",
            markersize=4,
            capsize=2,
        )
    axes.set(
        ylim=(LOWEST, 1e4), xlabel="layer", ylabel="kernel: mean square of preactivations"
    )
    axes.set_title(f"GELU, width {panel['width']}: theory (lines), networks (dots)")
    axes.legend(frameon=False, loc="lower left")


def draw_accuracies(axes: Axes, panel: dict[str, Any]) -> None:
    """A group of bars for each activation."""
    middle, width = np.arange(len(panel["accuracies"])), 0.2
    for position, (scheme, colour) in enumerate(BARS.items()):
        means, errors = zip(
            *(row[scheme] for row in panel["accuracies"].values()), strict=True
        )
        label = "symres" if scheme == "st.init_" else scheme
        axes.bar(
            middle + (position - 1.5) * width,
            means,
            width,
            yerr=errors,
            color=colour,
            label=label,
            capsize=1.5,
        )
    axes.axhline(0.1, color="black", linestyle=":", linewidth=0.8, label="guessing")
    axes.set_xticks(middle, list(panel["accuracies"]))
    axes.set(ylim=(0, 1.35), yticks=np.arange(0, 1.1, 0.2), ylabel="test accuracy")
    axes.set_title(f"{panel['depth']}-layer MLPs, digits, {panel['steps']} steps")
    axes.legend(frameon=False, ncols=2, loc="upper center")


def draw(diagram: sr.PhaseDiagram, numbers: dict[str, Any]) -> Figure:
    """The picture."""
    figure = Figure(figsize=(13.5, 4.0), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    diagram.plot(left)
    left.set_title("tanh: where deep networks are trainable", fontsize=11)
    draw_signals(middle, numbers["signals"])
    draw_accuracies(right, numbers["accuracy"])
    for axes in (middle, right):
        axes.title.set_fontsize(11)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def rounded(value: Any) -> Any:
    """Floats of a document with the digits that anybody reads."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def main(words: Sequence[str] | None = None) -> Path:
    """Compute, draw and write; returns the path of the picture."""
    parser = argparse.ArgumentParser(
        prog="python -m derivations.gallery.readme_picture", description=__doc__
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, help="folder of first_screen.png and .json"
    )
    parser.add_argument("--quick", action="store_true", help="few and small networks")
    parser.add_argument(
        "--redraw", action="store_true", help="draw the numbers that are there"
    )
    chosen = parser.parse_args(words)
    torch.set_flush_denormal(
        True
    )  # vanishing gradients would make a processor a hundred times slower
    path = chosen.out / "first_screen.png"
    diagram, critical = phases()
    if chosen.redraw:
        numbers = json.loads(path.with_suffix(".json").read_text())
    else:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("training", total=1.0)
            sizes = training.QUICK if chosen.quick else SIZES
            numbers = {
                "scripts": fingerprint(),
                "phases": critical,
                "signals": signals(3, 64) if chosen.quick else signals(),
                "accuracy": accuracies(
                    sizes, lambda share: bar.update(task, completed=share)
                ),
            }
        chosen.out.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(rounded(numbers), indent=1) + "\n")
    draw(diagram, numbers).savefig(path, dpi=110, metadata={"Software": None})
    return path


if __name__ == "__main__":
    print(main())
