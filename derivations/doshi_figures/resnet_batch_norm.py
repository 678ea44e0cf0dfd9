"""Doshi et al. figure 6: chi_J of the last block of networks with BatchNorm, over sigma_w and mu.

BatchNorm makes networks without skip connections chaotic: for fully connected blocks of two units chi_J is
``pi^2 (1 - mu^2)/(pi - 1)^2 + mu^2`` (26) at large batches, for all sigma_w and sigma_b, and 1 + O(1/depth) at mu = 1.
symres derives both, ``sr.batch_norm("relu", gamma=mu, units=2)``, in the limit of large batches of independent inputs.
That theory is drawn over fully connected networks and over ResNet110. Where it applies: to the former; and to the
latter with circular padding as far as images of the batch are independent. It is not the theory of zero padding, where
pixels have statistics of their own but share one normalisation: these points, 1.45 to 1.76 at mu = 0 where (26) has
2.15, are drawn without a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from torch import nn

import symres as sr
from symres.core.progress import Progress

from .findings import Comparison, Findings, Point, main
from .last_block import Trial, chi_of_last_block, images, sphere
from .models.batch_norm_mlp import BatchNormMlp
from .models.resnet import BLOCKS, CHANNELS, ResNet
from .pixels import Pixels

ALLOWED = 2.0  # relative shift of chi_J - mu^2 in units of 1/width + 1/batch


@dataclass(frozen=True)
class Kind:
    """Networks that differ in sigma_w and mu only.

    Args:
        network: builds one from sigma_w= and mu=.
        inputs: a batch.
        width: neurons or channels of the last block.
        stages: numbers of blocks.
        applies: whether the theory of independent inputs does.
    """

    network: Callable[..., nn.Module]
    inputs: torch.Tensor
    width: int
    stages: tuple[int, ...]
    applies: bool = True


@dataclass(frozen=True)
class BatchSettings:
    """Sizes of the networks.

    Args:
        width: neurons of fully connected blocks.
        depth: blocks of these networks.
        batch: inputs of these.
        image: rows and columns of an image.
        images: in a batch.
        channels: of the stages of the ResNet.
        blocks: in each stage.
        networks: averaged over.
        weights: values of sigma_w^2.
        mus: values of mu.
    """

    width: int
    depth: int
    batch: int
    image: int
    images: int
    channels: tuple[int, ...]
    blocks: int
    networks: int
    weights: tuple[float, ...]
    mus: tuple[float, ...]

    @property
    def kinds(self) -> dict[str, Kind]:
        """The networks by label."""
        resnet = partial(ResNet, norm="batch", channels=self.channels, blocks=self.blocks)
        pictures, stages = images(self.images, self.image), (self.blocks,) * len(self.channels)
        dense = partial(BatchNormMlp, self.width, self.width, self.depth)
        layers, width = f"ResNet{2 * sum(stages) + 2}", self.channels[-1]
        return {
            "fully connected": Kind(dense, sphere(self.batch, self.width), self.width, (self.depth,)),
            f"{layers}, circular padding": Kind(partial(resnet, padding="circular"), pictures, width, stages),
            f"{layers}, zero padding": Kind(resnet, pictures, width, stages, applies=False),
        }


FULL = BatchSettings(256, 30, 128, 16, 32, CHANNELS, BLOCKS, 3, (0.5, 2.0, 4.0), (0.0, 0.25, 0.5, 0.75, 0.9, 1.0))
QUICK = BatchSettings(64, 6, 48, 8, 16, (8, 16), 2, 3, (2.0,), (0.0, 1.0))


@cache
def chi_of_theory(mu: float, C_W: float, stages: tuple[int, ...]) -> float:
    """Chi_J of the last block for independent inputs of mean square 1.

    Args:
        mu: weight of the skip connections.
        C_W: variance of weights times fan_in.
        stages: how many blocks; the skip connection of the first block of all but the first stage has weights, too.
    """
    equal = sr.batch_norm("relu", gamma=sr.gamma, units=2)
    branch = equal.subs(gamma=0).forward
    widening = sr.Layer(sr.gamma * sr.Dense(sr.z) + branch)
    layers = [[equal if position or not stage else widening for position in range(blocks)]
              for stage, blocks in enumerate(stages)]  # fmt: skip
    network = sr.network([layer for stage in layers for layer in stage])
    return float(network.chi_perp(C_W, C=0, C_W=C_W, C_b=0, gamma=mu)[-1])


def run(size: BatchSettings, progress: Progress) -> Findings:
    """Measure and draw chi_J over mu."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 3.5), layout="constrained")
    panels = figure.subplots(1, len(size.kinds), sharey=True)
    colours = ("#0072B2", "#D55E00", "#009E73")
    comparisons: list[Comparison] = []
    points: list[Point] = []
    done = 0
    total = len(size.kinds) * len(size.weights) * len(size.mus)
    fine, mus, weights = np.linspace(0, 1, 21), np.array(size.mus), np.array(size.weights)
    for axes, (label, kind) in zip(panels, size.kinds.items(), strict=True):
        trial = Trial(kind.inputs, size.networks, probes=1, train=True)
        allowed = ALLOWED * (1 / kind.width + 1 / len(kind.inputs))
        values, errors, theory = np.full((3, len(weights), len(mus)), math.nan)
        for row, column in np.ndindex(values.shape):
            C_W, mu = size.weights[row], size.mus[column]
            build = partial(kind.network, sigma_w=math.sqrt(C_W), mu=mu)
            values[row, column], errors[row, column] = chi_of_last_block(build, trial, done * size.networks)
            if kind.applies:
                theory[row, column] = chi_of_theory(mu, C_W, kind.stages)
            done += 1
            progress(label, done / total)
        pixels = Pixels(mus, weights, values, errors, theory, mus[None, :] ** 2)
        points += pixels.rows(("mu", "sigma_w^2"), {"network": label})
        for row, colour in zip(range(len(weights)), colours, strict=False):
            name = rf"$\sigma_w^2 = {weights[row]:g}$"
            axes.errorbar(mus, values[row], errors[row], fmt="o", ms=4, color=colour, label=name)
        if kind.applies:
            ratio, error = pixels.ratio
            comparisons.append(Comparison(f"{label}: chi_J - mu^2, measured/theory, all points", ratio, error, 1.0,
                                          allowed))  # fmt: skip
            row = len(weights) // 2
            comparisons += [
                Comparison(f"{label}: chi_J, sigma_w^2 = {weights[row]:g}, mu = {mu:g}", values[row, column],
                           errors[row, column], theory[row, column], allowed * (theory[row, column] - mu**2))
                for column, mu in enumerate(mus)
            ]  # fmt: skip
        curve = math.pi**2 * (1 - fine**2) / (math.pi - 1) ** 2 + fine**2
        axes.plot(
            fine, curve, color="black", lw=1, ls="-" if kind.applies else ":", label="theory of dense blocks (26)"
        )
        axes.axhline(1.0, color="0.7", lw=0.8, zorder=0)
        axes.set(xlabel=r"$\mu$")
        axes.set_title(label if kind.applies else f"{label}: (26) does not apply", fontsize=10)
        axes.legend(frameon=False, fontsize=8)
    panels[0].set_ylabel(r"$\chi_J$ of the last block")
    figure.suptitle(
        f"Doshi et al. figure 6: batches of {size.batch} inputs or {size.images} images, bars: standard errors",
        fontsize=11,
    )
    return Findings(comparisons, points, figure)


if __name__ == "__main__":
    main("resnet_batch_norm", __doc__, run, FULL, QUICK)
