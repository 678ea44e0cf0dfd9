r"""Which weights make a deep network critical? The numerical test of Doshi et al. section 2 as a recipe.

The last of many equal blocks of a network multiplies squared Jacobians by chi_J = J^{L-1,L} (16). It is measured in a
few networks, and one knob, the scale sigma_w of the initial weights, is turned until chi_J = 1. No theory is needed:

    python -m derivations.doshi_figures.find_critical_weights \
        --model package.module:factory --shape 3,32,32 --blocks layers

where ``factory(sigma_w)`` draws a network, and its module ``layers`` is a list of equal blocks. Without ``--model``
networks are searched whose critical sigma_w symres derives, and an MLP-Mixer, whose it does not.
"""

from __future__ import annotations

import argparse
import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch
from torch import nn

import symres as sr
from symres.core.progress import Bar, Progress

from .critical_search import find_critical
from .findings import Comparison, Findings, Point
from .kernel_path import path
from .last_block import Trial, images, sphere
from .models.deep_mlp import DeepMlp
from .models.mixer import Mixer

NAME = "find_critical_weights"
ALLOWED = 5.0  # of a finite width: relative shift of chi_J - mu^2 in units of 1/width


@dataclass(frozen=True)
class Search:
    """A network whose critical weights are searched.

    Args:
        label: in table and figure.
        build: draws one with weights of this scale.
        trial: how chi_J is measured.
        low, high: the range of sigma_w.
        theory: of one block, if there is one.
        parameters: all of the theory's but C_W.
        depth: number of blocks.
        width: neurons.
        mu: weight of the skip connections.
    """

    label: str
    build: Callable[[float], nn.Module]
    trial: Trial
    low: float
    high: float
    theory: sr.Theory | None = None
    parameters: tuple[tuple[str, float], ...] = ()
    depth: int = 0
    width: int = 1
    mu: float = 0.0

    def curve(self, sigmas: np.ndarray) -> np.ndarray:
        """The theory's chi_J of the last block; nan without one."""
        if self.theory is None:
            return np.full_like(sigmas, math.nan)
        given = dict(self.parameters)
        return path(self.theory, self.depth, sigmas**2 + given["C_b"], C_W=sigmas**2, **given).chi[-1]

    @property
    def expected(self) -> float:
        """Where the theory's chi_J at this depth passes 1; nan without a theory."""
        sigmas = np.linspace(self.low, self.high, 2001)
        logs = np.log(self.curve(sigmas))
        crossings = np.flatnonzero(logs[:-1] * logs[1:] < 0)
        if not len(crossings):
            return math.nan
        place = crossings[0]
        share = logs[place] / (logs[place] - logs[place + 1])
        return float(sigmas[place] + share * (sigmas[1] - sigmas[0]))


@dataclass(frozen=True)
class SearchSettings:
    """Which networks are searched.

    Args:
        searches: of them.
    """

    searches: tuple[Search, ...]


def _perceptron(size: tuple[int, int, int], activation: str, norm: str, sigma_b: float, mu: Fraction) -> Search:
    """A perceptron of a width, a depth and a number of networks."""
    width, depth, networks = size

    def build(sigma_w: float) -> nn.Module:
        return DeepMlp(width, width, depth, activation, sigma_w=sigma_w, sigma_b=sigma_b, mu=float(mu), norm=norm)

    layer = sr.residual(activation, gamma=mu) if norm == "none" else sr.pre_ln(activation, gamma=mu)
    name = f"{activation}{', LayerNorm' if norm == 'pre' else ''}, mu = {float(mu):g}, sigma_b = {sigma_b:g}"
    trial = Trial(sphere(2, width), networks)
    return Search(name, build, trial, 0.5, 2.5, sr.derive(layer), (("C_b", sigma_b**2),), depth, width, float(mu))


def usual(quick: bool) -> SearchSettings:
    """Perceptrons with a theory and a Mixer without one."""
    size = (64, 12, 6) if quick else (256, 50, 16)
    kinds = (("erf", "none", 0.3, Fraction(0)), ("gelu", "none", 0.6, Fraction(0)), ("erf", "pre", 0.4, Fraction(1, 2)))
    found = [_perceptron(size, *kind) for kind in (kinds[:1] if quick else kinds)]
    if not quick:

        def mixer(sigma_w: float) -> nn.Module:
            return Mixer(sigma_w=sigma_w, sigma_b=1.0, mu=0.5, depth=20)

        found.append(Search("MLP-Mixer, mu = 0.5, sigma_b = 1", mixer, Trial(images(2, 32), 12), 0.5, 3.0))
    return SearchSettings(tuple(found))


def run(settings: SearchSettings, progress: Progress) -> Findings:
    """Search, compare and draw."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    comparisons: list[Comparison] = []
    points: list[Point] = []
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
    for number, search in enumerate(settings.searches):
        progress(search.label, number / len(settings.searches))
        found = find_critical(search.build, search.trial, search.low, search.high)
        allowed = ALLOWED / search.width * (1 - search.mu**2) / abs(found.slope) * found.sigma_w
        comparisons += [
            Comparison(f"{search.label}: sigma_w where chi_J = 1", found.sigma_w, found.error, search.expected,
                       0.0 if math.isnan(search.expected) else allowed),
            Comparison(f"{search.label}: chi_J there, other networks", *found.fresh, 1.0,
                       abs(found.slope) * found.error / found.sigma_w),
        ]  # fmt: skip
        points += [
            {"network": search.label, "sigma_w": sigma_w, "chi": chi.value, "error": chi.error}
            for sigma_w, chi in zip(found.tried, found.chis, strict=True)
        ]
        colour = colours[number % len(colours)]
        label = rf"{search.label}: $\sigma_w$ = {found.sigma_w:.3f} ± {found.error:.3f}"
        label = label.replace("mu", "μ").replace("sigma_b", r"$\sigma_b$")
        values, errors = zip(*found.chis, strict=True)
        axes.errorbar(found.tried, values, errors, fmt="o", ms=4, color=colour, label=label)
        sigmas = np.linspace(search.low, search.high, 200)
        axes.plot(sigmas, search.curve(sigmas), color=colour, lw=1)
        axes.plot([found.sigma_w], [1.0], "k*", ms=11, mec="white", mew=0.7, zorder=5)
    axes.axhline(1.0, color="0.7", lw=0.8, zorder=0)
    axes.set(xlabel=r"scale of the initial weights, $\sigma_w$", ylabel=r"$\chi_J$ of the last block", yscale="log")
    axes.set_yticks(ticks := (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0), [f"{tick:g}" for tick in ticks])
    axes.yaxis.set_minor_formatter("")
    axes.set_title("Points: measured; stars: found; lines: theory", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    return Findings(comparisons, points, figure)


def _own(chosen: argparse.Namespace) -> SearchSettings:
    """The model that is named on the command line."""
    module, _, factory = chosen.model.partition(":")
    shape = [int(length) for length in chosen.shape.split(",")]
    inputs = torch.randn(2, *shape, generator=torch.Generator().manual_seed(0))
    trial = Trial(inputs, chosen.networks, blocks=chosen.blocks)
    build = getattr(importlib.import_module(module), factory)
    return SearchSettings((Search(chosen.model, build, trial, *chosen.range),))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog=f"python -m derivations.doshi_figures.{NAME}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="smaller networks, some seconds")
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder of the files (default: here)")
    parser.add_argument("--model", metavar="MODULE:FACTORY", help="a function of sigma_w that draws a network")
    parser.add_argument("--shape", default="256", help="of an input, such as 3,32,32; inputs are Gaussian")
    parser.add_argument("--blocks", default="blocks", help="name of the list of blocks in the network")
    parser.add_argument("--range", nargs=2, type=float, default=(0.3, 3.0), metavar=("LOW", "HIGH"), help="of sigma_w")
    parser.add_argument("--networks", type=int, default=8, help="drawn at each sigma_w")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(min(2, torch.get_num_threads()))
    try:
        settings = _own(chosen) if chosen.model else usual(chosen.quick)
        with Bar(NAME) as bar:
            findings = run(settings, bar)
    except (ValueError, ImportError, AttributeError, sr.SymresError) as error:
        raise SystemExit(f"{NAME}: {error}") from None
    print(findings.table)
    for written in findings.write(chosen.out, NAME):
        print(f"wrote {written}")


if __name__ == "__main__":
    main()
