"""Kernels that a layer preserves, at given parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import mpmath as mp
import sympy as sp
from flint import arb, ctx

from ..balls import compile_ball, enclose, evaluate
from ..errors import NoClosedForm
from ..gaussian.canonical import canonical
from ..quantity import Quantity
from ..scalars import number
from ..symbols import K
from .scan import BITS, Functions, Row, scan, sign, signed

_DOUBLE = 1e-12  # relative excess at a zero of its slope that counts as a double zero
_MARGIN, _DEPTH = 1.5, 6  # a cell is halved, so many times, where 1.5 times the change at its ends could hide a zero
_CRITICAL = 1e-10  # how close chi_perp is to 1 at what is called critical


@dataclass(frozen=True)
class FixedPoint:
    """A kernel that a layer preserves, at given parameters.

    Args:
        K: the kernel; the symbol ``sr.K`` if every kernel is preserved.
        chi_parallel: parallel susceptibility there; the fixed point attracts if it is below 1.
        chi_perp: perpendicular susceptibility there.
        phase: "ordered" (chi_perp < 1), "chaotic" (chi_perp > 1) or "critical".
    """

    K: float | sp.Symbol
    chi_parallel: float
    chi_perp: float
    phase: str


def fixed_points(maps: tuple[Quantity, Quantity, Quantity], params: dict[str, Any]) -> tuple[FixedPoint, ...]:
    """The fixed points of the kernel map between 1e-9 and 1e6, and K = 0 where it is one.

    Args:
        maps: kernel_map, chi_parallel and chi_perp.
        params: a number for every parameter, by name.
    """
    # critical values come as nested averages: once to 30 digits, not at every kernel
    params = {name: _plain(number(value, name)) for name, value in params.items()}

    def at(k: Any) -> FixedPoint:
        numbers = [float(q.evalf(16, K=mp.mpf(1) if k == K else k, **params)) for q in maps[1:]]
        return _fixed_point(k, *numbers)

    kernel_map = maps[0]
    kernel_map.evalf(5, K=1, **params)  # complains of missing and unknown parameters
    values = {s: params[s.name] for s in kernel_map.symbols[1:]}
    if canonical(kernel_map.proof.result.subs(values)) == K:
        return (at(K),)
    return (*_zero_fixed_point(maps, params), *map(at, _positive(kernel_map, maps[1], params)))


def _positive(kernel_map: Quantity, parallel: Quantity, params: dict[str, sp.Expr]) -> list[float]:
    """The zeros of the excess K'/K - 1: where it changes sign, and where its extremum touches zero.

    The slope of the excess is (chi_parallel - K'/K)/K, so that a grid sees every extremum that it brackets.
    """
    maps = [_function(q, params) for q in (kernel_map, parallel)]

    def excess_and_slope(k: Any, bits: int) -> tuple[arb, arb]:
        ball = enclose(sp.sympify(k), {}, bits)
        with ctx.workprec(bits):
            growth = maps[0](ball) / ball
            return growth - 1, maps[1](ball) - growth

    def zero(which: int, low: Any, high: Any) -> float:
        from scipy.optimize import brentq  # here, because it takes longer to import than the rest of symres

        def value(k: float) -> float:
            return float(excess_and_slope(k, BITS[-1])[which].mid())

        return brentq(value, float(low), float(high), xtol=1e-300, rtol=1e-15)

    rows = [row for row in scan(excess_and_slope).rows if sign(row[1][0])]
    found = []
    for cell in pairwise(rows):
        for (a, (excess_a, slope_a)), (b, (excess_b, slope_b)) in pairwise(_resolved(excess_and_slope, *cell)):
            if excess_a * excess_b < 0:
                found.append(zero(0, a, b))
            elif excess_a * slope_a < 0 < excess_b * slope_b:  # towards zero and away again
                turn = zero(1, a, b)
                least = excess_and_slope(turn, BITS[-1])[0]
                if abs(least) < _DOUBLE:
                    found.append(turn)
                elif least * excess_a < 0:
                    found += [zero(0, a, turn), zero(0, turn, b)]
    return found


def _resolved(functions: Functions, first: Row, last: Row, depth: int = 0) -> list[Row]:
    """The rows of a cell, divided where the slope is large enough for the excess to reach zero inside."""
    (a, (excess_a, slope_a)), (b, (excess_b, slope_b)) = first, last
    width = math.log(b / a)
    reach = max(abs(float(slope.mid())) for slope in (slope_a, slope_b)) * width * _MARGIN
    if depth == _DEPTH or reach < min(abs(float(excess.mid())) for excess in (excess_a, excess_b)):
        return [first, last]
    k = sp.Rational(round(math.sqrt(a * b) * 10**15), 10**15)
    middle = (k, signed(functions, k))
    if not sign(middle[1][0]):
        return [first, last]
    left, right = (_resolved(functions, *ends, depth + 1) for ends in ((first, middle), (middle, last)))
    return [*left[:-1], *right]


def _function(quantity: Quantity, params: dict[str, sp.Expr]) -> Callable[[arb], arb]:
    assert quantity.expr is not None
    program = compile_ball(quantity.expr.subs({s: params[s.name] for s in quantity.symbols[1:]}), (K,))
    return lambda ball: program([ball])


def _plain(value: sp.Expr) -> sp.Expr:
    return value if value.is_Rational else number(evaluate(value, {}, 30)[0], "a parameter")


def _zero_fixed_point(maps: tuple[Quantity, ...], params: dict[str, Any]) -> tuple[FixedPoint, ...]:
    """K = 0, where K' vanishes with K; the susceptibilities there are limits."""
    limits = []
    try:
        for quantity in maps:
            values = {s: number(params[s.name], s.name) for s in quantity.symbols[1:]}
            limits.append(replace(quantity, definition=quantity.defined.subs(values), steps=()).series(0).body)
    except NoClosedForm:
        return ()
    if limits[0] != 0 or any(limit.has(K) for limit in limits):
        return ()
    return (_fixed_point(mp.mpf(0), float(limits[1]), float(limits[2])),)


def _fixed_point(k: Any, parallel: float, perp: float) -> FixedPoint:
    phase = "critical" if abs(perp - 1) < _CRITICAL else "ordered" if perp < 1 else "chaotic"
    return FixedPoint(k if k == K else float(k), parallel, perp, phase)
