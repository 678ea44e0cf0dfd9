"""Doshi et al. figure 4: chi_J of the last block of ResNet110 with LayerNorm, over sigma_w, sigma_b and mu.

At mu = 1 chi_J is 1 + O(1/depth) for all sigma_w and sigma_b; at mu < 1 the network is ordered. The source explains the
latter by kernels that are not diagonal in pixels (appendix B, "likely"). Both measurement and theory contradict this:
it is the padding. With circular padding, whose kernels are no more diagonal, chi_J is that of the fully connected
network, 1 at sigma_b = 0 for all mu (but for the depth that it takes to get there, near mu = 1); zero padding makes it
less than 1. 20 networks of one stage of 18 blocks, 192 channels and 8 x 8 pixels at mu = 0, sigma_b = 0: 0.840 +- 0.016
with zero padding (theory 0.874), 0.986 +- 0.034 with circular padding (theory 1). The theory is what symres derives for
the blocks on images with covariances of their own, at infinitely many channels (``kernels_of_pixels``). The source has
images of CIFAR-10, 32 x 32 pixels, and 100 to 200 networks; here the images are random, of 16 x 16 pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symres.core.progress import Progress

from .findings import Comparison, Findings, Point, main
from .kernels_of_pixels import chi_of_last_block as chi_of_wide_network
from .last_block import Chi, Trial, chi_of_last_block, images
from .models.resnet import BLOCKS, CHANNELS, ResNet
from .pixels import Pixels, draw_bar, draw_pixels, over_plane

ALLOWED = 5.0  # of finitely many channels: relative shift of chi_J - mu^2 in units of 1/channels
CRITICAL = 2.0  # C_W of the curves over mu


@dataclass(frozen=True)
class ResNetSettings:
    """Sizes of networks and pictures.

    Args:
        image: rows and columns of an image.
        channels: of the stages.
        blocks: in each stage.
        networks: averaged over at each pixel.
        on_curves: averaged over at each point of a curve.
        columns: values of sigma_w^2.
        rows: values of sigma_b^2, and of mu.
        mus: on the curves.
    """

    image: int
    channels: tuple[int, ...]
    blocks: int
    networks: int
    on_curves: int
    columns: int
    rows: int
    mus: tuple[float, ...]

    def chi(
        self, C_W: float, C_b: float, mu: float, padding: str = "zeros", networks: int = 0, seed: int = 0
    ) -> tuple[Chi, float]:
        """Chi_J measured, and for infinitely many channels."""
        trial = Trial(images(2, self.image), networks or self.networks)
        found = chi_of_last_block(
            lambda: ResNet(
                sigma_w=math.sqrt(C_W),
                sigma_b=math.sqrt(C_b),
                mu=mu,
                padding=padding,
                channels=self.channels,
                blocks=self.blocks,
            ),
            trial,
            seed,
        )
        return found, self.chi_in_theory(C_W, C_b, mu, padding)

    def chi_in_theory(self, C_W: float, C_b: float, mu: float, padding: str) -> float:
        """Chi_J for infinitely many channels."""
        pictures = images(2, self.image)
        return chi_of_wide_network(pictures, C_W, C_b, mu, padding, len(self.channels), self.blocks)


FULL = ResNetSettings(16, CHANNELS, BLOCKS, 3, 16, 5, 5, (0.0, 0.25, 0.5, 0.75, 0.9, 1.0))
QUICK = ResNetSettings(8, (16, 32), 2, 3, 6, 2, 2, (0.0, 1.0))
WEIGHTS, BIASES = (0.5, 4.5), (0.0, 1.0)  # ranges of sigma_w^2 and sigma_b^2


def run(size: ResNetSettings, progress: Progress) -> Findings:
    """Measure and draw both planes and the curves over mu."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 3.5), layout="constrained")
    planes = figure.subplots(1, 3)
    weights = np.linspace(*WEIGHTS, size.columns)
    comparisons: list[Comparison] = []
    points: list[Point] = []
    vertical = {"sigma_b^2, mu = 1": np.linspace(*BIASES, size.rows), "mu, sigma_b = 0": np.linspace(0, 1, size.rows)}
    for number, (axes, (label, ys)) in enumerate(zip(planes, vertical.items(), strict=False)):
        shape = (size.rows, size.columns)
        theory = np.empty(shape)

        def measure(x: float, y: float, place: int, number: int = number, theory: np.ndarray = theory) -> Chi:
            bias, mu = (y, 1.0) if number == 0 else (0.0, y)
            chi, theory.flat[place] = size.chi(x, bias, mu, seed=10_000 * number + place * size.networks)
            return chi

        def told(share: float, what: str = label, number: int = number) -> None:
            progress(what, 0.25 * (number + share))

        values, errors = over_plane(weights, ys, measure, told)
        skip = 1.0 if number == 0 else ys[:, None] ** 2
        pixels = Pixels(weights, ys, values, errors, theory, np.broadcast_to(skip, shape))
        points += pixels.rows(("sigma_w^2", label.split(",")[0]), {"panel": label})
        image = draw_pixels(axes, pixels)
        axes.set(xlabel=r"$\sigma_w^2$", ylabel=(r"$\sigma_b^2$", r"$\mu$")[number])
        axes.set_title((r"$\mu = 1$", r"$\sigma_b = 0$")[number] + ", zero padding", fontsize=10)
        ratio, error = pixels.ratio
        comparisons.append(
            Comparison(f"chi_J - mu^2, measured/theory, plane of sigma_w^2 and {label}", ratio, error, 1.0,
                       ALLOWED / size.channels[-1])
        )  # fmt: skip
    for number, (padding, colour) in enumerate((("zeros", "#0072B2"), ("circular", "#D55E00"))):
        found = []
        for place, mu in enumerate(size.mus):
            seed = 50_000 + 10_000 * number + place * size.on_curves
            chi, expected = size.chi(CRITICAL, 0.0, mu, padding, size.on_curves, seed)
            allowed = ALLOWED / size.channels[-1] * (expected - mu**2)
            comparisons.append(
                Comparison(f"chi_J, sigma_w^2 = 2, mu = {mu:g}, padding {padding}", *chi, expected, allowed)
            )
            found.append(chi)
            points.append(
                {"panel": f"padding {padding}", "sigma_w^2": CRITICAL, "mu": mu, "chi": chi.value, "error": chi.error,
                 "theory": expected}
            )  # fmt: skip
            progress(f"padding {padding}", 0.5 + 0.25 * (number + (place + 1) / len(size.mus)))
        line = np.linspace(0, 1, 11)
        curve = [size.chi_in_theory(CRITICAL, 0.0, mu, padding) for mu in line]
        planes[2].plot(line, curve, color=colour, label=f"theory, padding {padding}")
        planes[2].errorbar(size.mus, [c.value for c in found], [c.error for c in found], fmt="o", ms=4, color=colour)
    planes[2].axhline(1.0, color="0.7", lw=0.8, zorder=0)
    planes[2].set(xlabel=r"$\mu$", ylabel=r"$\chi_J$ of the last block")
    planes[2].set_title(r"$\sigma_w^2 = 2$, $\sigma_b = 0$", fontsize=10)
    planes[2].legend(frameon=False, fontsize=8, loc="lower right")
    draw_bar(figure, image, planes[:2])
    layers = 2 * size.blocks * len(size.channels) + 2
    figure.suptitle(f"Doshi et al. figure 4: ResNet{layers} with LayerNorm, bars: standard errors", fontsize=11)
    return Findings(comparisons, points, figure)


if __name__ == "__main__":
    main("resnet_layer_norm", __doc__, run, FULL, QUICK)
