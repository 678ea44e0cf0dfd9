"""Where advice may come from, group by group, the best first: critical points and lines, small branches, a search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise

import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import C_W, C_b, K, gamma, xi
from ...functions.balls import evaluate
from ...numerics.brent import brent
from ...numerics.deferred_numpy import np
from ...results.advice.parts import Origin
from ...results.critical_point import CriticalPoint
from ...theory.theory import Theory
from .flow import DepthFlow, Setting
from .free_settings import largest_kernel, least_change, small_branches

_DIGITS = 17
_SKIPS = (sp.Rational(9, 10), sp.Rational(99, 100), sp.Rational(1, 2))  # weights of skip connections, if the best fails
_KERNELS = tuple(10.0 ** (k / 4) for k in range(-12, 17))  # 1e-3 to 1e4
_WEIGHTS = tuple(10.0 ** (k / 2) for k in range(-4, 9))  # where a line is looked for first
_SOLVED = 1e-9
_REMEMBERED = 0.02  # |log chi_parallel|: a kernel that is off is remembered for 50 layers
_LEAST = math.log(1e-8)  # of C_W: smaller weights are none
_LARGEST = 100.0  # C_b over the kernel


def groups(flow: DepthFlow, depth: int, width: int, inputs: float | None) -> Iterator[list[Setting]]:
    """Critical points, the critical line, small branches, and what a search finds.

    ``inputs`` is the mean square of the inputs, if it is given.
    """
    free = set(flow.theory.layer.parameters)
    if C_W not in free:
        yield list(_for_given_weights(flow, depth, inputs))
        return
    skips: list[sp.Expr | None] = [*_SKIPS] if gamma in free else [None]
    if gamma in free and (best := optimal_weight(flow.theory, depth, width)) is not None:
        skips.insert(0, sp.Rational(f"{best:.3f}"))
    exact = [{**({} if s is None else {gamma: s}), **({xi: sp.Integer(1)} if xi in free else {})} for s in skips]
    for fixed in exact:
        yield list(at_points(flow, depth, fixed, inputs))
    whole = {gamma: 1.0} if gamma in free else {}
    yield list(small_branches(flow, depth, whole, inputs))
    numbers = {s: float(v) for s, v in exact[0].items()}
    yield list(on_line(flow, numbers))
    yield list(least_change(flow, depth, numbers))


def optimal_weight(theory: Theory, depth: int, width: int) -> float | None:
    """The largest gamma, to three digits, for which depth/width is the optimal aspect ratio; None if not known."""
    try:
        curve = theory.growth_curve
    except SymresError:
        return None
    weights = [] if curve is None else curve.weights_of(depth / width)
    return round(max(weights), 3) if weights else None


def _for_given_weights(flow: DepthFlow, depth: int, inputs: float | None) -> Iterator[Setting]:
    """Layers with numbers for C_W: the first kernel can be chosen, and C_b where it is free."""
    free = set(flow.theory.layer.parameters)
    fixed = {s: 0.0 if s == C_b else 1.0 for s in free}
    if C_b in free:
        yield from with_biases(flow, {s: v for s, v in fixed.items() if s != C_b})
    if inputs is not None:
        yield Setting(Origin.GIVEN, fixed, inputs)
    yield from least_change(flow, depth, fixed)


def at_points(
    flow: DepthFlow, depth: int, fixed: Mapping[sp.Symbol, sp.Expr], inputs: float | None
) -> Iterator[Setting]:
    """One setting for each critical point to which kernels flow, or which keeps all.

    Weights of skip and branch are ``fixed``; ``inputs`` is the mean square of the inputs, if it is given.
    """
    for point in flow.theory.critical_points:
        numbers = _numbers(point, fixed)
        if numbers is None or point.stability == "unstable":
            continue
        kernel, weight, bias = numbers
        values = {C_W: weight, C_b: bias, **{s: float(v) for s, v in fixed.items()}}
        free = {s: v for s, v in values.items() if s in flow.theory.layer.parameters}
        setting = Setting(Origin.POINT, free, 1.0)
        of_inputs = None if inputs is None else bias + weight * inputs  # the first kernel, if they stay as they are
        if kernel is None:
            start = of_inputs or bias + weight
        elif kernel > 0:
            start = kernel
        else:  # kernels flow to 0, or away from it: slowly where they are small
            start = largest_kernel(flow, setting, depth, of_inputs)
        yield setting.starting(start)


def _numbers(point: CriticalPoint, fixed: Mapping[sp.Symbol, sp.Expr]) -> tuple[float | None, float, float] | None:
    """K*, C_W and C_b in numbers, K* None where every kernel is critical; None where there are none."""
    for single in point.single():
        kernel, weight, bias = (_value(side, fixed) for side in (single.K, single.C_W, single.C_b))
        if weight is None or bias is None or (kernel is None and single.K != K):
            return None
        if 0 < weight < math.inf and bias >= 0:  # beyond all floats where an activation nearly vanishes
            return kernel, weight, bias
    return None


def _value(expr: sp.Expr, at: Mapping[sp.Symbol, sp.Expr]) -> float | None:
    number = sp.sympify(expr).subs(at)
    return None if number.free_symbols else float(evaluate(number, {}, _DIGITS)[0])


def on_line(flow: DepthFlow, fixed: Mapping[sp.Symbol, float]) -> Iterator[Setting]:
    """A setting for each of some kernels that a layer keeps with chi_perp = 1.

    Where chi_parallel < 1, a kernel that is off returns; nearer to 1 it is remembered longer, so that these come first.
    """
    if not {C_W, C_b} <= set(flow.theory.layer.parameters):
        return
    guess: np.ndarray | None = None  # the solution at the last kernel that has one
    for kernel in _KERNELS:
        solution = _solved(flow, fixed, kernel, guess)
        setting = None if solution is None else _setting(flow, fixed, kernel, solution)
        guess = guess if solution is None else solution
        if setting is not None:
            yield setting


def at_kernel(flow: DepthFlow, fixed: Mapping[sp.Symbol, float], kernel: float) -> Setting | None:
    """The setting for one kernel that a layer keeps with chi_perp = 1; None where there is none with C_b >= 0."""
    if not {C_W, C_b} <= set(flow.theory.layer.parameters):
        return None
    solution = _solved(flow, fixed, kernel, None)
    return None if solution is None else _setting(flow, fixed, kernel, solution)


def _setting(flow: DepthFlow, fixed: Mapping[sp.Symbol, float], kernel: float, solution: np.ndarray) -> Setting | None:
    """A point of the line, noted by how long a kernel that is off is remembered; None where C_W or C_b is no variance.

    The ``solution`` is (log C_W, C_b/K).
    """
    log_weight, share = map(float, solution)
    if share <= -_SOLVED or log_weight <= _LEAST:
        return None
    values = {**fixed, C_W: math.exp(log_weight), C_b: share * kernel if share > _SOLVED else 0.0}
    parallel = flow.chi_parallel(values, kernel)
    if not math.isfinite(parallel):
        return None
    repels, aside = 10.0 * (parallel > 1 + _SOLVED), abs(math.log(kernel)) / 100
    memory = abs(math.log(max(abs(parallel), 1e-3)))
    return Setting(Origin.LINE, values, kernel, repels + max(memory - _REMEMBERED, 0.0) + aside)


def with_biases(flow: DepthFlow, fixed: Mapping[sp.Symbol, float]) -> Iterator[Setting]:
    """Settings of a layer where all but C_b is fixed: kernels that some C_b keeps, those first with chi_perp near 1."""

    def bias_at(kernel: float) -> float:
        """The variance of biases that keeps a kernel; nan where none does."""

        def excess(share: float) -> float:
            return flow.step({**fixed, C_b: share * kernel}, kernel)[0] / kernel - 1

        low, high = excess(0.0), excess(_LARGEST)
        return brent(excess, 0.0, _LARGEST) * kernel if low <= 0 <= high else math.nan

    def log_perp(log_kernel: float) -> float:
        kernel = math.exp(log_kernel)
        return math.log(flow.step({**fixed, C_b: bias_at(kernel)}, kernel)[1])

    logs = [math.log(kernel) for kernel in _KERNELS if not math.isnan(bias_at(kernel))]
    kept = [(log, log_perp(log)) for log in logs]
    roots = [(brent(log_perp, a, b), 0.0) for (a, one), (b, other) in pairwise(kept) if one * other < 0]
    for log, away in [*roots, *kept]:
        kernel = math.exp(log)
        yield Setting(Origin.GIVEN, {**fixed, C_b: bias_at(kernel)}, kernel, abs(away))


def _solved(
    flow: DepthFlow, fixed: Mapping[sp.Symbol, float], kernel: float, guess: np.ndarray | None
) -> np.ndarray | None:
    """(log C_W, C_b/K) with K' = K and chi_perp = 1."""
    from scipy.optimize import root  # here, because it takes longer to import than the rest of symres

    def residual(x: np.ndarray) -> np.ndarray:
        values = {**fixed, C_W: math.exp(min(max(x[0], -50.0), 50.0)), C_b: x[1] * kernel}
        grown, perp = flow.step(values, kernel)
        return np.array([grown / kernel - 1, perp - 1])

    starts = [guess] if guess is not None else []
    starts += [np.array([math.log(w), 0.1]) for w in _WEIGHTS]
    with np.errstate(all="ignore"):
        errors = [(float(np.abs(r).max()) if np.all(np.isfinite(r := residual(s))) else math.inf) for s in starts]
        for k in np.argsort(errors)[:2]:
            if not math.isfinite(errors[k]):
                continue
            solution = np.asarray(root(residual, starts[k], method="hybr", tol=1e-12).x, dtype=float)
            if np.abs(residual(solution)).max() < _SOLVED:
                return solution
    return None
