"""The README's first picture, and its numbers: what symres is for, in one look.

    python -m derivations.gallery.readme_picture [--out DIR] [--quick]

Three panels: the phase diagram of tanh; kernels of GELU networks, theory as lines and networks of width 512 as dots;
and what depth does to accuracy, 50-layer networks on scikit-learn's digits under four initialisations. Writes
``first_screen.png`` and ``first_screen.json``, which has every number of the picture and the hash of what computed it.
Twelve minutes on two cores; ``--quick`` takes seconds and says nothing about accuracy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections.abc import Callable, Sequence
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

OUT = Path(__file__).parents[2] / "docs" / "_static"
SOURCES = (Path(__file__), Path(training.__file__))  # a change of these makes the numbers old
DEPTH, WIDTH, NETWORKS, SHOWN = 50, 512, 32, 5  # a dot behind every fifth layer
SCHEMES = {"He": ("2", "0"), "LeCun": ("1", "0")}  # C_W and C_b, beside those of the critical point
TRAINED = ("gelu", "mish", "tanh", "erf")
SIZES = training.Sizes(seeds=3)
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"  # of Okabe and Ito
COLOURS = {"He": ORANGE, "LeCun": GREEN, "critical (symres)": BLUE}
BARS = {"PyTorch's default": GREY, "Kaiming": ORANGE, "Xavier": GREEN, "st.init_": BLUE}
LOWEST = 1e-18  # of kernels in the picture

Told = Callable[[float], None]  # is called with the share that is done


def fingerprint() -> str:
    """The hash of the scripts that compute the numbers."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()


def phases() -> tuple[sr.PhaseDiagram, dict[str, Any]]:
    """The phase diagram of tanh, and its critical point and line as numbers."""
    diagram = sr.phase_diagram("tanh", x=("C_W", 0.3, 4), y=("C_b", 0, 1))
    xs, ys, _ = diagram.lines[0]
    regions = {name: float(region.mean()) for name, region in diagram.regions.items()}
    return diagram, {"critical_points": diagram.points, "line": [list(xs)[::10], list(ys)[::10]], "regions": regions}


def schemes() -> dict[str, tuple[float, float, float]]:
    """C_W, C_b and the first kernel of each scheme; inputs have mean square 1, or what the critical point wants."""
    point = sr.derive("gelu").critical_points[0]
    customary = {name: (float(C_W), float(C_b), float(C_W) + float(C_b)) for name, (C_W, C_b) in SCHEMES.items()}
    return {**customary, "critical (symres)": (float(point.C_W), float(point.C_b), float(point.K))}


def network_kernels(C_W: float, C_b: float, K: float, networks: int, width: int) -> np.ndarray:
    """Mean squares of preactivations of PyTorch networks that know nothing of symres, shape (networks, layers)."""
    kernels = np.empty((networks, DEPTH + 1))
    for row in kernels:
        z = torch.randn(width) * K**0.5
        for layer in range(DEPTH + 1):
            row[layer] = float(z.square().mean())
            weight, bias = torch.randn(width, width) * (C_W / width) ** 0.5, torch.randn(width) * C_b**0.5
            z = weight @ torch.nn.functional.gelu(z) + bias
    return kernels


def signals(networks: int = NETWORKS, width: int = WIDTH) -> dict[str, Any]:
    """Kernels over the depth: the theory of each scheme, and medians and quartiles of networks."""
    torch.manual_seed(0)
    theory, curves = sr.derive("gelu"), {}
    for name, (C_W, C_b, K) in schemes().items():
        lower, median, upper = np.quantile(network_kernels(C_W, C_b, K, networks, width), (0.25, 0.5, 0.75), axis=0)
        curves[name] = {
            "C_W": C_W,
            "C_b": C_b,
            "theory": [float(kernel) for kernel in theory.kernels(DEPTH, K, C_W=C_W, C_b=C_b)],
            "lower": lower.tolist(),
            "median": median.tolist(),
            "upper": upper.tolist(),
        }
    return {"networks": networks, "width": width, "curves": curves}


def accuracies(sizes: training.Sizes, told: Told) -> dict[str, Any]:
    """Accuracy on held-out digits of each activation and scheme, at its best learning rate, with standard errors."""
    kinds = [(name, scheme) for name in TRAINED for scheme in training.SCHEMES]
    rows: dict[str, dict[str, list[float]]] = {name: {} for name in TRAINED}
    for position, (name, scheme) in enumerate(kinds):
        seeds = training.trained(name, scheme, sizes, adam=False).accuracies
        rows[name][scheme] = [float(seeds.mean()), float(seeds.std(ddof=1) / math.sqrt(len(seeds)))]
        told((position + 1) / len(kinds))
    return {"seeds": sizes.seeds, "steps": sizes.steps, "width": sizes.width, "depth": sizes.depth, "accuracies": rows}


def draw_signals(axes: Axes, panel: dict[str, Any]) -> None:
    """Theory as lines, networks as dots."""
    for name, curve in panel["curves"].items():
        layers = np.arange(len(curve["theory"]))
        axes.semilogy(layers, curve["theory"], color=COLOURS[name], label=name)
        lower, median, upper = (np.array(curve[key])[::SHOWN] for key in ("lower", "median", "upper"))
        errors = [median - lower, upper - median]
        axes.errorbar(layers[::SHOWN], median, errors, color=COLOURS[name], fmt="o", markersize=4, capsize=2)
    axes.set(ylim=(LOWEST, 1e4), xlabel="layer", ylabel="kernel: mean square of preactivations")
    axes.set_title(f"GELU, width {panel['width']}: theory (lines), networks (dots)")
    axes.legend(frameon=False, loc="lower left")


def draw_accuracies(axes: Axes, panel: dict[str, Any]) -> None:
    """A group of bars for each activation."""
    middle, width = np.arange(len(panel["accuracies"])), 0.2
    for position, (scheme, colour) in enumerate(BARS.items()):
        means, errors = zip(*(row[scheme] for row in panel["accuracies"].values()), strict=True)
        label = "symres" if scheme == "st.init_" else scheme
        axes.bar(middle + (position - 1.5) * width, means, width, yerr=errors, color=colour, label=label, capsize=1.5)
    axes.axhline(0.1, color="black", linestyle=":", linewidth=0.8)
    axes.text(len(middle) - 0.45, 0.105, "guessing", fontsize=7, ha="right", va="bottom")
    axes.set_xticks(middle, list(panel["accuracies"]))
    axes.set(ylim=(0, 1.3), yticks=np.arange(0, 1.1, 0.2), ylabel="test accuracy")
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


def main(words: Sequence[str] | None = None) -> Path:
    """Compute, draw and write; returns the path of the picture."""
    parser = argparse.ArgumentParser(prog="python -m derivations.gallery.readme_picture", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of first_screen.png and .json")
    parser.add_argument("--quick", action="store_true", help="few and small networks")
    chosen = parser.parse_args(words)
    torch.set_flush_denormal(True)  # vanishing gradients would make a processor a hundred times slower
    diagram, critical = phases()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=1.0)
        numbers = {
            "scripts": fingerprint(),
            "phases": critical,
            "signals": signals(3, 64) if chosen.quick else signals(),
            "accuracy": accuracies(training.QUICK if chosen.quick else SIZES, lambda n: bar.update(task, completed=n)),
        }
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.out / "first_screen.png"
    draw(diagram, numbers).savefig(path, dpi=110, metadata={"Software": None})
    path.with_suffix(".json").write_text(json.dumps(numbers, indent=1) + "\n")
    return path


if __name__ == "__main__":
    print(main())
