"""Rows about deep networks: their Jacobians, and the length over which these decay or grow.

The APJN of a network of l layers is J^{0,l} = (1/n) sum_ij E (d z^l_i / d z^0_j)^2 (Doshi et al. (3)). A theory claims
that it is the product of chi_perp at the kernels on the way (Doshi et al. (10)), and at a fixed point an exponential in
l with the correlation length 1/|log chi_perp| (Doshi et al. (14)).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import mpmath as mp
import numpy as np
import sympy as sp

from ...core import symbols
from ...core.words import counted
from ...results.observable import OracleValue
from ...results.subjects import DerivedDepth
from ...results.verdict import SIMULATION, Verdict, inconclusive
from ..oracles.comparison import free_symbols
from ..sampling import random_points
from ..sampling.random_points import Values
from ..simulation.width_extrapolation import TAME, Budget, Estimate, Ladder
from .claims import branchless, claimed, contraction, falling_start, fixed_point, travelled
from .simulation_case import Task

_EXACT = (24, 48, 96)  # widths of networks with real weights, of which all derivatives are taken
_NARROW = Ladder(narrowest=_EXACT[0])  # a pilot run with all derivatives of wide networks is slow
_EXACT_NEURONS = 80_000
_EXACT_DEPTH = 2
_PRECISION = 1.5  # times that of the maps: an error of chi_perp is multiplied by the number of layers
_SHARP = 0.0045  # with which an error of 5 % is seen
_COARSER = 1.8  # is the precision of the length
_CALM = TAME / 16  # largest fluctuations of deep networks, which must not be wide as well
_LAYERS = (3, 6)  # of networks that show a correlation length
_LENGTHS = 1.5  # so many of which they should span
_SETTINGS = 6  # of parameters, of which the first is taken where the length can be seen
_SLOPES = (0.2, 1.5)  # of log J, there
_ATTRACTS = 0.999  # factor by which a layer may change distances from a fixed point whose basin holds its neighbours
_UNDECIDED = "no clearly attracting fixed point was found: rounding would decide where the kernel ends"


def jacobian_rows(task: Task, K: sp.Rational, depth: int) -> list[Verdict]:
    """J^{0,depth} along random directions (Hutchinson), and J of a layer or two with all derivatives and real weights.

    The second where networks of affordable width are wide enough to see 5 %; the first estimates the same in any.
    """
    first = task.about("jacobian").part(0.0, 0.5)
    deepest = first.calm_depth(partial(task.simulation.jacobians, float(K)), np.abs, depth)
    asked = task.budget.precision
    budget = replace(task.budget, precision=min(_PRECISION * asked, max(_SHARP, asked / _PRECISION)))
    sampler = task.simulation.jacobians(float(K), deepest)
    estimate = first.extrapolated(sampler, np.abs, budget)
    rows = [_row(task, K, deepest, estimate, "along random directions")]
    if task.batched:  # networks so narrow have no room for a batch
        return rows
    layers = min(_EXACT_DEPTH, deepest)
    sampler = task.simulation.with_weights().jacobians(float(K), layers, exact=True)
    budget = Budget(asked, min(task.budget.neurons, _EXACT_NEURONS), _EXACT)
    second = task.about("jacobian, all derivatives").part(0.5, 1.0)
    estimate = second.extrapolated(sampler, np.abs, budget, _NARROW)
    seen = SIMULATION.margin * estimate.errors <= SIMULATION.visible * np.abs(estimate.values)
    if seen.any():
        layers = 1 + int(np.flatnonzero(seen)[-1])
        rows.append(_row(task, K, layers, estimate, "all derivatives, real weights"))
    return rows


def correlation_length_rows(task: Task, K: sp.Rational) -> list[Verdict]:
    """The correlation length, from the slope of log J in deep networks that start at an attracting fixed point.

    At a fixed point that repels, rounding would decide where a claim takes the kernel to flow. No row where, at a few
    settings of the parameters, the kernels arrive nowhere or the length is out of reach.
    """
    task, free = task.about("correlation_length"), free_symbols(task.theory, *task.quantities.values())
    others = [random_points.parameters(free, task.rng, task.fixed, task.units) for _ in range(_SETTINGS - 1)]
    undecided: Task | None = None
    for chosen_start in (lambda quantities, start, values: start, falling_start):
        for values in [task.values, *others]:
            start = chosen_start(task.quantities, _place(task, K), values)
            place = fixed_point(task.quantities, start, values) if start else None
            if place is None:
                continue
            chi = float(claimed(task.quantities["chi_perp"], values | place))
            if chi <= 0 or not _SLOPES[0] <= abs(math.log(chi)) <= _SLOPES[1]:
                continue
            there = task.at(values | place)
            if contraction(task.quantities, place, values) <= _ATTRACTS:
                return [_length_row(there, chi)]
            undecided = undecided or there
    if undecided is None:
        return []
    point = random_points.text(_ordered(undecided))
    return [inconclusive("correlation_length", "simulation", point, (_UNDECIDED,), seed=task.seed)]


def _length_row(task: Task, chi: float) -> Verdict:
    K, slope = float(task.values[symbols.K]), math.log(chi)
    # what a finite batch does to one layer is done to the next, and grows with the square of their number
    few, many = _LAYERS
    depth = few if task.batched else int(np.clip(math.ceil(_LENGTHS / abs(slope)), few, many))
    depth = task.calm_depth(partial(task.simulation.jacobians, K), np.abs, depth, 2, _CALM)
    budget = replace(task.budget, precision=_COARSER * task.budget.precision * depth * abs(slope))
    estimate = task.extrapolated(task.simulation.jacobians(K, depth), np.abs, budget)
    # the slope has the sign of the claimed one, or the length is negative
    length = depth / (math.log(estimate.values[-1]) * math.copysign(1.0, slope))
    error = length**2 * float(estimate.errors[-1] / estimate.values[-1]) / depth
    claim = 1 / abs(slope)
    if isinstance(task.theory, DerivedDepth):  # of parameters, and as K the kernel of the first stream
        numbers = {str(symbol): value for symbol, value in task.values.items() if symbol is not symbols.C}
        if task.batched:  # its variance over the inputs
            numbers["K"] -= task.values[symbols.C]
        claim = task.theory.correlation_length(**numbers)
    point = f"{random_points.text(_ordered(task))}; {counted(depth, 'layer')} from a fixed point on"
    skip = branchless(task.quantities["chi_perp"], task.values)
    without = 1 / abs(mp.log(skip)) if skip is not None and skip > 0 and skip != 1 else None
    found = OracleValue(length, error, abs(length))
    return task.row("correlation_length", point, mp.mpf(claim), found, estimate, without)


def _row(task: Task, K: sp.Rational, layers: int, estimate: Estimate, how: str) -> Verdict:
    place = _place(task, K)
    chi = task.quantities["chi_perp"]
    places = [task.values | there for there in travelled(task.quantities, place, task.values, layers - 1)]
    if isinstance(task.theory, DerivedDepth):
        numbers = {str(symbol): value for symbol, value in task.values.items() if symbol is not symbols.K}
        claim = mp.mpf(task.theory.jacobian(0, layers, K, **numbers))
    else:
        claim = mp.fprod(claimed(chi, there) for there in places)
    found = estimate.at(layers - 1, float(abs(estimate.values[layers - 1])))
    point = f"{random_points.text(place | task.values)}; {counted(layers, 'layer')}; {how}"
    skips = [branchless(chi, there) for there in places]
    without = None if None in skips else mp.fprod(skips)
    return task.row("jacobian", point, claim, found, estimate, without)


def _place(task: Task, K: sp.Rational) -> Values:
    return {symbols.K: K} | ({symbols.C: task.values[symbols.C]} if task.batched else {})


def _ordered(task: Task) -> Values:
    """The setting, kernels first and with six digits."""
    shown = {s: sp.Float(task.values[s], 6) for s in (symbols.K, symbols.C) if s in task.values}
    return shown | {s: v for s, v in task.values.items() if s not in shown}
