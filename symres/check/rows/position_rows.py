"""Rows about inputs with positions: changes of one position and of all alike, and covariances of two sequences."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import sympy as sp

from ...core import symbols
from ...core.words import counted
from ...results.observable import Sample, Sampler
from ...results.verdict import Verdict
from ..sampling import random_points
from ..sampling.random_points import Values
from ..simulation.width_extrapolation import Estimate
from .claims import travelled
from .simulation_case import SMALL, Task, at_least, of_pairs

_CHANGES = {symbols.t: "tangent_map", symbols.s: "tangent_covariance_map"}
_SEQUENCES = ("sequence_map", "sequence_cross_map")
_ALIKE = (0.1, 0.9)  # correlations of changes, and of sequences


def change_rows(task: Task, K: sp.Rational, depth: int) -> list[Verdict]:
    """Variances and covariances of changes after a layer; after several the APJN of one position, and of all alike."""
    kernels = {symbols.K: K, symbols.C: task.values[symbols.C]}
    some = task.about("tangent_map").part(0.0, 0.3)
    change = {symbols.t: sp.S.One, symbols.s: kernels[symbols.C] and random_points.rational(*_ALIKE, some.rng)}
    estimate = some.extrapolated(some.simulation.changes(float(K), 1.0, float(change[symbols.s]), 1), of_pairs)
    values = change | kernels | task.values
    natural = float(abs(estimate.values[0]))
    rows = _both_rows(some, tuple(_CHANGES.values()), random_points.text(values), values, estimate, natural)
    if not {"covariance_map", *_CHANGES.values()} <= task.quantities.keys():
        return rows
    for number, (tokens, together) in enumerate((("one", sp.S.Zero), ("all", sp.S.One))):
        if together and not kernels[symbols.C]:
            continue  # positions without covariance have no change in common
        deep = task.about(f"apjn {tokens}").part(0.3 + 0.35 * number, 0.65 + 0.35 * number)
        sampler = _last(deep.simulation.changes(float(K), 1.0, float(together), depth))
        estimate = deep.extrapolated(sampler, np.abs)
        claim = _apjn(task, kernels, {symbols.t: sp.S.One, symbols.s: together}, depth)
        value = estimate.at(0, float(abs(estimate.values[0])))
        point = f"{random_points.text(kernels | task.values)}; tokens = {tokens}; {counted(depth, 'layer')}"
        rows.append(task.row("apjn", point, claim, value, estimate))
    return rows


def _last(sampler: Sampler) -> Sampler:
    """The variance after the last layer alone: covariances on the way may be small, and ask for many networks."""

    def sample(n: int, nets: int, rng: np.random.Generator) -> Sample:
        observed, controls = sampler(n, nets, rng)
        return observed[:, -2:-1], controls

    return sample


def _apjn(task: Task, kernels: Values, change: Values, depth: int) -> mp.mpf:
    """The variance of changes after some layers, from the maps."""
    for place in travelled(task.quantities, kernels, task.values, depth - 1):
        at = task.values | place | change
        change = {symbol: sp.Float(task.claim(name, at), 15) for symbol, name in _CHANGES.items()}
    return mp.mpf(change[symbols.t])


def sequence_rows(task: Task, K: sp.Rational) -> list[Verdict]:
    """Covariances of two sequences with one kernel each after a layer, at one position and at two."""
    task = task.about("sequence_map")
    natural = task.size(task.simulation.kernels(float(K), float(K), 0.0, 1))
    shared = task.values[symbols.C] / K  # of a kernel, by any two positions
    kernels = [random_points.decimal(float(K) * task.rng.uniform(0.5, 2)) for _ in range(2)]
    single = [(kernel, random_points.decimal(float(shared * kernel))) for kernel in kernels]
    # what positions of one input share, and what they do not, have a correlation each with those of the other input
    cross, private = (
        task.rng.uniform(*_ALIKE) * float(sp.sqrt(sp.Mul(*parts)))
        for parts in zip(*((less, kernel - less) for kernel, less in single), strict=True)
    )
    both = random_points.decimal(cross + private), random_points.decimal(cross)
    sampler = task.simulation.sequences([(float(a), float(b)) for a, b in single], (float(both[0]), float(both[1])))
    estimate = task.extrapolated(sampler, at_least(SMALL * natural))
    names = (symbols.K1, symbols.P1, symbols.K2, symbols.P2, symbols.C, symbols.E)
    values = task.values | dict(zip(names, (*single[0], *single[1], *both), strict=True))
    return _both_rows(task, _SEQUENCES, random_points.text(values), values, estimate, natural)


def _both_rows(
    task: Task, names: tuple[str, ...], point: str, values: Values, estimate: Estimate, natural: float
) -> list[Verdict]:
    """The comparison of what is at one position, and of what is at two, on one natural scale."""
    return [
        task.row(name, point, task.claim(name, values), estimate.at(number, natural), estimate)
        for number, name in enumerate(names)
        if name in task.quantities
    ]
