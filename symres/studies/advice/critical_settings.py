"""Settings at critical points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import sympy as sp

from ...core.symbols import C_W, C_b, K
from ...numerics.balls import evaluate
from ...results.advice.parts import Origin
from ...results.critical_point import CriticalPoint
from .flow import DepthFlow, Setting
from .scales import largest_kernel

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
