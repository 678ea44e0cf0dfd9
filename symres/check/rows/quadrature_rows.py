"""Rows of a report whose oracle is quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import sympy as sp

from ...core import symbols
from ...core.atoms import AverageNode
from ...core.progress import Progress
from ...core.work_budget import Stage, limited
from ...layers.nodes import Dense
from ...results.observable import Divergence, Observable, OracleValue
from ...results.quantity import Quantity
from ...results.subjects import DerivedLayer
from ...results.verdict import QUADRATURE, Outcome, Verdict, inconclusive, judge
from ..formulas.numeric_formula import infinitely_steep
from ..oracles.average_oracle import DIGITS as AVERAGE_DIGITS
from ..oracles.average_oracle import average_oracle
from ..oracles.comparison import FAILURES, compared, free_symbols, moved, reason
from ..oracles.layer_oracle import QuadratureOracle
from ..oracles.natural_scales import natural_units, needs_batch
from ..sampling import random_points
from ..sampling.random_points import Values
from .claims import DIGITS, claimed, digits_of

_Numbers = tuple[tuple[sp.Symbol, sp.Expr], ...]

_SMALL = 1e-3  # of the natural scale
_FULL = 4  # points from which on special cases are compared too
_NO_ORACLE = "there is no oracle for this quantity"
_MOVES = 2  # each to a quarter of the distance from where the branch changes, on the logarithmic scale


def theory_rows(
    theory: DerivedLayer,
    quantities: Mapping[str, Quantity],
    seed: int,
    points: int,
    fixed: Mapping[str, sp.Expr],
    report: Progress,
    simulated: bool = False,
) -> list[Verdict]:
    """Some quantities of a theory, each at some points.

    What has no oracle here has a row that says so, unless networks are ``simulated`` that have one.
    """
    rows = []
    free = free_symbols(theory, *quantities.values())
    units = natural_units(theory.layer.forward, free, seed, fixed)
    batched = theory.has_positions or needs_batch(theory.layer.forward, free, seed, fixed)
    for done, (name, quantity) in enumerate(quantities.items()):
        observable = theory.observables[name]
        if not observable.has_oracle(theory.has_positions):
            if not (simulated and (observable.is_of_networks or theory.has_positions)):
                rows.append(inconclusive(name, "quadrature", "", (_NO_ORACLE,), seed=seed))
            continue
        rng = random_points.stream(seed, "quadrature", name)
        arguments = observable.arguments
        count = (points + 1) // 2 if observable.costly else points
        if batched:  # all inputs have one kernel and all pairs one covariance
            arguments = (symbols.K, symbols.C, *(symbol for symbol in arguments if symbol is symbols.Theta))
        places = _places(arguments, count, rng, units, special=count >= _FULL)
        for number, place in enumerate(places):
            report(f"{name} by quadrature", (done + number / len(places)) / len(quantities))
            values = random_points.parameters(free_symbols(theory, quantity), rng, fixed, units)
            if theory.is_uncorrelated:
                place = place | {symbols.C: sp.S.Zero}
            at = partial(_theory_row, theory, observable, quantity, values, seed)
            rows.append(_seeing_row(at, place, units))
    return rows


def average_rows(
    quantity: Quantity, seed: int, points: int, fixed: Mapping[str, sp.Expr], report: Progress
) -> list[Verdict]:
    """A single Gaussian average at some points."""
    rng = random_points.stream(seed, "quadrature", "average")
    arguments = tuple(s for s in (symbols.K1, symbols.K2, symbols.C, symbols.K) if s in quantity.symbols)
    rows = []
    # the integrands as what enters dense layers, all variables alike: they have its units
    definitions = [quantity.definition, *(step.definition for step in quantity.steps)]
    nodes = [node for e in definitions for node in sp.preorder_traversal(e) if isinstance(node, AverageNode)]
    alike = {symbols.x1: symbols.z, symbols.x2: symbols.z}
    entering = sp.Add(*(Dense(node.integrand.xreplace(alike), 1, 0) for node in nodes))
    units = natural_units(entering, quantity.symbols, seed, fixed)
    places = _places(arguments, points, rng, units)
    for number, place in enumerate(places):
        report(f"{quantity.name} by quadrature", number / len(places))
        values = place | random_points.parameters(quantity.symbols, rng, fixed)
        point = random_points.text(values)
        try:
            with limited(Stage.COMPARISON, quantity.name):
                claim = claimed(quantity, values, AVERAGE_DIGITS + 5)
                found = average_oracle(quantity.definition, values, quantity.steps)
        except FAILURES as failure:
            rows.append(inconclusive(quantity.name, "quadrature", point, reason(failure), seed=seed))
            continue
        numbers, scale = (claim, found.value, found.error), _SMALL * found.scale
        rows.append(judge(quantity.name, "quadrature", point, *numbers, QUADRATURE, scale=scale, seed=seed))
    return rows


def _places(
    arguments: tuple[sp.Symbol, ...],
    points: int,
    rng: np.random.Generator,
    units: random_points.Units,
    special: bool = False,
) -> list[Values]:
    if symbols.Theta in arguments:
        inputs = tuple(symbol for symbol in arguments if symbol is not symbols.Theta)
        return [random_points.with_tangent(place, rng) for place in _places(inputs, points, rng, units, special)]
    if symbols.C in arguments and symbols.K in arguments:
        return random_points.batches(points, rng, units) + (random_points.outer_batches(rng, units) if special else [])
    if symbols.C in arguments:
        return random_points.pairs(points, rng, units) + (random_points.corners(rng, units) if special else [])
    kernels = random_points.kernels(points, rng, units) + (random_points.outer(rng, units) if special else [])
    return [{symbols.K: K} for K in kernels]


def _seeing_row(at: Callable[[Values], Verdict], place: Values, units: random_points.Units) -> Verdict:
    """The comparison at a point, or at one nearer to where the branch changes if nothing is seen there."""
    first = at(place)
    row, nearer = first, place
    for _ in range(_MOVES):
        if row.outcome is not Outcome.INCONCLUSIVE or (math.isfinite(row.z) and row.detectable <= QUADRATURE.visible):
            break
        nearer = random_points.nearer(nearer, units)
        row = at(nearer)
    if row is first or row.outcome is Outcome.INCONCLUSIVE:
        return first
    return moved(row, first, random_points.text(place))


def _theory_row(
    theory: DerivedLayer, observable: Observable, quantity: Quantity, values: Values, seed: int, place: Values
) -> Verdict:
    name = observable.name
    point = random_points.text(place | values)
    try:
        with limited(Stage.COMPARISON, name):
            length = float(theory.sequence_length.subs(values)) if theory.has_positions else None
            # first, since it refuses more keys than it can sum at once
            found = _measured(theory.layer.forward, observable, tuple(place.items()), tuple(values.items()), length)
            digits = digits_of(theory, quantity)
            claim = claimed(quantity, place | values, digits)
            if digits < DIGITS:  # fewer than an integral may have
                found = replace(found, error=found.error + float(abs(claim)) * 10.0**-digits)
    except FAILURES as failure:
        return inconclusive(name, "quadrature", point, reason(failure), seed=seed)
    may_diverge = observable.divergence is Divergence.ALWAYS or (
        observable.divergence is Divergence.EQUAL_INPUTS and math.isinf(claim)
    )
    steep = may_diverge and infinitely_steep(theory.layer.forward, values)
    return compared(name, "quadrature", point, claim, found, QUADRATURE, _SMALL, steep=steep, seed=seed)


@lru_cache(maxsize=512)
def _measured(
    forward: sp.Expr, observable: Observable, place: _Numbers, values: _Numbers, length: float | None
) -> OracleValue:
    """The oracle's number, kept for later calls: it depends on the layer and the point, never on a claim.

    ``length`` is the number of positions of an input, None if it has none.
    """
    where = {symbol: float(value) for symbol, value in place}
    of_batch = symbols.K in where and symbols.C in where
    oracle = QuadratureOracle(forward, dict(values), where[symbols.C] if of_batch else None, length)
    if observable.name == "covariance_map" and random_points.are_equal(where):
        return replace(oracle.kernel_map(where[symbols.K1]), remark="against the kernel of one input")
    kernel = where.get(symbols.K, math.nan)  # of a batch, that of both inputs
    return observable.measured(oracle, *(where.get(symbol, kernel) for symbol in observable.arguments))
