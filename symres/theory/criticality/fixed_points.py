"""Kernels that a layer preserves, at given parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mpmath as mp
import sympy as sp
from flint import arb, ctx

from ...core.errors import NoClosedForm
from ...core.scalars import Number, number
from ...core.symbols import K, kappa
from ...functions.balls import compile_ball, enclose, evaluate
from ...functions.roots.bracketing import float_values, zero, zeros
from ...gaussian.algebra.canonical import canonical
from ...results.phases import FixedPoint, phase_name
from ...results.quantity import Quantity, Status
from .conditions.critical_conditions import expression_of


def fixed_points(maps: tuple[Quantity, Quantity, Quantity], params: Mapping[str, Number]) -> tuple[FixedPoint, ...]:
    """The fixed points of the kernel map between 1e-9 and 1e12, and K = 0 where it is one.

    Args:
        maps: kernel_map, chi_parallel and chi_perp.
        params: a number for every parameter, by name.
    """
    # critical values come as nested averages: once to 30 digits, not at every kernel
    params = {name: _plain(number(value, name)) for name, value in params.items()}

    def at(k: Any) -> FixedPoint:
        place = mp.mpf(1) if k == K else k
        known = [q.status is not Status.UNKNOWN for q in maps]
        numbers = [float(q.evalf(16, K=place, **params)) if k else math.nan for q, k in zip(maps, known, strict=True)]
        return _fixed_point(k, *numbers[1:])

    kernel_map = maps[0]
    kernel_map.evalf(5, K=1, **params)  # complains of missing and unknown parameters
    values = {s: params[s.name] for s in kernel_map.symbols[1:]}
    if canonical(kernel_map.proof.result.subs(values)) == K:
        return (at(K),)
    return (*_zero_fixed_point(maps, params), *map(at, _positive(kernel_map, maps[1], params)))


def _positive(kernel_map: Quantity, parallel: Quantity, params: dict[str, sp.Expr]) -> list[float]:
    """The zeros of the excess K'/K - 1: where it changes sign, and where its extremum touches zero.

    The slope of the excess in log K is chi_parallel - K'/K.
    """
    flow, turn = (expression_of(q).subs({s: params[s.name] for s in q.symbols[1:]}) for q in (kernel_map, parallel))
    maps = [compile_ball(expression, (K,)) for expression in (flow, turn)]

    def excess(k: Any, bits: int) -> arb:
        ball = enclose(k, {}, bits)
        with ctx.workprec(bits):
            return maps[0]([ball]) / ball - 1

    def slope(k: Any, bits: int) -> arb:
        ball = enclose(k, {}, bits)
        with ctx.workprec(bits):
            return maps[1]([ball]) - maps[0]([ball]) / ball

    found = zeros(excess, slope, float_values((flow / K - 1).xreplace({K: kappa})))
    return sorted([*(zero(excess, *ends) for ends in found.crossings), *map(float, found.touches)])


def _plain(value: sp.Expr) -> sp.Expr:
    return value if value.is_Rational else number(evaluate(value, {}, 30)[0], "a parameter")


def _zero_fixed_point(maps: tuple[Quantity, ...], params: Mapping[str, Number]) -> tuple[FixedPoint, ...]:
    """K = 0, where K' vanishes with K; the susceptibilities there are limits."""

    def limit(quantity: Quantity, checked: bool = True) -> sp.Expr:
        known = quantity.at(**{s.name: params[s.name] for s in quantity.symbols[1:]})
        return known.series(0, checked=checked).body

    try:
        if limit(maps[0], checked=False) != 0:  # as with biases: to check that would take the orders beyond
            return ()
        limits = [limit(quantity) for quantity in maps]
    except NoClosedForm:
        return ()
    if limits[0] != 0 or any(end.has(K) for end in limits):
        return ()
    return (_fixed_point(mp.mpf(0), float(limits[1]), float(limits[2])),)


def _fixed_point(k: Any, parallel: float, perp: float) -> FixedPoint:
    return FixedPoint(k if k == K else float(k), parallel, perp, phase_name(perp))
