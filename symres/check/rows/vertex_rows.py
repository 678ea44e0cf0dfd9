"""Rows about the four-point vertex of deep networks, from products of different neurons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mpmath as mp
import numpy as np
import sympy as sp

from ...core import symbols
from ...results.subjects import DerivedFluctuations
from ...results.verdict import VERTICES, Verdict
from ..oracles.layer_oracle import OracleValue, QuadratureOracle
from ..sampling import random_points
from ..simulation.width_extrapolation import Ladder
from .simulation_case import Task

_LADDER = Ladder(narrowest=128, rungs=3)
_COARSER = 4.0  # is the precision than that of the maps: products of two neurons scatter by more than their average
_SMALL = 0.1  # of the squared kernel
_NEURONS = 2_000_000  # at most, for each width and layer


def vertex_rows(
    task: Task, theory: DerivedFluctuations, K: sp.Rational, depth: int, tell: Callable[[float], None]
) -> list[Verdict]:
    """V after two layers, the first whose neurons remember, and after ``depth`` layers.

    The kernels of infinite width that are subtracted come from quadrature, not from the theory. No row where a part of
    V as large as what neurons remember could not be seen: where V is small beside the squared kernel.

    Args:
        task: the layer.
        theory: of it.
        K: kernel of the input.
        depth: number of layers.
        tell: is called with the share of the work that is done.
    """
    kernels, last = [], float(K)
    for _ in range(max(2, depth)):
        last = QuadratureOracle(task.theory.layer.forward, task.values).kernel_map(last).value
        kernels.append(last)
    natural = np.square(kernels)

    def scales(values: np.ndarray) -> np.ndarray:
        return np.maximum(np.abs(values), _SMALL * natural)

    rng = task.rng("vertex")
    sampler = task.simulation.kernels(float(K), float(K), float(K) / 2, len(kernels))
    spread = task.fluctuations(sampler, lambda values: np.repeat(kernels, 2), rng)
    ladder = replace(_LADDER, spread=spread)
    budget = task.budget.coarser(_COARSER, _NEURONS)
    estimate = task.extrapolated(task.simulation.vertices(float(K), kernels), scales, rng, tell, budget, ladder)
    parameters = {s.name: value for s, value in task.values.items()}
    claims = theory.vertex(len(kernels), K, **parameters)
    rows = []
    for layers in sorted({2, len(kernels)}):
        place = layers - 1
        found = OracleValue(float(estimate.values[place]), float(estimate.errors[place]), float(natural[place]))
        point = random_points.text({symbols.K: K} | task.values) + f"; {layers} layers"
        if VERTICES.margin * found.error <= VERTICES.visible * max(abs(claims[layers]), abs(found.value)):
            rows.append(task.row("vertex", point, mp.mpf(claims[layers]), found, estimate, None, VERTICES))
    return rows
