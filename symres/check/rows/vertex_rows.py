"""Rows about the four-point vertex of deep networks, from products of different neurons."""

from __future__ import annotations

from collections.abc import Callable

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
_COARSER = 5.0  # is the precision than that of the maps: products of two neurons scatter by more than their average


def vertex_rows(
    task: Task, theory: DerivedFluctuations, K: sp.Rational, depth: int, tell: Callable[[float], None]
) -> list[Verdict]:
    """V after two layers, the first whose neurons remember, and after ``depth`` layers.

    The kernels of infinite width that are subtracted come from quadrature, not from the theory.

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
        return np.maximum(np.abs(values), natural)

    rng = task.rng("vertex")
    budget = task.budget.coarser(_COARSER)
    estimate = task.extrapolated(task.simulation.vertices(float(K), kernels), scales, rng, tell, budget, _LADDER)
    parameters = {s.name: value for s, value in task.values.items()}
    claims = theory.vertex(len(kernels), K, **parameters)
    rows = []
    for layers in sorted({2, len(kernels)}):
        place = layers - 1
        found = OracleValue(float(estimate.values[place]), float(estimate.errors[place]), float(natural[place]))
        point = random_points.text({symbols.K: K} | task.values) + f"; {layers} layers"
        rows.append(task.row("vertex", point, mp.mpf(claims[layers]), found, estimate, None, VERTICES))
    return rows
