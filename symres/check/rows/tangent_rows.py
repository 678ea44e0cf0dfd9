"""Rows about tangent kernels, from networks that walk with a random change of all their weights and biases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import sympy as sp

from ...core import symbols
from ...results.measurement import OracleValue
from ...results.verdict import Verdict
from ..sampling import random_points
from ..sampling.random_points import Values
from ..simulation.width_extrapolation import Sampler, measured
from .claims import branchless, claimed
from .simulation_case import SMALL, Task

_FEW = 256  # networks that show a scale
_COARSER = 1.6  # is the precision than that of the maps, at least: products of changes scatter more than squares


def tangent_kernel_row(task: Task, inputs: Values, tell: Callable[[float], None]) -> Verdict:
    """The tangent kernel of two inputs after a layer, that before it drawn at random.

    Args:
        task: the layer and its claims.
        inputs: K1, K2 and C; of a batch, K1 and K2 are equal.
        tell: is called with the share of the work that is done.
    """
    place = random_points.with_tangent(inputs, task.rng("Theta"))
    sampler = task.simulation.tangent_kernel(*map(float, place.values()))
    if task.batched:
        place = {symbols.K: place[symbols.K1], symbols.C: place[symbols.C], symbols.Theta: place[symbols.Theta]}
    return _row(task, "ntk_map", place, sampler, tell)


def parameter_norm_row(task: Task, K: sp.Rational, tell: Callable[[float], None]) -> Verdict:
    """The squared gradient of a neuron in the parameters of the layer."""
    return _row(task, "parameter_norm", {symbols.K: K}, task.simulation.parameter_norm(float(K)), tell)


def _row(task: Task, name: str, place: Values, sampler: Sampler, tell: Callable[[float], None]) -> Verdict:
    quantity, values, rng = task.quantities[name], place | task.values, task.rng(name)
    claim = claimed(quantity, values)
    natural = _natural(task, float(next(iter(place.values()))), rng)

    def scales(values: np.ndarray) -> np.ndarray:
        return np.maximum(np.abs(values), SMALL * natural)

    coarser = max(1.0, _COARSER / task.simulation.ladder.ease)
    budget = replace(task.budget, precision=coarser * task.budget.precision)
    estimate = task.extrapolated(sampler, scales, rng, tell, budget)
    found = OracleValue(float(estimate.values[0]), float(estimate.errors[0]), natural)
    return task.row(name, random_points.text(values), claim, found, estimate, branchless(quantity, values))


def _natural(task: Task, K: float, rng: np.random.Generator) -> float:
    """The scale of a tangent kernel: what the layer adds to that of one input."""
    width, _ = task.simulation.ladder.glance
    means, *_ = measured(task.simulation.parameter_norm(K), width, _FEW, rng)
    return float(abs(means[0]))
