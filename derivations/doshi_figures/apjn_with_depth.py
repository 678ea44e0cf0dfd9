"""Doshi et al. figure 1: Jacobian norms of critical networks fall or grow with depth by a power law.

Four critical networks: erf at C_W = pi/4, ReLU at C_W = 2, and erf and GELU with LayerNorm of preactivations and skip
connections of weight 1 at C_W = 2, all without biases. J^{1,l}, from the first stream to that of layer l, is averaged
over networks and inputs, and J ~ l^-zeta is fitted. The source's J^{0,l} begins at the input, which at large input
dimension is another factor C_W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

import symres as sr
import symres.torch as st
from symres.core.progress import Progress

from .findings import Comparison, Findings, Point, main
from .kernel_path import path
from .last_block import sphere
from .models.deep_mlp import DeepMlp

ALLOWED = 0.3  # of a finite width: relative shift of J, and shift of exponents, in units of layers/width


@dataclass(frozen=True)
class DepthSettings:
    """Sizes of the networks.

    Args:
        depth: layers behind the read-in.
        width: neurons.
        networks: averaged over.
        inputs: averaged over.
        probes: random directions.
    """

    depth: int
    width: int
    networks: int
    inputs: int = 2
    probes: int = 2


FULL, QUICK = DepthSettings(128, 512, 40), DepthSettings(20, 64, 8, probes=1)


@dataclass(frozen=True)
class CriticalNetwork:
    """A critical network without biases.

    Args:
        label: in table and figure.
        activation: its name.
        C_W: the variance of weights times fan_in.
        normed: whether it has LayerNorm and a skip connection of weight 1.
        first: the fit begins after this share of the layers.
    """

    label: str
    activation: str
    C_W: float
    normed: bool
    first: float

    @property
    def theory(self) -> sr.Theory:
        """Of one layer."""
        return sr.derive(sr.pre_ln(self.activation, gamma=1) if self.normed else sr.mlp(self.activation))

    def model(self, size: DepthSettings) -> DeepMlp:
        """A network in PyTorch."""
        return DeepMlp(
            size.width,
            size.width,
            size.depth,
            self.activation,
            sigma_w=math.sqrt(self.C_W),
            mu=1.0 if self.normed else 0.0,
            norm="pre" if self.normed else "none",
        )


NETWORKS = (
    CriticalNetwork("erf", "erf", math.pi / 4, False, 0.4),
    CriticalNetwork("ReLU", "relu", 2.0, False, 0.0),
    CriticalNetwork("erf, LayerNorm, mu = 1", "erf", 2.0, True, 0.4),
    CriticalNetwork("GELU, LayerNorm, mu = 1", "gelu", 2.0, True, 0.4),
)


def derived_exponent(network: CriticalNetwork) -> float:
    """Zeta of J ~ l^-zeta after many layers, as symres derives it."""
    zeta = network.theory.exponents.jacobian
    assert zeta is not None
    return float(zeta.subs({sr.C_W: network.C_W, sr.C_b: 0}))


def _told(progress: Progress, number: int, what: str, share: float) -> None:
    progress(what, (number + share) / len(NETWORKS))


def run(size: DepthSettings, progress: Progress) -> Findings:
    """Measure, fit and draw."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 3.6), layout="constrained")
    panels = figure.subplots(1, 3)
    shown = (panels[0], panels[1], panels[2], panels[2])
    colours = ("#0072B2", "#0072B2", "#0072B2", "#D55E00")
    comparisons: list[Comparison] = []
    points: list[Point] = []
    layers = np.arange(1, size.depth + 2)
    for number, (network, axes, colour) in enumerate(zip(NETWORKS, shown, colours, strict=True)):
        measured = st.measure(
            partial(network.model, size),
            sphere(size.inputs, size.width),
            ["read_in", "blocks.*"],
            start="read_in",
            seeds=size.networks,
            seed=1000 * number,
            probes=size.probes,
            progress=partial(_told, progress, number),
        )
        found = [place.apjn_forward for place in measured.places]
        expected = path(network.theory, size.depth, network.C_W, C_W=network.C_W, C_b=0).jacobians
        first = int(network.first * len(layers))
        fit = measured.fit(skip=first).exponent
        window = -np.polyfit(np.log(layers[first:]), np.log(expected[first:]), 1)[0]
        zeta, shift = derived_exponent(network), ALLOWED * size.depth / size.width
        name = f"{network.label}: exponent of layers {first + 1} to {len(layers)}"
        comparisons += [
            Comparison(f"{network.label}: J^(1,{len(layers)})", found[-1], found[-1].error, expected[-1],
                       shift * expected[-1]),
            Comparison(name, fit, fit.error, window, shift),
            Comparison(f"{network.label}: the same, theory for infinite depth", fit, fit.error, zeta, shift),
        ]  # fmt: skip
        points += [
            {"network": network.label, "layer": int(layer), "J": float(j), "error": j.error, "theory": float(e)}
            for layer, j, e in zip(layers, found, expected, strict=True)
        ]
        name = f"{network.label}".replace("mu", "μ")
        label = f"{name}:\nζ = {float(fit):.3f} ± {fit.error:.3f}, derived {zeta:.3f}"
        some = np.unique(np.geomspace(1, len(layers), 30).astype(int)) - 1
        bars = [found[place].error for place in some]
        axes.errorbar(layers[some], [found[p] for p in some], bars, fmt="o", ms=3, lw=0.8, color=colour, label=label)
        axes.plot(layers, expected, color="black", lw=1.0, label=None if number == 3 else "theory, infinite width")
    for axes, title in zip(panels, ("erf", "ReLU", "LayerNorm and μ = 1"), strict=True):
        axes.set(xscale="log", yscale="log", xlabel="layer l", title=title)
        axes.legend(frameon=False, fontsize=8, loc="upper left" if title[0] == "L" else "best")
    panels[2].set_ylim(top=5 * panels[2].get_ylim()[1])
    panels[1].set(ylim=(0.2, 5.0), yticks=(0.2, 0.5, 1.0, 2.0, 5.0))
    panels[1].yaxis.set_major_formatter("{x:g}")
    panels[1].yaxis.set_minor_formatter("")
    panels[0].set_ylabel("Jacobian norm J from the first stream")
    figure.suptitle(f"Doshi et al. figure 1: width {size.width}, {size.networks} networks, bars: standard errors")
    return Findings(comparisons, points, figure)


if __name__ == "__main__":
    main("apjn_with_depth", __doc__, run, FULL, QUICK)
