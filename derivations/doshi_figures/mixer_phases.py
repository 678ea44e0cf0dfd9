"""Doshi et al. figure 5: chi_J of the last layer of MLP-Mixer over sigma_w and sigma_b, at mu = 0.5 and mu = 1.

At mu = 1 the kernel of the stream grows linearly, what a layer adds is normalised, and chi_J - 1 falls as 1/depth for
all sigma_w and sigma_b; the table has the exponent, fitted over depths. At mu = 0.5 chi_J goes to a number of its own.

What symres derives for layers that mix patches (``sr.TokenMix``) holds for patches that are not correlated, as with an
odd activation and no biases; GELU makes correlated ones. Drawn for comparison is the fully connected network whose
blocks, ``gamma*z + Dense(gelu(Dense(LayerNorm(z))))``, take all entries of the stream as independent neurons. It does
not apply here: biases and the mean of GELU give a patch a part that is common to its channels, which LayerNorm over
channels takes out, and channels a part that is common to patches. Measured chi_J are larger, at mu = 0.5 by 20 percent
where biases are small, and up to 4 times where they are large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import symres as sr
from symres.core.progress import Progress

from .findings import Comparison, Findings, Point, main
from .kernel_path import path
from .last_block import Chi, Trial, chi_of_last_block, images
from .models.mixer import Mixer
from .pixels import Pixels, draw_bar, draw_pixels, over_plane

ALLOWED = 0.15  # of the exponent: the first kernel is no part of the linear growth


@dataclass(frozen=True)
class MixerSettings:
    """Sizes of networks and pictures.

    Args:
        image: rows and columns of an image; patches have 4.
        channels: of the stream.
        hidden: neurons of the perceptrons.
        depth: layers at each pixel.
        networks: averaged over at each pixel.
        columns: values of sigma_w^2.
        rows: values of sigma_b^2.
        depths: of the curves.
        on_curves: networks at each of their points.
    """

    image: int
    channels: int
    hidden: int
    depth: int
    networks: int
    columns: int
    rows: int
    depths: tuple[int, ...]
    on_curves: int

    def chi(self, C_W: float, C_b: float, mu: float, depth: int, networks: int, seed: int) -> Chi:
        """Chi_J measured."""
        return chi_of_last_block(
            lambda: Mixer(
                sigma_w=math.sqrt(C_W),
                sigma_b=math.sqrt(C_b),
                mu=mu,
                image=self.image,
                channels=self.channels,
                hidden=self.hidden,
                depth=depth,
            ),
            Trial(images(2, self.image), networks),
            seed,
        )


FULL = MixerSettings(32, 128, 256, 30, 3, 5, 4, (8, 16, 32, 64), 10)
QUICK = MixerSettings(16, 32, 48, 4, 2, 2, 2, (4, 16), 7)
WEIGHTS, BIASES = (0.5, 4.5), (0.0, 1.5)  # ranges of sigma_w^2 and sigma_b^2
CURVES = ((0.5, 0.0, "#0072B2"), (2.0, 0.0, "#D55E00"), (2.0, 0.5, "#009E73"))  # C_W, C_b, colour


def independent_entries() -> sr.Theory:
    """One perceptron of a mixer layer if all entries of the stream were independent neurons."""
    gelu = sr.activation("gelu")
    return sr.derive(sr.Layer(sr.gamma * sr.z + sr.Dense(gelu(sr.Dense(sr.LayerNorm(sr.z))))))


def run(size: MixerSettings, progress: Progress) -> Findings:
    """Measure and draw both planes and the curves over depth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 3.5), layout="constrained")
    panels, theory = figure.subplots(1, 3), independent_entries()
    weights, biases = np.linspace(*WEIGHTS, size.columns), np.linspace(*BIASES, size.rows)
    comparisons: list[Comparison] = []
    points: list[Point] = []
    for number, (axes, mu) in enumerate(zip(panels, (0.5, 1.0), strict=False)):

        def measure(C_W: float, C_b: float, place: int, mu: float = mu, first: int = 10_000 * number) -> Chi:
            return size.chi(C_W, C_b, mu, size.depth, size.networks, first + place * size.networks)

        def told(share: float, what: str = f"mu = {mu}", number: int = number) -> None:
            progress(what, 0.3 * (number + share))

        values, errors = over_plane(weights, biases, measure, told)
        C_W, C_b = weights[None, :], biases[:, None]
        perceptrons = path(theory, 2 * size.depth, C_W + C_b, C_W=C_W, C_b=C_b, gamma=mu).chi
        pixels = Pixels(weights, biases, values, errors, perceptrons[-1] * perceptrons[-2], mu**4)
        points += pixels.rows(("sigma_w^2", "sigma_b^2"), {"mu": mu, "depth": size.depth})
        image = draw_pixels(axes, pixels)
        if values.min() < 1 < values.max() and mu < 1:
            axes.contour(weights, biases, values, levels=[1.0], colors="black", linestyles="-")
        axes.set(xlabel=r"$\sigma_w^2$", ylabel=r"$\sigma_b^2$")
        axes.set_title(rf"$\mu = {mu:g}$" + (", line: measured $\\chi_J = 1$" if mu < 1 else ""), fontsize=10)
        comparisons.append(
            Comparison(f"mean of chi_J over the plane, mu = {mu:g} (theory of independent entries: "
                       f"{pixels.theory.mean():.4g})", values.mean(), float(np.sqrt((errors**2).mean() / errors.size)))
        )  # fmt: skip
    curves = panels[2]
    for number, (weight, bias, colour) in enumerate(CURVES):
        chis = []
        for place, depth in enumerate(size.depths):
            seed = 50_000 + 10_000 * number + 1000 * place
            chis.append(size.chi(weight, bias, 1.0, depth, size.on_curves, seed))
            progress(f"depth {depth}", 0.6 + 0.4 * (number + (place + 1) / len(size.depths)) / len(CURVES))
        values, errors = (np.array(column) for column in zip(*chis, strict=True))
        slope, error = power_law(np.array(size.depths), values - 1, errors)
        name = f"exponent of chi_J - 1 in depth, mu = 1, sigma_w^2 = {weight:g}, sigma_b^2 = {bias:g}"
        comparisons.append(Comparison(name, slope, error, -1.0, ALLOWED))
        label = rf"$\sigma_w^2 = {weight:g}$, $\sigma_b^2 = {bias:g}$: $l^{{{slope:.2f} \pm {error:.2f}}}$"
        curves.errorbar(size.depths, values - 1, errors, fmt="o", ms=4, color=colour, label=label)
        points += [
            {"sigma_w^2": weight, "sigma_b^2": bias, "mu": 1.0, "depth": depth, "chi": chi.value, "error": chi.error}
            for depth, chi in zip(size.depths, chis, strict=True)
        ]
    ends = np.array([size.depths[0], size.depths[-1]])
    curves.plot(ends, (values[0] - 1) * ends[0] / ends, color="black", lw=1, label="1/l")
    curves.set(xscale="log", yscale="log", xlabel="layer l", ylabel=r"$\chi_J - 1$ of the last layer")
    curves.set_xticks(size.depths, [f"{depth}" for depth in size.depths])
    curves.xaxis.set_minor_formatter("")
    curves.yaxis.set_major_formatter("{x:g}")
    curves.yaxis.set_minor_formatter("{x:g}")
    curves.tick_params(axis="y", which="minor", labelsize=7)
    curves.set_title(r"$\mu = 1$", fontsize=10)
    curves.legend(frameon=False, fontsize=8)
    draw_bar(figure, image, panels[:2])
    figure.suptitle(f"Doshi et al. figure 5: MLP-Mixer of {size.depth} layers, bars: standard errors", fontsize=11)
    return Findings(comparisons, points, figure)


def power_law(xs: np.ndarray, ys: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """The exponent of y ~ x^exponent, weighted by the errors of y, and its standard error.

    Args:
        xs: positive.
        ys: positive.
        errors: of ys.
    """
    weight = (ys / errors) ** 2
    x = np.log(xs) - np.average(np.log(xs), weights=weight)
    spread = float((weight * x * x).sum())
    return float((weight * x * np.log(ys)).sum() / spread), spread**-0.5


if __name__ == "__main__":
    main("mixer_phases", __doc__, run, FULL, QUICK)
