"""One layer, its claims and its simulation: the common part of all comparisons with simulated networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

import mpmath as mp
import numpy as np
import sympy as sp

from ...core import symbols
from ...results.observable import OracleValue
from ...results.quantity import Quantity
from ...results.subjects import DerivedLayer
from ...results.verdict import SIMULATION, Run, Thresholds, Verdict, inconclusive
from ..nets.forward_walk import Forward
from ..oracles.comparison import PERPENDICULAR, compared, require_sensitivity
from ..sampling import random_points
from ..sampling.random_points import Values
from ..simulation.simulate import Simulation
from ..simulation.width_extrapolation import TAME, Budget, Estimate, Ladder, Sampler, extrapolated, measured, pilot
from .claims import branchless, claimed, digits_of

Scales: TypeAlias = Callable[[np.ndarray], np.ndarray]  # the sizes of observables, given their values

SMALL = 0.1  # of the natural scale
_FEW = 256  # networks that show a scale
_UNTAMED = "a few networks dominate the average, so that its standard error is unknown"


@lru_cache(maxsize=16)
def _walked(forward: sp.Expr, values: tuple[tuple[sp.Symbol, sp.Expr], ...]) -> Forward:
    """A forward equation with numbers: all comparisons at one setting walk the same."""
    return Forward(forward, dict(values))


def _silent(share: float) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class Task:
    """One layer, its claims, and the setting at which they are compared."""

    theory: DerivedLayer  # the theory that is checked
    quantities: Mapping[str, Quantity]  # its claims, by name
    values: Values  # numbers for the layer's parameters; for a batch, also the covariance C of its inputs
    seed: int  # of all random numbers
    budget: Budget  # how much to simulate
    units: random_points.Units  # of the layer
    steep: bool | None  # whether an activation is so steep that chi_perp may be infinite; None if that cannot be told
    fixed: Mapping[str, sp.Expr]  # numbers that the user has fixed, by name
    tell: Callable[[float], None] = _silent  # is called with the share of the work that is done
    rng: np.random.Generator = field(default_factory=lambda: random_points.stream(0))  # of one comparison

    def __post_init__(self) -> None:
        _walked(self.theory.layer.forward, tuple(self.values.items()))  # what cannot be walked is refused at once

    @property
    def simulation(self) -> Simulation:
        """Finite networks at this setting."""
        forward = _walked(self.theory.layer.forward, tuple(self.values.items()))
        shared = float(self.values[symbols.C]) if self.batched else None
        return Simulation(forward, shared=shared, positions=self.positions)

    @property
    def positions(self) -> float | None:
        """The number of positions, maybe infinite; None if inputs have none."""
        return float(self.theory.sequence_length.subs(self.values)) if self.theory.has_positions else None

    @property
    def batched(self) -> bool:
        """Whether the inputs are a batch, or positions: maps depend on the covariance of two of them."""
        return symbols.C in self.values

    def about(self, name: str) -> Task:
        """The same with the random numbers of the comparison of this name."""
        return replace(self, rng=random_points.stream(self.seed, "simulation", name))

    def part(self, begin: float, end: float) -> Task:
        """The same as a part of the work, which lies between two shares of it."""
        return replace(self, tell=lambda share: self.tell(begin + (end - begin) * share))

    def at(self, values: Values) -> Task:
        """The same layer and claims at another setting."""
        return replace(self, values=values)

    def extrapolated(
        self,
        sampler: Sampler,
        scales: Scales,
        budget: Budget | None = None,
        ladder: Ladder | None = None,
    ) -> Estimate:
        """A sampler of this task's simulation, run at several widths."""
        chosen = budget or self.budget, self.tell, ladder or self.simulation.ladder
        return extrapolated(sampler, scales, self.rng, *chosen)

    def fluctuations(self, sampler: Sampler, scales: Scales) -> float:
        """The largest relative variance times n, from a short run."""
        return float(pilot(sampler, scales, self.rng, self.simulation.ladder).max())

    def calm_depth(
        self,
        sampler: Callable[[int], Sampler],
        scales: Scales,
        depth: int,
        least: int = 1,
        most: float = TAME,
    ) -> int:
        """The number of layers, at most ``depth``, of networks that do not fluctuate too much to be simulated."""
        while depth > least and self.fluctuations(sampler(depth), scales) > most:
            depth -= 1
        return depth

    def size(self, sampler: Sampler) -> float:
        """The size of the first number of a sampler, from a few networks."""
        means, *_ = measured(sampler, self.simulation.ladder.glance[0], _FEW, self.rng)
        return float(abs(means[0]))

    def claim(self, name: str, values: Values) -> mp.mpf:
        """The number that is claimed of a quantity."""
        quantity = self.quantities[name]
        return claimed(quantity, values, digits_of(self.theory, quantity))

    def number_row(
        self,
        name: str,
        place: Values,
        sampler: Sampler,
        natural: float,
        budget: Budget | None = None,
    ) -> Verdict:
        """The comparison of a quantity at a place with the one number of a sampler, on a natural scale."""
        quantity, values = self.quantities[name], place | self.values
        claim = self.claim(name, values)
        estimate = self.extrapolated(sampler, at_least(SMALL * natural), budget)
        bare = branchless(quantity, values, digits_of(self.theory, quantity))
        return self.row(name, random_points.text(values), claim, estimate.at(0, natural), estimate, bare)

    def row(
        self,
        name: str,
        point: str,
        claim: mp.mpf,
        found: OracleValue,
        estimate: Estimate,
        bare: mp.mpf | None = None,
        thresholds: Thresholds = SIMULATION,
    ) -> Verdict:
        """The comparison of a claim with networks; inconclusive where the branch of the layer hardly contributes."""
        run: Run = {"seed": self.seed, "widths": estimate.widths, "samples": estimate.samples}
        if math.isinf(found.error):
            return inconclusive(name, "simulation", point, (_UNTAMED,), claimed=claim, value=found.value, **run)
        steep = name == PERPENDICULAR and self.steep
        row = compared(name, "simulation", point, claim, found, thresholds, SMALL, steep=steep, **run)
        return require_sensitivity(row, bare)


def of_pairs(values: np.ndarray) -> np.ndarray:
    """The scales of variances and covariances, in turns: the former, and a covariance too unless it is small."""
    scales = np.abs(values)
    scales[1::2] = np.maximum(scales[1::2], SMALL * scales[::2])
    return scales


def at_least(floor: np.ndarray | float) -> Scales:
    """The scales of numbers: their sizes, or what is larger."""
    return lambda values: np.maximum(np.abs(values), floor)
