"""Rows about deep networks of finite width: four-point vertices, fluctuations of kernels, responses, and growth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import mpmath as mp
import numpy as np
import sympy as sp

from ...core import symbols
from ...results.observable import Observable, OracleValue, Sample, Sampler
from ...results.subjects import DerivedDepth
from ...results.verdict import VERTICES, Verdict, inconclusive
from ..oracles.layer_oracle import QuadratureOracle
from ..sampling import random_points
from ..sampling.random_points import Values
from ..simulation.width_extrapolation import Estimate, Ladder
from .claims import claimed
from .simulation_case import SMALL, Task, at_least

_LADDER = Ladder(narrowest=128, rungs=3)
_COARSER = 4.0  # is the precision than that of the maps: products of two neurons scatter by more than their average
_ROUNDED = 1e-12  # relative to the natural scale
_LARGE = 0.5  # of the natural scale: seen in any case
_NEURONS = 2_000_000  # at most, for each width and layer
_SETTLED, _LAST = 3, 7  # layers between which the growth of vertices is measured
_REMEMBERED = sp.Rational(2, 5)  # the largest weight of a skip connection whose first layers are forgotten by then
_SETTLES = 100  # layers after which it grows by its final law
_EARLY = 0.03  # of the final growth: what that between the first layers may differ from it by
_STABLE = ("neutral", "half-stable")  # points at which a kernel stays


def depth_rows(
    task: Task, observable: Observable, claimed_at: Callable[[Values], Sequence[float]], K: sp.Rational
) -> list[Verdict]:
    """The claims after two layers, the first whose neurons remember, and after the last.

    The kernels of infinite width that are subtracted come from quadrature, not from the theory. Where the last claim is
    small on its natural scale, networks with smaller biases or a smaller skip may show more: the comparison is moved.
    Claims are those for 0, 1, 2, ... layers, two at least, at values of the parameters; K is the kernel of the input.
    """
    shares: list[float] = []
    biases = {s: v / 10 for s, v in task.values.items() if s == symbols.C_b}
    skips = {s: v / 2 for s, v in task.values.items() if s == symbols.gamma}
    settings = [task.values, task.values | biases, task.values | biases | skips]
    for values in settings:
        there, claims = task.at(values), claimed_at(values)
        shares.append(abs(claims[-1]) / float(_natural(observable, there, K, len(claims) - 1)[1][-1]))
        if shares[-1] >= _LARGE:
            break
    task = task.at(settings[int(np.argmax(shares))])
    claims = claimed_at(task.values)
    kernels, natural = _natural(observable, task, K, len(claims) - 1)
    assert observable.simulated is not None
    sampler = observable.simulated(task.simulation, float(K), kernels)
    estimate = _estimate(task, observable.name, sampler, [float(K), *kernels], natural)
    rows = []
    for layers in sorted({2, len(kernels)}):
        place = layers - 1
        found = estimate.at(place, float(natural[place]))
        point = random_points.text({symbols.K: K} | task.values) + f"; {layers} layers"
        rows.append(_row(task, observable.name, point, mp.mpf(claims[layers]), found, estimate))
    return rows


def growth_rows(task: Task, observable: Observable, theory: DerivedDepth) -> list[Verdict]:
    """The growth of what is simulated between two depths, at the critical point at which kernels stay.

    Whether it has settled by then is seen in the recursion of vertices, which has comparisons of its own.
    """
    name, quantity = observable.name, task.quantities[observable.name]
    free = {s for s in task.values if s == symbols.gamma and s.name not in task.fixed}
    values = {s: min(v, _REMEMBERED, key=abs) if s in free else v for s, v in task.values.items()}
    point = next((p for p in theory.critical_points if p.stability in _STABLE and p.along is None), None)
    if point is None:
        return [_later(task, name, values)]
    K = sp.Integer(1) if point.K == symbols.K else _rounded(point.K, values)
    values |= {s: _rounded(e, values) for s, e in ((symbols.C_W, point.C_W), (symbols.C_b, point.C_b)) if s in values}
    there = task.at(values)
    claims = theory.vertex(_SETTLES, K, **{s.name: value for s, value in values.items()})
    early, final = (claims[_LAST] - claims[_SETTLED]) / (_LAST - _SETTLED), claims[-1] - claims[-2]
    if abs(early - final) > _EARLY * abs(final):
        return [_later(task, name, {symbols.K: K} | values)]
    kernels, natural = [float(K)] * (_LAST + 1), np.array([float(K) ** 2])
    assert observable.simulated is not None
    every = observable.simulated(there.simulation, float(K), kernels[1:])

    def growth(n: int, nets: int, rng: np.random.Generator) -> Sample:
        """The growth for each layer, from observables after each."""
        observed, controls = every(n, nets, rng)
        return (observed[:, _LAST - 1] - observed[:, _SETTLED - 1])[:, None] / (_LAST - _SETTLED), controls

    estimate = _estimate(there, name, growth, kernels, natural)
    found = OracleValue(float(estimate.values[0] / natural[0]), float(estimate.errors[0] / natural[0]), 1.0)
    shown = f"{random_points.text({symbols.K: K} | values)}; layers {_SETTLED} to {_LAST}"
    return [_row(there, name, shown, claimed(quantity, values), found, estimate)]


def _later(task: Task, name: str, values: Values) -> Verdict:
    said = "vertices reach their final law only in networks too deep to be simulated"
    return inconclusive(name, "simulation", random_points.text(values), (said,), seed=task.seed)


def _natural(observable: Observable, task: Task, K: sp.Rational, depth: int) -> tuple[list[float], np.ndarray]:
    """The kernels after each layer, and the natural sizes of an observable there."""
    kernels = [float(K)]
    for _ in range(depth):
        kernels.append(QuadratureOracle(task.theory.layer.forward, task.values).kernel_map(kernels[-1]).value)
    after = np.array(kernels[1:])
    return kernels[1:], np.square(after) if observable.unit == "K^2" else after / kernels[0]


def _row(task: Task, name: str, point: str, claim: mp.mpf, found: OracleValue, estimate: Estimate) -> Verdict:
    rounding = _ROUNDED * found.scale  # all that is left of an observable that is 0 in every network
    found = replace(found, error=rounding if abs(found.value) <= rounding else max(found.error, rounding))
    return task.row(name, point, claim, found, estimate, None, VERTICES)


def _estimate(task: Task, name: str, sampler: Sampler, kernels: Sequence[float], natural: np.ndarray) -> Estimate:
    """The observables at infinite width."""
    task, (K, *after) = task.about(name), kernels
    sizes = task.simulation.kernels(K, K, K / 2, len(after))
    spread = task.fluctuations(sizes, lambda values: np.repeat(after, 2))
    ladder, budget = replace(_LADDER, spread=spread), task.budget.coarser(_COARSER, _NEURONS)
    return task.extrapolated(sampler, at_least(SMALL * natural), budget, ladder)


def _rounded(expression: sp.Expr, values: Values) -> sp.Rational:
    return sp.Rational(str(sp.N(sp.sympify(expression).subs(values), 8)))
