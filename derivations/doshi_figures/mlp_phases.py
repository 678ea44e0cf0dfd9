"""Doshi et al. figure 2: phase diagrams of chi_J of deep perceptrons over sigma_w and sigma_b.

Each pixel is the squared Jacobian norm of the last layer of PyTorch networks with erf, ReLU or GELU: plain, with
LayerNorm of preactivations, with skip connections of weight mu = 1, and with both. The lines are those on which symres
derives chi_J = 1 (solid where the kernel flows there), stars are critical points; the table has chi_J - mu^2, measured
over theory at the same depth, summed over all pixels. With LayerNorm and mu = 1 chi_J is 1 + O(1/depth) at every pixel.
The source has depth 50, width 500 and 100 networks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import symres as sr
from symres.core.progress import Progress

from .findings import Comparison, Findings, Point, main
from .kernel_path import path
from .last_block import Chi, Trial, chi_of_last_block, sphere
from .models.deep_mlp import DeepMlp
from .pixels import Pixels, draw_bar, draw_pixels, over_plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALLOWED = 3.0  # of a finite width: relative shift of chi_J - mu^2 in units of 1/width


@dataclass(frozen=True)
class PhaseSettings:
    """Sizes of networks and pictures.

    Args:
        depth: layers behind the read-in.
        width: neurons.
        networks: averaged over at each pixel.
        columns: values of sigma_w.
        rows: values of sigma_b.
        activations: names.
    """

    depth: int
    width: int
    networks: int
    columns: int
    rows: int
    activations: tuple[str, ...] = ("erf", "relu", "gelu")


FULL, QUICK = PhaseSettings(50, 256, 3, 8, 6), PhaseSettings(10, 64, 3, 3, 2, ("erf",))
WEIGHTS, BIASES = (0.3, 2.7), (0.0, 1.0)  # ranges of sigma_w and sigma_b
LAYERS = (("MLP", "none", 0.0), ("LayerNorm", "pre", 0.0), ("mu = 1", "none", 1.0), ("LayerNorm, mu = 1", "pre", 1.0))


def theory_of(activation: str, norm: str, mu: float) -> sr.Theory:
    """The theory of one layer."""
    gamma = int(mu)
    return sr.derive(sr.residual(activation, gamma=gamma) if norm == "none" else sr.pre_ln(activation, gamma=gamma))


def measured_pixels(
    activation: str, norm: str, mu: float, size: PhaseSettings, seed: int, progress: Progress
) -> Pixels:
    """Chi_J over the plane beside the theory of networks as deep as these."""
    xs, ys = np.linspace(*WEIGHTS, size.columns), np.linspace(*BIASES, size.rows)
    trial = Trial(sphere(2, size.width), size.networks)

    def measure(sigma_w: float, sigma_b: float, place: int) -> Chi:
        def build() -> DeepMlp:
            return DeepMlp(
                size.width, size.width, size.depth, activation, sigma_w=sigma_w, sigma_b=sigma_b, mu=mu, norm=norm
            )

        return chi_of_last_block(build, trial, seed + place * size.networks)

    chi, errors = over_plane(xs, ys, measure, lambda share: progress(f"{activation}, {norm}", share))
    variances = {"C_W": xs[None, :] ** 2, "C_b": ys[:, None] ** 2}
    theory = path(theory_of(activation, norm, mu), size.depth, variances["C_W"] + variances["C_b"], **variances)
    return Pixels(xs, ys, chi, errors, theory.chi[-1], mu**2)


def draw_lines(axes: Axes, theory: sr.Theory) -> None:
    """Critical lines and points of the theory in the plane of standard deviations."""
    diagram = sr.phase_diagram(theory, ("C_W", 0, WEIGHTS[1] ** 2), ("C_b", 0, BIASES[1] ** 2), points=100, depth=300)
    for weights, biases, reachable in diagram.lines:
        axes.plot(np.sqrt(weights), np.sqrt(biases), color="black", lw=1.4, ls="-" if reachable else ":")
    for weight, bias in diagram.points:
        if math.sqrt(weight) > WEIGHTS[0]:
            axes.plot(math.sqrt(weight), math.sqrt(bias), "k*", ms=11, mec="white", mew=0.7, clip_on=False, zorder=5)


def run(size: PhaseSettings, progress: Progress) -> Findings:
    """Measure and draw all panels."""
    from matplotlib.figure import Figure

    count = len(size.activations)
    figure = Figure(figsize=(11.0, 0.9 + 2.3 * count), layout="constrained")
    grid = figure.subplots(count, len(LAYERS), squeeze=False, sharex=True, sharey=True)
    comparisons: list[Comparison] = []
    points: list[Point] = []
    panels = [(activation, layer) for activation in size.activations for layer in LAYERS]
    for number, (axes, (activation, (label, norm, mu))) in enumerate(zip(grid.ravel(), panels, strict=True)):

        def told(what: str, share: float, done: int = number) -> None:
            progress(what, (done + share) / grid.size)

        pixels = measured_pixels(activation, norm, mu, size, 10_000 * number, told)
        ratio, error = pixels.ratio
        comparisons.append(Comparison(f"{activation}, {label}", ratio, error, 1.0, ALLOWED / size.width))
        points += pixels.rows(("sigma_w", "sigma_b"), {"activation": activation, "layer": label})
        image = draw_pixels(axes, pixels)
        draw_lines(axes, theory_of(activation, norm, mu))
        axes.set(xlim=WEIGHTS, ylim=BIASES, title=f"{activation}, {label}".replace("mu", "μ"))
    for axes in grid[-1]:
        axes.set_xlabel(r"$\sigma_w$")
    for axes in grid[:, 0]:
        axes.set_ylabel(r"$\sigma_b$")
    draw_bar(figure, image, grid)
    figure.suptitle(
        f"Doshi et al. figure 2: depth {size.depth}, width {size.width}; "
        "lines and stars: theory, dotted where the kernel flows away",
        fontsize=10,
    )
    return Findings(comparisons, points, figure)


if __name__ == "__main__":
    main("mlp_phases", __doc__, run, FULL, QUICK)
