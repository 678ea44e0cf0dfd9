"""Rows about tangent kernels, from networks that walk with a random change of all their weights and biases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sympy as sp

from ...core import symbols
from ...results.verdict import Verdict
from ..sampling import random_points
from ..sampling.random_points import Values
from ..simulation.width_extrapolation import Sampler
from .simulation_case import Task

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
    """The natural scale of a tangent kernel is what the layer adds to that of one input."""
    rng = task.rng(name)
    natural = task.size(task.simulation.parameter_norm(float(next(iter(place.values())))), rng)
    coarser = max(1.0, _COARSER / task.simulation.ladder.ease)
    budget = replace(task.budget, precision=coarser * task.budget.precision)
    return task.number_row(name, place, sampler, natural, rng, tell, budget)
