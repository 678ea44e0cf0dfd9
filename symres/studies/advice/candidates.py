"""Where advice may come from, group by group, the best first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import C_W, C_b, K, gamma, xi
from ...functions.balls import evaluate
from ...results.advice.parts import Origin
from ...results.critical_point import CriticalPoint
from ...theory.theory import Theory
from .flow import DepthFlow, Setting
from .free_settings import least_change, small_branches
from .line_settings import on_line, with_biases
from .scales import largest_kernel

_WEIGHTS = (sp.Rational(9, 10), sp.Rational(99, 100), sp.Rational(1, 2))  # of skip connections, if the best fails


def groups(flow: DepthFlow, depth: int, width: int, inputs: float | None) -> Iterator[list[Setting]]:
    """Critical points, the critical line, small branches, and what a search finds.

    Args:
        flow: of the layer.
        depth: number of layers.
        width: of the stream.
        inputs: the mean square of the inputs, if it is given.
    """
    free = set(flow.theory.layer.parameters)
    if C_W not in free:
        yield list(_given(flow, depth, inputs))
        return
    skips = list(_skip_weights(flow, depth, width)) if gamma in free else [None]
    exact = [{**({} if s is None else {gamma: s}), **({xi: sp.Integer(1)} if xi in free else {})} for s in skips]
    for fixed in exact:
        yield list(at_points(flow, depth, fixed, inputs))
    whole = {gamma: 1.0} if gamma in free else {}
    yield list(small_branches(flow, depth, whole, inputs))
    numbers = {s: float(v) for s, v in exact[0].items()}
    yield list(on_line(flow, numbers))
    yield list(least_change(flow, depth, numbers))


def _skip_weights(flow: DepthFlow, depth: int, width: int) -> Iterator[sp.Expr]:
    """Numbers for gamma, the best one first."""
    best = optimal_weight(flow.theory, depth, width)
    if best is not None:
        yield sp.Rational(f"{best:.3f}")
    yield from _WEIGHTS


def optimal_weight(theory: Theory, depth: int, width: int) -> float | None:
    """The largest gamma, to three digits, for which depth/width is the optimal aspect ratio; None if not known."""
    try:
        curve = theory.growth_curve
    except SymresError:
        return None
    found = [] if curve is None else curve.weights_of(depth / width)
    return round(max(found), 3) if found else None


def _given(flow: DepthFlow, depth: int, inputs: float | None) -> Iterator[Setting]:
    """Layers with numbers for C_W: the first kernel can be chosen, and C_b where it is free."""
    free = set(flow.theory.layer.parameters)
    fixed = {s: 0.0 if s == C_b else 1.0 for s in free}
    if C_b in free:
        yield from with_biases(flow, {s: v for s, v in fixed.items() if s != C_b})
    if inputs is not None:
        yield Setting(Origin.GIVEN, fixed, inputs)
    yield from least_change(flow, depth, fixed)


_DIGITS = 17


def at_points(
    flow: DepthFlow, depth: int, fixed: Mapping[sp.Symbol, sp.Expr], inputs: float | None
) -> Iterator[Setting]:
    """One setting for each critical point to which kernels flow, or which keeps all.

    Args:
        flow: of the layer.
        depth: number of layers.
        fixed: numbers for the weights of skip and branch.
        inputs: the mean square of the inputs, if it is given.
    """
    for point in flow.theory.critical_points:
        found = _numbers(point, fixed)
        if found is None or point.stability == "unstable":
            continue
        kernel, weight, bias = found
        values = {C_W: weight, C_b: bias, **{s: float(v) for s, v in fixed.items()}}
        known = {s: v for s, v in values.items() if s in flow.theory.layer.parameters}
        setting = Setting(Origin.POINT, known, 1.0)
        given = None if inputs is None else bias + weight * inputs
        if kernel is None:
            start = given or bias + weight
        elif kernel > 0:
            start = kernel
        else:  # kernels flow to 0, or away from it: slowly where they are small
            start = largest_kernel(flow, setting, depth, given)
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
