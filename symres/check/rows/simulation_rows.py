"""Rows of a report whose oracle is the simulation of finite networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import mpmath as mp
import sympy as sp

from ...core import symbols
from ...core.progress import Progress, within
from ...results.observable import DepthObservable, OracleValue
from ...results.quantity import Quantity
from ...results.subjects import DerivedDepth, DerivedLayer
from ...results.verdict import SIMULATION, Outcome, Run, Verdict, contradicted, inconclusive
from ..formulas.numeric_formula import infinitely_steep
from ..oracles.comparison import FAILURES, compared, free_symbols, moved, reason
from ..oracles.natural_scales import natural_units, needs_batch
from ..sampling import random_points
from ..sampling.random_points import Values
from ..simulation.width_extrapolation import Budget, Estimate, measured
from .claims import LayerClaims, branchless, digits_of, iterated
from .depth_rows import depth_rows, growth_rows
from .jacobian_rows import correlation_length_rows, jacobian_rows
from .position_rows import change_rows, sequence_rows
from .simulation_case import SMALL, Task, of_pairs

_Run = Callable[[Task], list[Verdict]]

_NEAR = 1e-10  # (K - C)/K at which chi_perp is measured: a kink adds a bias of the order of its square root
_DISTANCES = (1e-4, 1e-6, 1e-8, 1e-10)  # (K - C)/K at which a divergence is looked for, one after the other
_SURE = 6  # standard errors by which a ratio must grow
_ROUNDED = 1e-15  # relative rounding error of a neuron
_KERNEL_SHIFTS = (-1.0, -0.5, 0.5, 1.0)  # decades to other kernels, for a susceptibility that nearly vanishes
_COARSER = 1.6  # is the precision of tangents than that of the maps, at least: changes scatter more than squares
_GAIN = 2.0  # by which the susceptibility, on its natural scale, must be larger at the other kernel


def theory_rows(
    theory: DerivedLayer,
    quantities: Mapping[str, Quantity],
    asked: Collection[str],
    seed: int,
    depth: int,
    budget: Budget,
    fixed: Mapping[str, sp.Expr],
    report: Progress,
) -> list[Verdict]:
    """What a theory claims of one layer and of ``depth`` layers that networks show.

    Args:
        theory: that is checked.
        quantities: its claims about one layer.
        asked: the names of all that is compared.
        seed: of all random numbers.
        depth: number of layers.
        budget: how much to simulate.
        fixed: numbers that the user has fixed, by name.
        report: is called with the comparison and the share of the work that is done.
    """
    rng = random_points.stream(seed, "simulation")
    free = free_symbols(theory, *quantities.values())
    units = natural_units(theory.layer.forward, free, seed, fixed)
    values = random_points.parameters(free, rng, fixed, units)
    size = 10**units.typical
    K1, K2 = (random_points.rational(0.5 * size, 2.0 * size, rng) for _ in range(2))
    mixed = random_points.decimal(rng.uniform(0.5, 0.9) * math.sqrt(K1 * K2))
    if theory.has_positions or needs_batch(theory.layer.forward, free, seed, fixed):  # every map is one of K and C
        K2, mixed = K1, random_points.decimal(float(mixed / sp.sqrt(K1 * K2)) * float(K1))
        mixed = sp.S.Zero if theory.is_uncorrelated else mixed
        values = {symbols.C: mixed} | values
    try:
        steep = infinitely_steep(theory.layer.forward, values)
        task = Task(theory, quantities, values, seed, budget, units, steep, fixed)
    except FAILURES as failure:
        return [inconclusive("forward", "simulation", random_points.text(values), reason(failure), seed=seed)]

    start = {symbols.K1: K1, symbols.K2: K2, symbols.C: mixed}
    of_layers: dict[str, _Run] = {
        "kernel_map": partial(_kernel_rows, start=start, depth=depth),
        "chi_parallel": partial(_parallel_rows, K=K1),
        "chi_perp": partial(_perpendicular_rows, K=K1),
    }
    runs = [(name, run) for name, run in of_layers.items() if name in quantities]
    if theory.has_positions:
        runs += [("tangent_map", partial(change_rows, K=K1, depth=depth))] * ("tangent_map" in quantities and not steep)
        runs += [("sequence_map", partial(sequence_rows, K=K1))] * ("sequence_map" in quantities)
    elif "kernel_map" in quantities and "chi_perp" in quantities and not steep:
        runs.append(("jacobian", partial(jacobian_rows, K=K1, depth=depth)))
        runs.append(("correlation_length", partial(correlation_length_rows, K=K1)))
    if isinstance(theory, DerivedDepth) and symbols.C not in values:
        runs += [(name, run) for name, run in _of_finite_width(quantities, theory, K1, max(2, depth)) if name in asked]
    for name in ("ntk_map", "parameter_norm"):
        if name in quantities and not steep:
            runs.append((name, partial(_tangent_rows, name=name, start=start)))
    rows: list[Verdict] = []
    for done, (name, run) in enumerate(runs):
        part = within(report, done / len(runs), (done + 1) / len(runs))
        try:
            rows += run(replace(task, tell=partial(part, f"{name} by simulation")))
        except FAILURES as failure:
            rows.append(inconclusive(name, "simulation", random_points.text(values), reason(failure), seed=seed))
    return rows


def _of_finite_width(
    quantities: Iterable[str], theory: DerivedDepth, K: sp.Rational, depth: int
) -> Iterator[tuple[str, _Run]]:
    """The comparisons of deep networks."""

    def claims(observable: DepthObservable, values: Values) -> Sequence[float]:
        return observable.claims(theory, depth, K, {s.name: value for s, value in values.items()})

    for name, record in theory.depth_observables.items():
        yield name, partial(depth_rows, observable=record, claimed_at=partial(claims, record), K=K)
    for name in quantities:
        if theory.observables[name].simulated is not None:
            yield name, partial(growth_rows, observable=theory.observables[name], theory=theory)


def _kernel_rows(task: Task, start: Values, depth: int) -> list[Verdict]:
    K1, K2, C = map(float, start.values())
    task = task.about("kernel_map")
    deepest = task.calm_depth(partial(task.simulation.kernels, K1, K2, C), of_pairs, depth)
    estimate = task.extrapolated(task.simulation.kernels(K1, K2, C, deepest), of_pairs)
    claims = iterated(task.quantities, start, task.values, deepest)
    bare = iterated(task.quantities, start, task.values | {symbols.C_W: sp.S.Zero}, deepest)
    rows = []
    for layers in sorted({1, deepest}):
        remark = "deeper networks fluctuate too much to be simulated" if layers == deepest < depth else ""
        kernel = estimate.values[2 * (layers - 1)]
        for place, name in enumerate(("kernel_map", "covariance_map")):
            if name not in task.quantities:
                continue
            number = 2 * (layers - 1) + place
            used = {symbols.K: start[symbols.K1]} if name == "kernel_map" or task.batched else start
            point = random_points.text(used | task.values) + (f"; {layers} layers" if layers > 1 else "")
            found = estimate.at(number, float(abs(kernel)), remark)
            quantity = task.quantities[name]
            knows = branchless(quantity, used | task.values, digits_of(task.theory, quantity)) is not None
            without = bare[layers - 1].numbers.get(name) if knows else None
            rows.append(_kernel_row(task, name, point, claims[layers - 1], found, estimate, without))
    return rows


def _kernel_row(
    task: Task, name: str, point: str, claims: LayerClaims, found: OracleValue, estimate: Estimate, bare: mp.mpf | None
) -> Verdict:
    """One claim after some layers, judged by itself; a contradiction between claims counts against the covariance."""
    run: Run = {"seed": task.seed, "widths": estimate.widths, "samples": estimate.samples}
    answers = name == "covariance_map" or "covariance_map" not in task.quantities
    if claims.contradiction is not None and answers:
        claim = claims.numbers.get(name, mp.nan)
        return contradicted(name, "simulation", point, claims.contradiction, claim, found, **run)
    if name in claims.reasons:
        return inconclusive(name, "simulation", point, claims.reasons[name], value=found.value, **run)
    return task.row(name, point, claims.numbers[name], found, estimate, bare)


def _parallel_rows(task: Task, K: sp.Rational) -> list[Verdict]:
    """The comparison at a kernel, or at one where the susceptibility is larger if nothing is seen there."""
    task = task.about("chi_parallel")
    first = _parallel_row(task, K)
    if first.outcome is not Outcome.INCONCLUSIVE or not math.isfinite(first.z) or not first.claimed:
        return [first]
    larger = _larger(task, K)
    row = first if larger is None else _parallel_row(task, larger)
    return [first if row.outcome is Outcome.INCONCLUSIVE else moved(row, first, f"K = {random_points.shown(K)}")]


def _parallel_row(task: Task, K: sp.Rational) -> Verdict:
    sampler = task.simulation.chi_parallel(float(K))
    return task.number_row("chi_parallel", {symbols.K: K}, sampler, _natural(task, K))


def _larger(task: Task, K: sp.Rational) -> sp.Rational | None:
    """A kernel at which the claim cancels less, if there is one."""

    def share(kernel: sp.Rational) -> float:
        claim = task.claim("chi_parallel", task.values | {symbols.K: kernel})
        return float(abs(claim)) / _natural(task, kernel)

    low, high = task.units.window
    others = [random_points.decimal(float(K) * 10**shift) for shift in _KERNEL_SHIFTS if shift > 0 or not task.batched]
    shares = {kernel: share(kernel) for kernel in others if low <= math.log10(kernel) <= high}
    best = max(shares, key=lambda kernel: shares[kernel], default=K)
    return best if shares and shares[best] > _GAIN * share(K) else None


def _perpendicular_rows(task: Task, K: sp.Rational) -> list[Verdict]:
    values, task = {symbols.K: K} | task.values, task.about("chi_perp")
    point, claim = random_points.text(values), task.claim("chi_perp", values)
    natural = _natural(task, K)
    seen, samples = _growth(task, float(K), natural)
    run: Run = {"seed": task.seed, "widths": task.simulation.ladder.glance[:1], "samples": samples}
    if seen is not None and seen.diverges:
        return [compared("chi_perp", "simulation", point, claim, seen, SIMULATION, SMALL, steep=task.steep, **run)]
    if seen is not None:
        return [inconclusive("chi_perp", "simulation", point, (seen.remark,), claimed=claim, value=seen.value, **run)]
    sampler = task.simulation.chi_perp(float(K), _NEAR)
    return [task.number_row("chi_perp", {symbols.K: K}, sampler, natural)]


def _growth(task: Task, K: float, natural: float) -> tuple[OracleValue | None, int]:
    """How (K'-C')/(K-C) changes as K - C falls, and the number of networks that show it.

    Far apart, a jump makes the ratio large but easy to measure; near, it is larger by the root of the distance.
    A steep slope grows like a jump until the distance is below its width; only smaller distances tell.

    Returns:
        None where the limit is finite; infinity, or the ratio at the smallest distance where nothing can be told.
    """
    seen: list[tuple[float, float]] = []
    remark, glance = "", task.simulation.ladder.glance
    for number, distance in enumerate(_DISTANCES):
        (value,), (error,), _ = measured(task.simulation.chi_perp(K, distance), *glance, task.rng)
        seen.append((float(value), float(error) + natural * _ROUNDED**2 / distance))
        if number == 0:
            continue
        (outer, outer_error), (inner, inner_error) = seen[-2:]
        growth, noise = inner - outer, math.hypot(inner_error, outer_error)
        samples = len(seen) * glance[1]
        grows = growth > _SURE * noise and growth > abs(outer)
        if grows and (task.steep or number == len(_DISTANCES) - 1):
            said = f"(K'-C')/(K-C) grows from {outer:.3g} to {inner:.3g} as K-C falls a hundredfold"
            return OracleValue(math.inf, 0.0, natural, said, diverges=True), samples
        if abs(growth) + 5 * noise <= 0.5 * abs(outer):
            return None, samples
        remark = f"{outer:.3g} and {inner:.3g} at two distances do not tell whether the limit is finite"
        if task.steep and not grows:  # nothing but noise, which grows as the distance falls
            break
    return OracleValue(inner, math.inf, natural, remark), samples


def _tangent_rows(task: Task, name: str, start: Values) -> list[Verdict]:
    """The tangent kernel of two inputs, that before the layer drawn at random, or what the layer adds to that of one.

    The latter is the natural scale of both.
    """
    K1, K2, C = start.values()
    task, sampler = task.about(name), task.simulation.parameter_norm(float(K1))
    natural, place = task.size(sampler), {symbols.K: K1}
    if name == "ntk_map":
        inputs = {symbols.K: K1, symbols.C: C} if task.batched else start
        place = random_points.with_tangent(inputs, task.about("Theta").rng)
        sampler = task.simulation.tangent_kernel(*map(float, (K1, K2, C, place[symbols.Theta])))
    coarser = max(1.0, _COARSER / task.simulation.ladder.ease)
    budget = replace(task.budget, precision=coarser * task.budget.precision)
    return [task.number_row(name, place, sampler, natural, budget)]


def _natural(task: Task, K: sp.Rational) -> float:
    """The scale of a susceptibility, K'/K."""
    return task.size(task.simulation.kernels(float(K), float(K), 0.0, 1)) / float(K)
